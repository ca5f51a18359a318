//! One delivery, up to its response.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, State},
    http::StatusCode,
};
use tokio::time::timeout;

use super::{Shared, follow::follow};
use crate::webhook::{Event, Refusal};

/// How long the body of a delivery may take.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Verifies a delivery and answers it. What follows from it happens in a task of its own.
pub(super) async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> StatusCode {
    let headers = request.headers().clone();
    let body = match timeout(BODY_TIME, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.status(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    match shared.verifier.verify(&headers, &body) {
        Ok(event) => accept(&shared, event),
        Err(refusal) => {
            tracing::warn!(%refusal, "webhook refused");
            status_of(&refusal)
        }
    }
}

fn accept(shared: &Arc<Shared>, event: Event) -> StatusCode {
    let Some(task_id) = event.task_id() else {
        tracing::warn!("a webhook names no task; Verifier::task_id says where its body has the id");
        return StatusCode::NO_CONTENT;
    };
    let Some(under_way) = shared.memory.events.begin(event.fingerprint()) else {
        tracing::debug!(task_id, "webhook received before");
        return StatusCode::NO_CONTENT;
    };
    let Ok(place) = Arc::clone(&shared.pending).try_acquire_owned() else {
        tracing::warn!(task_id, "webhook not taken: too many events wait for their confirmation");
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    tracing::debug!(task_id, "webhook received");
    shared.client.tasks().waits.wake(task_id);
    let (task_id, claimed_status) = (task_id.to_owned(), event.claimed_status().cloned());
    let shared = Arc::clone(shared);
    // The body is not kept: many large ones would fill the memory.
    drop(event);
    tokio::spawn(async move {
        if follow(&shared, &task_id, claimed_status.as_ref()).await {
            under_way.done();
        }
        drop(place);
    });
    StatusCode::NO_CONTENT
}

fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::NotJson => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNAUTHORIZED,
    }
}
