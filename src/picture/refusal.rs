//! Classifies responses of a delivery URL without a picture.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use tokio::time;

use super::{Picture, attempts::Failure};
use crate::{Error, ErrorKind};

/// Limits for the body of an error response. Object stores send a few hundred bytes.
const MAX_BODY: usize = 64 * 1024;
const BODY_LIMIT: Duration = Duration::from_secs(5);

impl Picture {
    /// Returns the failure for a response with a status code other than 200.
    pub(super) async fn refused(&self, response: Response) -> Failure {
        let status = response.status();
        let is_overdue = self.client.service().clock.now() >= self.expires_at;
        let has_expired = match status {
            StatusCode::GONE => true,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND
                if is_overdue =>
            {
                true
            }
            StatusCode::BAD_REQUEST
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND => says_expired(response).await,
            _ => false,
        };
        if has_expired {
            return Failure::Refused(self.expired(status));
        }
        let error = self
            .failed(format!("the delivery URL returned status code {status}"))
            .with_status(status.as_u16());
        match status {
            // The URL may have been signed long before the poll that returned it.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::Refused(error),
            _ => Failure::Transient(error),
        }
    }

    fn expired(&self, status: StatusCode) -> Error {
        let message =
            format!("the delivery URL {} has expired ({})", self.address, status.as_u16());
        Error::new(ErrorKind::Expired, message)
            .with_advice(
                "delivery URLs are valid for ten minutes; poll the task again, which may return a \
                 new URL",
            )
            .with_status(status.as_u16())
            .with_task(&self.task)
    }
}

/// Whether the body says that the URL has expired. Object stores send for example `ExpiredToken` or
/// `Request has expired`.
async fn says_expired(mut response: Response) -> bool {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < MAX_BODY
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.extend(chunk.iter().take(MAX_BODY - body.len()));
        }
    };
    // The part that arrived before the timeout may be enough.
    let _ = time::timeout(BODY_LIMIT, reading).await;
    body.windows(b"expired".len()).any(|window| window.eq_ignore_ascii_case(b"expired"))
}
