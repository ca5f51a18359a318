//! The table of all faults, one row each. The notation, the page and the documentation have their
//! names, places, values and effects from it.

use std::{fmt, ops::Range, str::FromStr, time::Duration};

use axum::http::{StatusCode, Uri};
use serde::{Deserialize, Serialize};

use self::FaultPlace::{Delivery, Poll, Submission, Webhook};
use super::effect::{Effect, FalseFile, FalseResponse, FalseStatus};
use crate::{http::Cut, webhooks::WebhookFaults};

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
        [Submission, Poll, Delivery, Webhook].into_iter().find(|place| place.to_string() == name)
    }

    /// A slice with only this place.
    pub(super) fn alone(self) -> &'static [Self] {
        match self {
            Submission => &[Submission],
            Poll => &[Poll],
            Delivery => &[Delivery],
            Webhook => &[Webhook],
        }
    }
}

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Submission => "submission",
            Poll => "poll",
            Delivery => "delivery",
            Webhook => "webhook",
        })
    }
}

/// A fault that can be requested.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct KnownFault {
    /// Its name in the notation.
    pub name: &'static str,
    /// Where it can apply. A request that names no place gets it at the first.
    pub places: &'static [FaultPlace],
    /// The allowed value after `=`, and the default; empty if it takes no value.
    pub value: &'static str,
    /// What happens.
    pub effect: &'static str,
    /// Makes the effect from the value.
    #[serde(skip)]
    pub(super) read: fn(Option<&str>) -> Result<Effect, &'static str>,
}

impl KnownFault {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }
}

const REQUESTS: &[FaultPlace] = &[Submission, Poll, Delivery];

const UNCHANGED: WebhookFaults =
    WebhookFaults { duplicate: false, late: Duration::ZERO, out_of_order: false, forged: false };

/// All faults.
pub(super) const KNOWN: &[KnownFault] = &[
    KnownFault {
        name: "error-before",
        places: REQUESTS,
        value: "500 (default) to 599",
        effect: "this status code; nothing is done",
        read: |value| Ok(Effect::Instead(FalseResponse::Error(status(value)?))),
    },
    KnownFault {
        name: "outage",
        places: REQUESTS,
        value: "from and until, in seconds since the start of the simulator; 0..60",
        effect: "500 between these times of the simulator's clock; nothing is done",
        read: |value| Ok(Effect::Outage(period(value, 0..60)?)),
    },
    KnownFault {
        name: "error-after",
        places: &[Submission],
        value: "500 (default) to 599",
        effect: "accepts and charges, then this status code",
        read: |value| Ok(Effect::AfterAcceptance(FalseResponse::Error(status(value)?))),
    },
    KnownFault {
        name: "html-502",
        places: REQUESTS,
        value: "",
        effect: "502 and a proxy's HTML page; nothing is done",
        read: |value| no_value(value, Effect::Instead(FalseResponse::ProxyPage)),
    },
    KnownFault {
        name: "rate-limited",
        places: REQUESTS,
        value: "seconds to wait; 1",
        effect: "429 and `Retry-After`; nothing is done",
        read: |value| Ok(Effect::Instead(FalseResponse::RateLimited(whole_seconds(value, 1)?))),
    },
    KnownFault {
        name: "reset",
        places: REQUESTS,
        value: "`before` (default) or `after`, for a submission only",
        effect: concat!(
            "resets the connection: before or after acceptance, instead of a poll's response, or ",
            "in the middle of a delivery"
        ),
        read: |value| match value {
            None | Some("before") => Ok(Effect::Instead(FalseResponse::Cut(Cut::Reset))),
            Some("after") => Ok(Effect::AfterAcceptance(FalseResponse::Cut(Cut::Reset))),
            Some(_) => Err("expected `before` or `after`"),
        },
    },
    KnownFault {
        name: "reply-lost",
        places: &[Submission],
        value: "",
        effect: "accepts and charges, then closes the connection",
        read: |value| no_value(value, Effect::AfterAcceptance(FalseResponse::Cut(Cut::Close))),
    },
    KnownFault {
        name: "foreign-polling-host",
        places: &[Submission],
        value: "host, optionally with a port; 127.0.0.2:9",
        effect: "accepts, but `polling_url` has this host, which is not the simulator",
        read: |value| Ok(Effect::PollingHost(host(value, "127.0.0.2:9")?)),
    },
    KnownFault {
        name: "slow-headers",
        places: REQUESTS,
        value: "seconds; 5",
        effect: "processes the request at once, responds after this time",
        read: |value| Ok(Effect::SlowHeaders(seconds(value, 5)?)),
    },
    KnownFault {
        name: "slow-body",
        places: REQUESTS,
        value: "seconds; 5",
        effect: "sends the headers at once, the body after this time",
        read: |value| Ok(Effect::SlowBody(seconds(value, 5)?)),
    },
    KnownFault {
        name: "idle-close",
        places: REQUESTS,
        value: "seconds in real time; 0",
        effect: "closes the connection once it has been idle for this time after the response",
        read: |value| Ok(Effect::IdleClose(seconds(value, 0)?)),
    },
    KnownFault {
        name: "clock-skew",
        places: REQUESTS,
        value: "seconds, negative for an earlier time; 3600",
        effect: "the `Date` of the response is this much later than the simulator's clock",
        read: |value| Ok(Effect::ClockSkew(skew(value)?)),
    },
    KnownFault {
        name: "unknown-status",
        places: &[Poll],
        value: "",
        effect: "a status that no client knows",
        read: |value| no_value(value, Effect::Status(FalseStatus::Unknown)),
    },
    KnownFault {
        name: "spurious-not-found",
        places: &[Poll],
        value: "",
        effect: "`Task not found` although the task exists",
        read: |value| no_value(value, Effect::Status(FalseStatus::NotFound)),
    },
    KnownFault {
        name: "spurious-forbidden",
        places: &[Poll],
        value: "",
        effect: "403 although the key is valid",
        read: |value| {
            let forbidden = FalseResponse::Error(StatusCode::FORBIDDEN);
            no_value(value, Effect::Instead(forbidden))
        },
    },
    KnownFault {
        name: "stale-status",
        places: &[Poll],
        value: "",
        effect: "the first status of a task, whatever its status is now",
        read: |value| no_value(value, Effect::Status(FalseStatus::Stale)),
    },
    KnownFault {
        name: "truncated",
        places: &[Delivery],
        value: "",
        effect: "half of the announced bytes, then closes the connection",
        read: |value| no_value(value, Effect::CutShort(Cut::Close)),
    },
    KnownFault {
        name: "damaged",
        places: &[Delivery],
        value: "",
        effect: "half of the file as if it were the whole one; with `:always`, it stays damaged",
        read: |value| no_value(value, Effect::File(FalseFile::Half)),
    },
    KnownFault {
        name: "empty",
        places: &[Delivery],
        value: "",
        effect: "an empty body with the announced media type",
        read: |value| no_value(value, Effect::File(FalseFile::Empty)),
    },
    KnownFault {
        name: "html",
        places: &[Delivery],
        value: "",
        effect: "an HTML page with status code 200",
        read: |value| no_value(value, Effect::File(FalseFile::Page)),
    },
    KnownFault {
        name: "wrong-kind",
        places: &[Delivery],
        value: "`picture` (default) or `text`",
        effect: "a picture of another format, or text, with the announced media type",
        read: |value| match value {
            None | Some("picture") => Ok(Effect::File(FalseFile::OtherFormat)),
            Some("text") => Ok(Effect::File(FalseFile::Text)),
            Some(_) => Err("expected `picture` or `text`"),
        },
    },
    KnownFault {
        name: "wrong-size",
        places: &[Delivery],
        value: "",
        effect: "a picture of 64 x 80 pixels",
        read: |value| no_value(value, Effect::File(FalseFile::OtherSize)),
    },
    KnownFault {
        name: "early-expiry",
        places: &[Delivery],
        value: "",
        effect: "the delivery URL has expired although it is valid",
        read: |value| no_value(value, Effect::File(FalseFile::Expired)),
    },
    KnownFault {
        name: "webhook-duplicate",
        places: &[Webhook],
        value: "",
        effect: "sends the webhook twice",
        read: |value| {
            no_value(value, Effect::Webhook(WebhookFaults { duplicate: true, ..UNCHANGED }))
        },
    },
    KnownFault {
        name: "webhook-late",
        places: &[Webhook],
        value: "seconds; 60",
        effect: "sends the webhook after this time",
        read: |value| {
            let late = seconds(value, 60)?;
            Ok(Effect::Webhook(WebhookFaults { late, ..UNCHANGED }))
        },
    },
    KnownFault {
        name: "webhook-out-of-order",
        places: &[Webhook],
        value: "",
        effect: "sends the webhook after that of a later task",
        read: |value| {
            no_value(value, Effect::Webhook(WebhookFaults { out_of_order: true, ..UNCHANGED }))
        },
    },
    KnownFault {
        name: "webhook-forged",
        places: &[Webhook],
        value: "",
        effect: "also sends a forged webhook with an invalid signature",
        read: |value| no_value(value, Effect::Webhook(WebhookFaults { forged: true, ..UNCHANGED })),
    },
];

/// The effect of a fault that takes no value.
fn no_value(value: Option<&str>, effect: Effect) -> Result<Effect, &'static str> {
    if value.is_some() { Err("this fault does not take a value") } else { Ok(effect) }
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

/// Parses two times in seconds, as in `10..70`.
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
