//! Sends one POST and reads its response.

use std::{sync::Arc, time::Duration};

use progenitor_client::{ByteStream, Error as ClientError, ResponseValue};
use tokio::time::Instant;
use url::Url;

use super::Shared;
use crate::{
    Request, generated,
    transport::{
        body::{BodyPlan, Permit, PermitError, Progress},
        hooks::Hooks,
        path::path_of,
        response::{Ending, ReadLimits, Response},
    },
};

/// The maximum duration of a response from its first byte to its last, as a multiple of the silence
/// limit.
const LONGEST_RESPONSE: u32 = 4;

/// The assumed size of the send buffers of the operating system in bytes, and the assumed speed of
/// a slow connection in bytes per second. The client cannot observe when buffered bytes leave the
/// machine, so it adds the time to send them to the silence limit.
const SEND_BUFFERS: u64 = 8 * 1024 * 1024;
const SLOW_CONNECTION: u64 = 64 * 1024;

/// The exchange ended without a response.
pub(super) struct NoResponse {
    pub(super) why: ExchangeFailure,
    /// Whether the HTTP client consumed the whole body. If it did not, the end of the JSON document
    /// was never sent, and the service cannot accept an incomplete document.
    pub(super) was_sent: bool,
}

/// Why there is no response.
pub(super) enum ExchangeFailure {
    /// The journal did not permit the attempt.
    Refused(PermitError),
    /// An image could not be read completely.
    File(String),
    /// Nothing was transferred for this long.
    Silent(Duration),
    Failed(Box<ClientError<()>>),
}

/// Sends the request once, if `permit` succeeds. `resends` is the number of attempts before this
/// one.
pub(super) async fn exchange(
    shared: &Shared,
    base: &Url,
    request: &Request,
    plan: &Arc<BodyPlan>,
    permit: Option<Permit>,
    resends: u32,
) -> Result<Response, NoResponse> {
    let service = &shared.service;
    let silence = service.silence;
    let progress = Progress::start();
    let connection = service.connections.to(base);
    let operation = request.operation();
    let generated = generated::Client::new_with_client(
        base.as_str().trim_end_matches('/'),
        connection.http.clone(),
        Hooks {
            service: Arc::clone(service),
            operation: operation.name,
            path: path_of(base.path(), request, &service.model_prefix),
            resends,
        },
    );
    let until = || progress.last_frame_at() + silence + time_to_flush(plan, &progress);
    // Boxed because the future of the generated client is large.
    let sending = Box::pin(generated.submit(plan.body(&progress, permit)));
    let watched =
        service.connections.watch((base, &connection), || progress.last_frame_at(), until, sending);
    let failed = |why| NoResponse { why, was_sent: progress.all_frames_taken() };
    let sent = watched.await.ok_or_else(|| failed(ExchangeFailure::Silent(silence)))?;
    let limits = service.response_limits(Instant::now() + silence * LONGEST_RESPONSE);
    let response = read(sent, limits).await.map_err(|error| {
        failed(match (progress.take_refusal(), progress.error()) {
            (Some(refusal), _) => ExchangeFailure::Refused(refusal),
            (None, Some(error)) => ExchangeFailure::File(error.to_owned()),
            (None, None) => ExchangeFailure::Failed(Box::new(error)),
        })
    })?;
    if matches!(response.ending, Ending::Silent | Ending::TooSlow) {
        service.connections.abandon(base, &connection);
    }
    service.record_submission(base, request, &response);
    Ok(response)
}

/// Returns how long a slow connection may need to send what is still buffered.
fn time_to_flush(plan: &BodyPlan, progress: &Progress) -> Duration {
    if progress.all_frames_taken() {
        Duration::from_secs(plan.length().min(SEND_BUFFERS) / SLOW_CONNECTION)
    } else {
        Duration::ZERO
    }
}

/// The generated client returns different types for success and failure responses.
async fn read(
    sent: Result<ResponseValue<ByteStream>, ClientError<()>>,
    limits: ReadLimits,
) -> Result<Response, ClientError<()>> {
    match sent {
        Ok(response) => {
            let (status, headers) = (response.status(), response.headers().clone());
            Ok(Response::read(status, headers, response.into_inner_stream(), limits).await)
        }
        Err(ClientError::UnexpectedResponse(response)) => {
            let (status, headers) = (response.status(), response.headers().clone());
            Ok(Response::read(status, headers, response.bytes_stream(), limits).await)
        }
        Err(error) => Err(error),
    }
}
