//! Receives webhooks with axum.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State},
    http::StatusCode,
    routing::post,
};
use imagekiln::webhook::{Rejection, Verifier};
use tokio::{sync::Semaphore, time::timeout};

use super::Callbacks;

/// The maximum size of a webhook in bytes. Webhooks describe a task, and contain no picture.
const LARGEST_BODY: usize = 1024 * 1024;

/// The time limit for the body of a webhook.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// The maximum number of events that are being confirmed at the same time.
const MAX_PENDING: usize = 1024;

struct Shared {
    callbacks: Callbacks,
    verifier: Verifier,
    pending: Arc<Semaphore>,
}

impl Callbacks {
    /// Returns a router that accepts webhooks by POST at `/{token}`. Nest it at the path of
    /// [`Batch::callback_url`](crate::Batch::callback_url).
    ///
    /// The router responds with 204 before an event is confirmed. Other status codes are 401 (not
    /// verified), 400 (the body is not JSON), 408 (the body took too long), 413 (the body is too
    /// large) and 503 (too many events are being confirmed). The service may send these webhooks
    /// again.
    pub fn router(self, verifier: Verifier) -> Router {
        let pending = Arc::new(Semaphore::new(MAX_PENDING));
        let shared = Arc::new(Shared { callbacks: self, verifier, pending });
        Router::new()
            .route("/{token}", post(receive))
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .with_state(shared)
    }
}

async fn receive(
    State(shared): State<Arc<Shared>>,
    Path(token): Path<String>,
    request: Request,
) -> StatusCode {
    let headers = request.headers().clone();
    let body = match timeout(BODY_LIMIT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.status(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    let event = match shared.verifier.verify(&headers, &body) {
        Ok(event) => event,
        Err(rejection) => {
            tracing::warn!(%rejection, "webhook rejected");
            return status_of(&rejection);
        }
    };
    let Ok(permit) = Arc::clone(&shared.pending).try_acquire_owned() else {
        tracing::warn!("webhook rejected: too many events are being confirmed");
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    tokio::spawn(async move {
        if let Err(error) = shared.callbacks.receive(&token, &event).await {
            tracing::warn!(kind = ?error.kind(), error = error.chain(), "webhook without effect");
        }
        drop(permit);
    });
    StatusCode::NO_CONTENT
}

fn status_of(rejection: &Rejection) -> StatusCode {
    match rejection {
        Rejection::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Rejection::NotJson => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNAUTHORIZED,
    }
}
