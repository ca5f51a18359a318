//! Classifies responses of a delivery URL without a picture.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::{Response, StatusCode};
use tokio::time;

use super::{Picture, download::DownloadFailure};
use crate::{DELIVERY_VALIDITY, Error, ErrorKind};

/// Limits for the body of an error response. Object stores send a few hundred bytes.
const MAX_BODY: usize = 64 * 1024;
const BODY_LIMIT: Duration = Duration::from_secs(5);

impl Picture {
    /// Returns the failure for a response with a status code other than 200.
    pub(super) async fn refused(&self, response: Response) -> DownloadFailure {
        let status = response.status();
        let is_refusal = match status {
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::GONE => true,
            StatusCode::BAD_REQUEST => says_expired(response).await,
            _ => false,
        };
        if !is_refusal {
            let error = self.failed(format!("the delivery URL returned status code {status}"));
            return DownloadFailure::Transient(error.with_status(status.as_u16()));
        }
        let refused = if self.was_polled_late() { Self::expired } else { Self::refused_early };
        DownloadFailure::NeedsFreshUrl(refused(self, status))
    }

    /// Whether the poll that returned the URL was sent after the end of the validity. Only the
    /// refusal of such a URL proves that the picture has expired: delivery hosts also refuse valid
    /// URLs now and then, and a later poll may return a new URL.
    fn was_polled_late(&self) -> bool {
        let age = self.polled_at.duration_since(self.ready_since);
        age.is_ok_and(|age| age >= DELIVERY_VALIDITY)
    }

    fn expired(&self, status: StatusCode) -> Error {
        let message = format!(
            "the delivery URL {} has expired ({}), and polling returned no valid one",
            self.address,
            status.as_u16()
        );
        Error::new(ErrorKind::Expired, message)
            .with_advice("delivery URLs are valid for ten minutes; ask the service for the picture")
            .with_status(status.as_u16())
            .with_task(&self.task)
    }

    fn refused_early(&self, status: StatusCode) -> Error {
        let end = self.expires_at();
        let validity = match (self.downloads().service.clock.now() < end, date(end)) {
            (true, Some(end)) => format!(", although it should be valid until {end}"),
            (false, Some(end)) => {
                format!("; it was valid until {end}, and no later poll succeeded")
            }
            (_, None) => String::new(),
        };
        self.failed(format!("the delivery URL returned status code {status}{validity}"))
            .with_advice(
                "the picture is billed and ready; wait for the task again, and fetch the picture \
                 from the delivery URL that the poll returns",
            )
            .with_function("Task::wait")
            .with_status(status.as_u16())
    }
}

/// Returns for example `Fri, 15 Jan 2027 08:00:00 GMT`, for the years that `httpdate` can print.
fn date(time: SystemTime) -> Option<String> {
    const END: Duration = Duration::from_secs(253_402_300_800);
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    (since < END).then(|| httpdate::fmt_http_date(time))
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
