//! Handles a delivery and responds to it.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, State},
    http::StatusCode,
};
use tokio::time::timeout;

use super::{Shared, follow::follow, memory::PendingEvent};
use crate::webhook::{Event, Rejection};

/// The time limit for the body of a delivery.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// Verifies a delivery and responds to it. The event is processed in a separate task.
pub(super) async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> StatusCode {
    let headers = request.headers().clone();
    let body = match timeout(BODY_LIMIT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.status(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    match shared.verifier.verify(&headers, &body) {
        Ok(event) => accept(&shared, event),
        Err(rejection) => {
            tracing::warn!(%rejection, "webhook rejected");
            match rejection {
                Rejection::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                Rejection::NotJson => StatusCode::BAD_REQUEST,
                _ => StatusCode::UNAUTHORIZED,
            }
        }
    }
}

fn accept(shared: &Arc<Shared>, event: Event) -> StatusCode {
    let Some(task_id) = event.task_id() else {
        tracing::warn!("webhook contains no task id; set its location with Verifier::task_id");
        return StatusCode::NO_CONTENT;
    };
    let Some(in_progress) = shared.events.begin(event.verified.fingerprint) else {
        tracing::debug!(task_id, "webhook already received");
        return StatusCode::NO_CONTENT;
    };
    let Ok(permit) = Arc::clone(&shared.pending).try_acquire_owned() else {
        tracing::warn!(task_id, "webhook rejected: too many events are waiting for confirmation");
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    tracing::debug!(task_id, "webhook received");
    // Without the body: many large ones would exhaust memory.
    let claimed_status = event.claimed_status().cloned();
    let pending = PendingEvent { claimed_status, in_progress, _permit: permit };
    let is_first = shared.followers.add(task_id, pending);
    shared.client.shared().waits.wake(task_id);
    if is_first {
        tokio::spawn(follow(Arc::clone(shared), task_id.to_owned()));
    }
    StatusCode::NO_CONTENT
}
