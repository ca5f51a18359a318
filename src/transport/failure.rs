//! Determines from the HTTP client's error whether a request without a response was sent.

use std::error::Error as _;

/// Whether the service certainly did not process the request, so that sending it again cannot be
/// billed twice.
pub(crate) fn was_not_processed(error: &reqwest::Error) -> bool {
    error.is_connect()
        || causes(error).any(|cause| was_never_sent(cause) || was_refused_by_http2(cause))
}

/// Whether the connection was closed before the request was written to it.
fn was_never_sent(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled)
}

/// Whether HTTP/2 guarantees that the request was not processed (RFC 9113, section 8.7): the server
/// refused the stream, or the stream was opened after the last one that the server processed before
/// it closed the connection.
fn was_refused_by_http2(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<h2::Error>().is_some_and(|error| {
        error.is_remote()
            && (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)
                || error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
    })
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}
