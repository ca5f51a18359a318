//! One attempt to download a picture, within limits of size and time. The picture is checked while
//! it arrives.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use tokio::time::{self, Instant};
use url::Url;

use super::{
    Picture,
    decoder::{Decoder, encoding},
};
use crate::{
    DELIVERY_VALIDITY, Damaged, Error, ErrorKind, FileKind,
    transport::{
        connections::Connection,
        download::{self, DownloadError, Fetched},
        redaction::Redaction,
    },
    values::whole::{Checker, Extent},
};

/// A download that receives fewer bytes than this within the silence limit has stalled, unless the
/// picture is complete.
const MIN_PROGRESS: u64 = 1024;

/// The maximum printed length of a content type, in characters.
const LONGEST_TYPE: usize = 60;

/// Limits for the body of an error response. Object stores send a few hundred bytes.
const MAX_BODY: usize = 64 * 1024;
const BODY_LIMIT: Duration = Duration::from_secs(5);

/// Why an attempt failed.
pub(super) enum DownloadFailure {
    /// Another attempt may succeed.
    Transient(Error),
    /// The delivery host refused the URL. It may accept the URL that the next poll returns.
    NeedsFreshUrl(Error),
    /// Another attempt would fail in the same way.
    Permanent(Error),
    /// The bytes that arrived are not a complete picture. The next attempt may receive a complete
    /// one.
    Unreadable {
        error: Error,
        /// The number of bytes after which the connection broke, if it broke.
        broken_after: Option<u64>,
        /// The bytes that arrived, if they were written to a file.
        file: Option<Damaged>,
    },
}

impl DownloadFailure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Unreadable { error, broken_after: None, file } => error.of_damaged(file),
            Self::Transient(error)
            | Self::NeedsFreshUrl(error)
            | Self::Permanent(error)
            | Self::Unreadable { error, .. } => error,
        }
    }
}

/// A download in progress.
pub(super) struct Download {
    picture: Picture,
    url: Url,
    connection: Connection,
    response: Response,
    decoder: Decoder,
    checker: Checker,
    /// The number of decompressed bytes.
    pub(super) received: u64,
    pace: Pace,
}

impl Picture {
    /// Sends the request and waits for the response. `attempts` is the number of failed attempts
    /// before this one.
    pub(super) async fn open(
        self,
        attempts: u32,
        until: Instant,
    ) -> Result<Download, DownloadFailure> {
        let url = self.address.parse().map_err(|error| {
            DownloadFailure::Permanent(
                self.failed("could not parse the delivery URL").with_source(error),
            )
        })?;
        let service = &self.downloads().service;
        let pace = Pace::new(service.silence, until);
        // The request does not contain the key. The signature in the URL grants access.
        let rules = &self.downloads().rules;
        let fetching = download::fetch(service, rules, &self.task, url, attempts, pace.deadline());
        let Fetched { url, connection, response } =
            fetching.await.map_err(|error| self.not_fetched(error))?;
        if response.status() != StatusCode::OK {
            return Err(self.refused(response).await);
        }
        let download = Download {
            pace: Pace::new(service.silence, until),
            picture: self,
            url,
            connection,
            decoder: Decoder::new(response.headers()),
            checker: Checker::default(),
            received: 0,
            response,
        };
        // With compression, the declared length is that of the compressed body, and says nothing
        // about the size of the picture.
        if encoding(download.response.headers()).is_none() {
            download.check_size(download.response.content_length().unwrap_or(0))?;
        }
        Ok(download)
    }

    pub(super) fn failed(&self, what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Download, format!("could not fetch the picture: {}", what.into()))
            .with_advice(
                "the picture is billed and ready; fetch it again before its delivery URL expires",
            )
            .with_task(&self.task)
    }

    fn not_fetched(&self, error: DownloadError) -> DownloadFailure {
        DownloadFailure::Transient(match error {
            DownloadError::Refused(refusal) => {
                return DownloadFailure::Permanent(refusal.into_error().with_task(&self.task));
            }
            DownloadError::TooManyRedirects => {
                self.failed("too many redirects from the delivery URL")
            }
            DownloadError::Silent => {
                let silence = self.downloads().service.silence.as_secs();
                self.failed(format!("no response within {silence} s"))
            }
            DownloadError::Http(error) => {
                self.failed("could not send the request").with_source(error.without_url())
            }
        })
    }
}

impl Download {
    /// Returns the next bytes, or `None` at the end of the picture.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, DownloadFailure> {
        self.pace.resumed();
        loop {
            if let Some(piece) = self.decoder.next() {
                return self.take(piece).map(Some);
            }
            if self.decoder.has_ended() {
                return Ok(None);
            }
            let arriving = time::timeout_at(self.pace.deadline(), self.response.chunk()).await;
            let failure = match arriving {
                Ok(Ok(Some(chunk))) => {
                    self.pace.arrived(chunk.len() as u64);
                    self.decoder.push(chunk);
                    continue;
                }
                Ok(Ok(None)) => None,
                Ok(Err(error)) => Some(self.broken(error)),
                Err(_) => Some(DownloadFailure::Transient(self.stalled())),
            };
            let rest = self.decoder.finish();
            let rest = rest.map(|rest| self.take(rest)).transpose()?.unwrap_or_default();
            return match failure {
                // The picture may be complete although the server declared a larger length, or
                // broke the connection in the bytes after the picture.
                Some(failure) if self.checker.extent() != Extent::Complete => Err(failure),
                _ => Ok(Some(rest).filter(|rest| !rest.is_empty())),
            };
        }
    }

    fn take(&mut self, bytes: Bytes) -> Result<Bytes, DownloadFailure> {
        self.received += bytes.len() as u64;
        self.check_size(self.received)?;
        self.checker.feed(&bytes);
        Ok(bytes)
    }

    fn broken(&self, error: reqwest::Error) -> DownloadFailure {
        let what = format!("the connection broke ({} bytes received)", self.received);
        DownloadFailure::Unreadable {
            error: self.failed(what).with_source(error.without_url()),
            broken_after: Some(self.received),
            file: None,
        }
    }

    fn stalled(&self) -> Error {
        self.picture.downloads().service.connections.abandon(&self.connection);
        let arrived = self.received;
        self.failed(if Instant::now() >= self.pace.until {
            let limit = self.picture.downloads().settings.deadline.as_secs_f32();
            format!("the download took longer than {limit} s ({arrived} bytes received)")
        } else {
            format!("the download stalled ({arrived} bytes received)")
        })
    }

    /// Checks that the picture is complete, and returns its format.
    pub(super) fn check(&self) -> Result<FileKind, DownloadFailure> {
        let bytes = self.received;
        let problem = match (self.kind(), self.checker.extent()) {
            (Some(kind), Extent::Complete | Extent::Open) => return Ok(kind),
            (Some(kind), Extent::Partial) => {
                format!("the {kind} file is truncated ({bytes} bytes received)")
            }
            (Some(kind), Extent::Damaged) => format!("the {kind} file is damaged ({bytes} bytes)"),
            (None, _) => {
                let declared = self.response.headers().get(CONTENT_TYPE);
                let declared = declared.and_then(|value| value.to_str().ok()).unwrap_or("none");
                // The host may echo the signature of the URL in a header, so the text is redacted.
                let line = |text: &str| Redaction::of_download(&self.url).line(text, LONGEST_TYPE);
                let encoding = encoding(self.response.headers())
                    .map_or_else(String::new, |name| format!(", content encoding {}", line(&name)));
                format!(
                    "the response is not a picture ({bytes} bytes, content type {}{encoding})",
                    line(declared)
                )
            }
        };
        let error = self.failed(problem);
        Err(DownloadFailure::Unreadable { error, broken_after: None, file: None })
    }

    /// Returns the format detected from the first bytes.
    pub(super) fn kind(&self) -> Option<FileKind> {
        self.checker.kind()
    }

    fn check_size(&self, bytes: u64) -> Result<(), DownloadFailure> {
        let limit = self.picture.downloads().settings.max_picture_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let message = format!("the picture is larger than the limit of {limit} bytes");
        let advice = "the picture is billed and ready; increase the limit and fetch the picture \
                      again before its delivery URL expires";
        let error = self
            .failed(message)
            .with_advice(advice)
            .with_function("ClientBuilder::max_picture_bytes");
        Err(DownloadFailure::Permanent(error))
    }

    fn failed(&self, what: impl Into<String>) -> Error {
        self.picture.failed(what)
    }
}

impl Picture {
    /// Returns the failure for a response with a status code other than 200.
    async fn refused(&self, response: Response) -> DownloadFailure {
        let status = response.status();
        let is_refusal = match status {
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::GONE => true,
            StatusCode::BAD_REQUEST => says_expired(response).await,
            _ => false,
        };
        let code = status.as_u16();
        let failed = |validity: &str| {
            self.failed(format!("the delivery URL returned status code {status}{validity}"))
        };
        if !is_refusal {
            return DownloadFailure::Transient(failed("").with_status(code));
        }
        // A refusal proves that the picture has expired only if a poll returned the URL after the
        // end of the validity. Delivery hosts also refuse valid URLs from time to time, and a later
        // poll may return a URL that works.
        let error = if self.polled.since(&self.ready_since) >= DELIVERY_VALIDITY {
            self.expired(code)
        } else {
            let advice = "the picture is billed and ready; wait for the task again, and fetch the \
                          picture from the delivery URL that the poll returns";
            failed(&self.validity()).with_advice(advice).with_function("Task::wait")
        };
        DownloadFailure::NeedsFreshUrl(error.with_status(code))
    }

    fn expired(&self, code: u16) -> Error {
        let address = &self.address;
        let message = format!(
            "the delivery URL {address} has expired ({code}), and polling returned no valid one"
        );
        Error::new(ErrorKind::Expired, message)
            .with_advice("delivery URLs are valid for ten minutes; ask the service for the picture")
            .with_task(&self.task)
    }

    /// Returns the part of an error message that says until when the delivery URL should be valid.
    fn validity(&self) -> String {
        let end = self.expires_at();
        match (self.downloads().service.clock.now() < end, date(end)) {
            (true, Some(end)) => format!(", although it should be valid until {end}"),
            (false, Some(end)) => {
                format!("; it was valid until {end}, and no later poll succeeded")
            }
            (_, None) => String::new(),
        }
    }
}

/// Returns for example `Fri, 15 Jan 2027 08:00:00 GMT`, for the years that `httpdate` can print.
fn date(time: SystemTime) -> Option<String> {
    const END: Duration = Duration::from_secs(253_402_300_800);
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    (since < END).then(|| httpdate::fmt_http_date(time))
}

/// Returns whether the body says that the URL has expired. Object stores send for example
/// `ExpiredToken` or `Request has expired`.
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

/// Detects stalled downloads, including downloads from servers that send only a byte from time to
/// time.
struct Pace {
    silence: Duration,
    window_ends: Instant,
    missing: u64,
    /// When the last chunk was passed on.
    paused_at: Instant,
    until: Instant,
}

impl Pace {
    fn new(silence: Duration, until: Instant) -> Self {
        let now = Instant::now();
        Self { silence, window_ends: now + silence, missing: MIN_PROGRESS, paused_at: now, until }
    }

    /// Excludes the time that the reader took since the last chunk.
    fn resumed(&mut self) {
        self.window_ends += self.paused_at.elapsed();
    }

    fn arrived(&mut self, bytes: u64) {
        self.paused_at = Instant::now();
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            self.window_ends = self.paused_at + self.silence;
            self.missing = MIN_PROGRESS;
        }
    }

    fn deadline(&self) -> Instant {
        self.window_ends.min(self.until)
    }
}
