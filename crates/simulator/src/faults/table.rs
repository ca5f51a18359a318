//! The faults, and what each one does. Their names, places, values and effects come from the table
//! of the documentation, so that the parser and the documentation agree.

use std::{fmt, ops::Range, str::FromStr, sync::LazyLock, time::Duration};

use axum::http::{StatusCode, Uri};
use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer, value},
};

use crate::{http::Cut, webhooks::WebhookFault};

/// Where a fault applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultPlace {
    /// A POST that creates a task.
    Submission,
    /// A GET for the status of a task.
    Poll,
    /// A GET of a delivery URL.
    Delivery,
    /// A webhook.
    Webhook,
}

impl FaultPlace {
    /// The place with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::deserialize(IntoDeserializer::<value::Error>::into_deserializer(name)).ok()
    }
}

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A fault that can be requested.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct KnownFault {
    /// The name of the fault in the notation.
    pub name: &'static str,
    /// Where the fault can apply. A request that does not name a place gets the fault at the first
    /// one.
    pub places: &'static [FaultPlace],
    /// The allowed value after `=`, and the default. Empty if the fault does not take a value.
    pub value: &'static str,
    /// What the fault does.
    pub effect: &'static str,
    /// Returns what the fault does with a value, or what is wrong with the value.
    #[serde(skip)]
    pub(super) read: Reader,
}

impl KnownFault {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// Reads a row of the table.
    fn of_row(row: &'static str) -> Option<Self> {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let name = cells.next()?.trim_matches('`');
        let places: Vec<_> = cells.next()?.split(", ").filter_map(FaultPlace::named).collect();
        let (value, effect) = (cells.next()?, cells.next()?);
        let (_, read) = *EFFECTS.iter().find(|(known, _)| *known == name)?;
        Some(Self { name, places: places.leak(), value, effect, read })
    }
}

/// All faults, in the order of the table.
pub(super) static KNOWN: LazyLock<Vec<KnownFault>> = LazyLock::new(|| {
    include_str!("table.md").lines().skip(2).filter_map(KnownFault::of_row).collect()
});

/// Creates an effect from the value of a fault.
type Reader = fn(Option<&str>) -> Result<Effect, &'static str>;

/// What the faults do.
const EFFECTS: [(&str, Reader); 27] = [
    ("html-502", |value| fixed(value, Effect::Instead(FalseResponse::ProxyPage))),
    ("error-before", |value| Ok(Effect::Instead(FalseResponse::Error(status(value)?)))),
    ("outage", |value| Ok(Effect::Outage(period(value, 0..60)?))),
    ("error-after", |value| Ok(Effect::AfterAcceptance(FalseResponse::Error(status(value)?)))),
    ("rate-limited", |value| {
        Ok(Effect::Instead(FalseResponse::RateLimited(whole_seconds(value, 1)?)))
    }),
    ("reset", |value| match value {
        None | Some("before") => Ok(Effect::Instead(FalseResponse::Cut(Cut::Reset))),
        Some("after") => Ok(Effect::AfterAcceptance(FalseResponse::Cut(Cut::Reset))),
        Some(_) => Err("expected `before` or `after`"),
    }),
    ("reply-lost", |value| fixed(value, Effect::AfterAcceptance(FalseResponse::Cut(Cut::Close)))),
    ("foreign-polling-host", |value| Ok(Effect::PollingHost(host(value, "127.0.0.2:9")?))),
    ("slow-headers", |value| Ok(Effect::SlowHeaders(seconds(value, 5)?))),
    ("slow-body", |value| Ok(Effect::SlowBody(seconds(value, 5)?))),
    ("idle-close", |value| Ok(Effect::IdleClose(seconds(value, 0)?))),
    ("clock-skew", |value| Ok(Effect::ClockSkew(skew(value)?))),
    ("unknown-status", |value| fixed(value, Effect::Status(FalseStatus::Unknown))),
    ("spurious-not-found", |value| fixed(value, Effect::Status(FalseStatus::NotFound))),
    ("spurious-forbidden", |value| {
        fixed(value, Effect::Instead(FalseResponse::Error(StatusCode::FORBIDDEN)))
    }),
    ("stale-status", |value| fixed(value, Effect::Status(FalseStatus::Stale))),
    ("truncated", |value| fixed(value, Effect::CutShort(Cut::Close))),
    ("damaged", |value| fixed(value, Effect::File(FalseFile::Half))),
    ("empty", |value| fixed(value, Effect::File(FalseFile::Empty))),
    ("html", |value| fixed(value, Effect::File(FalseFile::Page))),
    ("wrong-kind", |value| match value {
        None | Some("picture") => Ok(Effect::File(FalseFile::OtherFormat)),
        Some("text") => Ok(Effect::File(FalseFile::Text)),
        Some(_) => Err("expected `picture` or `text`"),
    }),
    ("wrong-size", |value| fixed(value, Effect::File(FalseFile::OtherSize))),
    ("early-expiry", |value| fixed(value, Effect::File(FalseFile::Expired))),
    ("webhook-duplicate", |value| fixed(value, Effect::Webhook(WebhookFault::Duplicate))),
    ("webhook-late", |value| Ok(Effect::Webhook(WebhookFault::Late(seconds(value, 60)?)))),
    ("webhook-out-of-order", |value| fixed(value, Effect::Webhook(WebhookFault::OutOfOrder))),
    ("webhook-forged", |value| fixed(value, Effect::Webhook(WebhookFault::Forged))),
];

/// The effect of a fault that takes no value.
fn fixed(value: Option<&str>, effect: Effect) -> Result<Effect, &'static str> {
    if value.is_none() { Ok(effect) } else { Err("this fault does not take a value") }
}

fn status(value: Option<&str>) -> Result<StatusCode, &'static str> {
    let status = parsed(value, StatusCode::INTERNAL_SERVER_ERROR, StatusCode::is_server_error);
    status.ok_or("expected a status code from 500 to 599")
}

/// The maximum duration of a fault, in seconds.
const DAY: u64 = 86_400;

/// The latest end of an outage, in seconds after the start of the simulator.
const YEAR: u64 = 365 * DAY;

fn seconds(value: Option<&str>, default: u64) -> Result<Duration, &'static str> {
    time(value, default, DAY).ok_or("expected a time in seconds, at most a day")
}

fn time(value: Option<&str>, default: u64, longest: u64) -> Option<Duration> {
    let seconds = parsed(value, default as f64, |seconds| *seconds <= longest as f64);
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

fn skew(value: Option<&str>) -> Result<i64, &'static str> {
    let seconds = parsed(value, 3600, |seconds: &i64| seconds.unsigned_abs() <= YEAR);
    seconds.ok_or("expected a whole number of seconds, at most a year, or a negative one")
}

/// Parses two times in seconds, such as `10..70`.
fn period(value: Option<&str>, default: Range<u64>) -> Result<Range<Duration>, &'static str> {
    let (from, until) = match value {
        Some(value) => value.split_once("..").map(|(from, until)| (Some(from), Some(until))),
        None => Some((None, None)),
    }
    .ok_or("expected two times in seconds, such as `10..70`")?;
    let time = |text, default| time(text, default, YEAR).ok_or("expected times of a year at most");
    let period = time(from, default.start)?..time(until, default.end)?;
    if period.is_empty() { Err("the outage ends before it begins") } else { Ok(period) }
}

fn whole_seconds(value: Option<&str>, default: u64) -> Result<u64, &'static str> {
    let seconds = parsed(value, default, |seconds| *seconds <= DAY);
    seconds.ok_or("expected whole seconds, at most a day")
}

fn parsed<T: FromStr>(value: Option<&str>, default: T, fits: impl Fn(&T) -> bool) -> Option<T> {
    value.map_or(Some(default), |value| value.parse().ok().filter(fits))
}

/// Parses a host with an optional port.
fn host(value: Option<&str>, default: &str) -> Result<String, &'static str> {
    let value = value.unwrap_or(default);
    let authority = value.parse::<Uri>().ok().and_then(|uri| uri.into_parts().authority);
    let plain = authority.is_some_and(|authority| authority == value && !value.contains('@'));
    plain.then(|| value.to_owned()).ok_or("expected a host, optionally with a port")
}

/// What a fault does to a request or a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Responds with this, instead of processing the request. If it ends the connection and the
    /// request is for a delivery URL, the connection ends in the middle of the delivery.
    Instead(FalseResponse),
    /// Responds with a 500, instead of processing the request, between these times of the
    /// simulator's clock.
    Outage(Range<Duration>),
    /// Responds with this after the submission was accepted.
    AfterAcceptance(FalseResponse),
    /// Returns a polling URL with this host, and optionally a port.
    PollingHost(String),
    /// Starts the response after this time.
    SlowHeaders(Duration),
    /// Starts the body of the response after this time.
    SlowBody(Duration),
    /// Closes the connection after it has been idle for this time.
    IdleClose(Duration),
    /// Sets the `Date` of the response to this many seconds after the actual time.
    ClockSkew(i64),
    /// Returns this status in the poll response.
    Status(FalseStatus),
    /// Delivers this instead of the picture.
    File(FalseFile),
    /// Ends the connection in the middle of the delivery.
    CutShort(Cut),
    /// Applies this fault to the webhook.
    Webhook(WebhookFault),
}

/// A response that replaces the service's own response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FalseResponse {
    /// An error with this status code.
    Error(StatusCode),
    /// The error page of a proxy.
    ProxyPage,
    /// A 429, with the number of seconds to wait.
    RateLimited(u64),
    /// No response: the connection ends.
    Cut(Cut),
}

/// A status in a poll response that replaces the status of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FalseStatus {
    /// An in-progress status that clients do not know.
    Unknown,
    /// `Task not found`.
    NotFound,
    /// The first in-progress status, even if the task has ended.
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
    /// A picture in another format, with the media type of the task's format.
    OtherFormat,
    /// A picture of another size, in the task's format.
    OtherSize,
    /// Text, with the media type of the task's format.
    Text,
    /// The response to a delivery URL that has expired.
    Expired,
}

impl Effect {
    /// Whether the fault determines the response, which only one fault of a request can do.
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
