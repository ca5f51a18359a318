//! One download: within its limits of size and time, and checked as it arrives.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use tokio::time::{self, Instant};
use url::Url;

use super::{
    Picture,
    tries::Failure,
    whole::{Checker, Extent},
};
use crate::{
    Error, ErrorKind, FileKind,
    transport::{
        connections::Connection,
        delivery::{self, Delivery, DeliveryFault},
    },
};

/// A download that brings less than this within the silence limit has stalled, unless this is the
/// rest of it.
const LEAST_PROGRESS: u64 = 1024;

/// A download in progress.
pub(super) struct Download {
    picture: Picture,
    url: Url,
    connection: Connection,
    response: Response,
    checker: Checker,
    received: u64,
    pace: Pace,
}

impl Picture {
    /// Sends the request and waits for the response.
    pub(super) async fn open(&self, until: Instant) -> Result<Download, Failure> {
        let url = self.address.parse().map_err(|error| {
            Failure::Permanent(self.failed("the delivery URL is not a URL").with_source(error))
        })?;
        let service = self.client.service();
        let pace = Pace::new(service.silence, until);
        // Without the key: the signature in the URL is the permission.
        let rules = &self.client.deliveries().rules;
        let fetching = delivery::get(service, rules, &self.task, url, pace.deadline());
        let Delivery { url, connection, response } =
            fetching.await.map_err(|fault| self.not_fetched(fault))?;
        if response.status() != StatusCode::OK {
            return Err(self.refused(response).await);
        }
        let download = Download {
            picture: self.clone(),
            url,
            connection,
            checker: Checker::default(),
            received: 0,
            pace: pace.restarted(),
            response,
        };
        download.check_size(download.response.content_length().unwrap_or(0))?;
        Ok(download)
    }

    fn not_fetched(&self, fault: DeliveryFault) -> Failure {
        match fault {
            DeliveryFault::Refused(refusal) => Failure::Permanent(
                Error::new(
                    ErrorKind::AddressRefused,
                    format!("the delivery URL was refused: {refusal}"),
                )
                .with_advice(refusal.advice())
                .with_task(&self.task),
            ),
            DeliveryFault::TooManyRedirects => {
                Failure::Transient(self.failed("the delivery URL redirects too often"))
            }
            DeliveryFault::Silent => {
                let silence = self.client.service().silence.as_secs();
                Failure::Transient(self.failed(format!("no response within {silence} s")))
            }
            DeliveryFault::Http(error) => Failure::Transient(
                self.failed("could not send the request").with_source(error.without_url()),
            ),
        }
    }
}

impl Download {
    /// The next chunk; none at the end of the response.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let failure = match time::timeout_at(self.pace.deadline(), self.response.chunk()).await {
            Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some(chunk))) => {
                self.received += chunk.len() as u64;
                self.check_size(self.received)?;
                self.pace.arrived(chunk.len() as u64);
                self.checker.feed(&chunk);
                return Ok(Some(chunk));
            }
            Ok(Err(error)) => self
                .failed(format!("the connection broke after {} bytes", self.received))
                .with_source(error.without_url()),
            Err(_) => {
                self.picture.client.service().connections.abandon(&self.url, &self.connection);
                let arrived = self.received;
                self.failed(match self.pace.is_over() {
                    true => format!("it took longer than {} s ({arrived} bytes)", self.deadline()),
                    false => format!("the download stalled after {arrived} bytes"),
                })
            }
        };
        // A server may declare too large a length, or break off in bytes that follow the picture.
        if self.checker.extent() == Extent::Complete {
            return Ok(None);
        }
        Err(Failure::Transient(failure))
    }

    /// Checks that a whole picture has arrived.
    pub(super) fn check(&self) -> Result<FileKind, Failure> {
        let bytes = self.received;
        let problem = match (self.kind(), self.checker.extent()) {
            (Some(kind), Extent::Complete | Extent::Open) => return Ok(kind),
            (Some(kind), Extent::Partial) => {
                format!("the {kind} ends in the middle, after {bytes} bytes")
            }
            (Some(kind), Extent::Damaged) => format!("the {kind} is damaged ({bytes} bytes)"),
            (None, _) => {
                let declared = self.response.headers().get(CONTENT_TYPE);
                let declared = declared.and_then(|value| value.to_str().ok()).unwrap_or("none");
                let declared: String = declared.chars().take(60).collect();
                format!("the response is not a picture ({bytes} bytes, content type {declared})")
            }
        };
        Err(Failure::Transient(self.failed(problem)))
    }

    /// The kind of file by its first bytes.
    pub(super) fn kind(&self) -> Option<FileKind> {
        self.checker.kind()
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How long the download may take, in seconds.
    fn deadline(&self) -> f32 {
        self.picture.client.deliveries().settings.deadline.as_secs_f32()
    }

    fn check_size(&self, bytes: u64) -> Result<(), Failure> {
        let limit = self.picture.client.deliveries().settings.max_picture_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let error = self.failed(format!("it is larger than the limit of {limit} bytes")).with_advice(
            "the picture is paid for and ready; raise the limit with ClientBuilder::max_picture_bytes and fetch it \
             again before its delivery URL expires",
        );
        Err(Failure::Permanent(error))
    }

    fn failed(&self, what: impl Into<String>) -> Error {
        self.picture.failed(what)
    }
}

/// When a download has stalled: a server that sends a byte now and then would hold it forever.
struct Pace {
    silence: Duration,
    window_ends: Instant,
    missing: u64,
    until: Instant,
}

impl Pace {
    fn new(silence: Duration, until: Instant) -> Self {
        let window_ends = Instant::now() + silence;
        Self { silence, window_ends, missing: LEAST_PROGRESS, until }
    }

    /// With a new window, in the same try.
    fn restarted(self) -> Self {
        Self { window_ends: Instant::now() + self.silence, missing: LEAST_PROGRESS, ..self }
    }

    fn arrived(&mut self, bytes: u64) {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            self.window_ends = Instant::now() + self.silence;
            self.missing = LEAST_PROGRESS;
        }
    }

    /// Whether the deadline of the download has passed.
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn deadline(&self) -> Instant {
        self.window_ends.min(self.until)
    }
}
