//! What faults do.

use std::{ops::Range, time::Duration};

use axum::http::StatusCode;

use crate::{http::Cut, webhooks::WebhookFaults};

/// What a fault does to a request or a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// This response instead of any processing. A connection is cut in the middle of a delivery.
    Instead(FalseResponse),
    /// A 500 instead of any processing, between these times of the simulator's clock.
    Outage(Range<Duration>),
    /// This response after the submission was accepted.
    AfterAcceptance(FalseResponse),
    /// The polling URL has this host, with an optional port.
    PollingHost(String),
    /// The response starts after this time.
    SlowHeaders(Duration),
    /// The body of the response starts after this time.
    SlowBody(Duration),
    /// The connection is closed once it has been idle for this time.
    IdleClose(Duration),
    /// The `Date` of the response is this many seconds later than it is.
    ClockSkew(i64),
    /// The poll response has this status.
    Status(FalseStatus),
    /// The delivery is this file.
    File(FalseFile),
    /// The connection is cut in the middle of a delivery.
    CutShort(Cut),
    /// These changes of a webhook.
    Webhook(WebhookFaults),
}

/// A response that is not the service's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FalseResponse {
    /// An error with this status code.
    Error(StatusCode),
    /// The error page of a proxy.
    ProxyPage,
    /// A 429, and how many seconds to wait.
    RateLimited(u64),
    /// No response.
    Cut(Cut),
}

/// The status in a poll response that is not the task's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FalseStatus {
    /// An in-progress status that no client knows.
    Unknown,
    /// `Task not found`.
    NotFound,
    /// The first in-progress status.
    Stale,
}

/// What a delivery contains instead of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FalseFile {
    Empty,
    /// The first half of the file.
    Half,
    /// An HTML page.
    Page,
    /// A picture of another format, with the announced media type.
    OtherFormat,
    /// A picture of another size, in the format of the task.
    OtherSize,
    /// Text, with the announced media type.
    Text,
    /// The response of an expired delivery URL.
    Expired,
}

impl Effect {
    /// Whether it may apply at this time of the simulator's clock.
    pub(super) fn is_possible_at(&self, now: Duration) -> bool {
        match self {
            Self::Outage(period) => period.contains(&now),
            _ => true,
        }
    }

    /// Whether it decides about the response, which only one fault can do.
    pub(super) fn is_exclusive(&self) -> bool {
        !matches!(
            self,
            Self::SlowHeaders(_)
                | Self::SlowBody(_)
                | Self::IdleClose(_)
                | Self::ClockSkew(_)
                | Self::Webhook(_)
        )
    }
}
