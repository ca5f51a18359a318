//! What can go wrong, and where.

use std::fmt;
use std::time::Duration;

use axum::http::{StatusCode, Uri};
use serde::Serialize;

/// Where a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultPlace {
    /// A POST that makes a task.
    Submission,
    /// A GET that asks for the status of a task.
    Poll,
    /// A GET at a delivery address.
    Delivery,
    /// A notification.
    Webhook,
}

use FaultPlace::{Delivery, Poll, Submission, Webhook};

impl FaultPlace {
    /// The place with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Submission, Poll, Delivery, Webhook].into_iter().find(|place| place.to_string() == name)
    }

    /// This place and no other.
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

/// A fault that can be asked for.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct KnownFault {
    /// Its name, as it is asked for.
    pub name: &'static str,
    /// Where it may strike. Asked for in a request without a place, it strikes at the first.
    pub places: &'static [FaultPlace],
    /// What may stand behind `=`, and what holds without it; empty where nothing may.
    pub value: &'static str,
    /// What happens.
    pub effect: &'static str,
}

const REQUESTS: &[FaultPlace] = &[Submission, Poll, Delivery];

const fn known(
    name: &'static str,
    places: &'static [FaultPlace],
    value: &'static str,
    effect: &'static str,
) -> KnownFault {
    KnownFault { name, places, value, effect }
}

/// Every fault there is.
pub(super) const KNOWN: [KnownFault; 20] = [
    known(
        "error-before",
        REQUESTS,
        "500 (default) to 599",
        "answered with this status, before anything is done",
    ),
    known(
        "error-after",
        &[Submission],
        "500 (default) to 599",
        "accepted and charged, then answered with this status",
    ),
    known(
        "html-502",
        REQUESTS,
        "",
        "answered with 502 and a proxy's page in HTML; nothing is done",
    ),
    known(
        "rate-limited",
        REQUESTS,
        "seconds to wait; 1",
        "answered with 429 and `Retry-After`; nothing is done",
    ),
    known(
        "reset",
        REQUESTS,
        "`before` (default) or `after`, at a submission only",
        "the connection is reset: before or after a submission is accepted, instead of a poll's answer, in the middle of a delivery",
    ),
    known(
        "reply-lost",
        &[Submission],
        "",
        "accepted and charged, then the connection is closed without a reply",
    ),
    known(
        "foreign-polling-host",
        &[Submission],
        "host, with a port or without; 127.0.0.2:9",
        "accepted; `polling_url` names this host, which is not the simulator",
    ),
    known(
        "slow-headers",
        REQUESTS,
        "seconds; 5",
        "done at once; the answer begins after the seconds",
    ),
    known(
        "slow-body",
        REQUESTS,
        "seconds; 5",
        "the head of the answer comes at once, its body after the seconds",
    ),
    known(
        "unknown-status",
        &[Poll],
        "",
        "whatever the task's status, a poll tells one that no client can know",
    ),
    known(
        "spurious-not-found",
        &[Poll],
        "",
        "a poll tells `Task not found`, though the task is there",
    ),
    known(
        "truncated",
        &[Delivery],
        "",
        "half of the announced bytes come, then the connection is closed",
    ),
    known("empty", &[Delivery], "", "nothing comes, under the announced type"),
    known("html", &[Delivery], "", "a page in HTML comes, with status 200"),
    known(
        "wrong-kind",
        &[Delivery],
        "`picture` (default) or `text`",
        "a picture of another kind, or text, comes under the announced type",
    ),
    known(
        "early-expiry",
        &[Delivery],
        "",
        "the address answers that it has expired, within its time",
    ),
    known("webhook-duplicate", &[Webhook], "", "the notification is sent twice"),
    known("webhook-late", &[Webhook], "seconds; 60", "the notification is sent after the seconds"),
    known(
        "webhook-out-of-order",
        &[Webhook],
        "",
        "the notification is sent after that of a later task",
    ),
    known(
        "webhook-forged",
        &[Webhook],
        "",
        "a forged one, signed wrongly, is sent beside the notification",
    ),
];

/// What comes in place of the picture that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Picture,
    Text,
}

/// A fault with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    ErrorBefore(StatusCode),
    ErrorAfter(StatusCode),
    Html502,
    RateLimited(u64),
    Reset { after: bool },
    ReplyLost,
    ForeignPollingHost(String),
    SlowHeaders(Duration),
    SlowBody(Duration),
    UnknownStatus,
    SpuriousNotFound,
    Truncated,
    Empty,
    Html,
    WrongKind(Wrong),
    EarlyExpiry,
    WebhookDuplicate,
    WebhookLate(Duration),
    WebhookOutOfOrder,
    WebhookForged,
}

impl Fault {
    /// The fault of this name, with the value behind `=`; or what is wrong with it.
    pub(super) fn new(
        name: &str,
        value: Option<&str>,
    ) -> Result<(Self, &'static KnownFault), &'static str> {
        let known =
            KNOWN.iter().find(|known| known.name == name).ok_or("there is no such fault")?;
        let fault = match name {
            "error-before" => Self::ErrorBefore(status(value)?),
            "error-after" => Self::ErrorAfter(status(value)?),
            "rate-limited" => Self::RateLimited(whole_seconds(value, 1)?),
            "reset" => match value {
                None | Some("before") => Self::Reset { after: false },
                Some("after") => Self::Reset { after: true },
                Some(_) => return Err("its value is neither `before` nor `after`"),
            },
            "foreign-polling-host" => {
                Self::ForeignPollingHost(host(value.unwrap_or("127.0.0.2:9"))?)
            }
            "slow-headers" => Self::SlowHeaders(seconds(value, 5)?),
            "slow-body" => Self::SlowBody(seconds(value, 5)?),
            "webhook-late" => Self::WebhookLate(seconds(value, 60)?),
            "wrong-kind" => match value {
                None | Some("picture") => Self::WrongKind(Wrong::Picture),
                Some("text") => Self::WrongKind(Wrong::Text),
                Some(_) => return Err("its value is neither `picture` nor `text`"),
            },
            _ if value.is_some() => return Err("it takes no value"),
            "html-502" => Self::Html502,
            "reply-lost" => Self::ReplyLost,
            "unknown-status" => Self::UnknownStatus,
            "spurious-not-found" => Self::SpuriousNotFound,
            "truncated" => Self::Truncated,
            "empty" => Self::Empty,
            "html" => Self::Html,
            "early-expiry" => Self::EarlyExpiry,
            "webhook-duplicate" => Self::WebhookDuplicate,
            "webhook-out-of-order" => Self::WebhookOutOfOrder,
            "webhook-forged" => Self::WebhookForged,
            _ => return Err("there is no such fault"),
        };
        Ok((fault, known))
    }

    /// Whether the two cannot strike the same request: of what stands in place of the right answer
    /// there is one.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let kind = std::mem::discriminant::<Self>;
        kind(self) == kind(other) || (self.replaces() && other.replaces())
    }

    fn replaces(&self) -> bool {
        !matches!(
            self,
            Self::SlowHeaders(_)
                | Self::SlowBody(_)
                | Self::WebhookDuplicate
                | Self::WebhookLate(_)
                | Self::WebhookOutOfOrder
                | Self::WebhookForged
        )
    }
}

fn status(value: Option<&str>) -> Result<StatusCode, &'static str> {
    let Some(value) = value else { return Ok(StatusCode::INTERNAL_SERVER_ERROR) };
    let status = value.parse().ok().filter(StatusCode::is_server_error);
    status.ok_or("its value is no status from 500 to 599")
}

/// No fault lasts longer than a day.
const DAY: u64 = 86_400;

fn seconds(value: Option<&str>, default: u64) -> Result<Duration, &'static str> {
    let Some(value) = value else { return Ok(Duration::from_secs(default)) };
    let time = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| *time <= Duration::from_secs(DAY))
        .ok_or("its value is no time in seconds, up to a day")
}

fn whole_seconds(value: Option<&str>, default: u64) -> Result<u64, &'static str> {
    let Some(value) = value else { return Ok(default) };
    let time = value.parse().ok().filter(|seconds| *seconds <= DAY);
    time.ok_or("its value is no time in whole seconds, up to a day")
}

/// A host, with a port or without, and nothing else of an address.
fn host(value: &str) -> Result<String, &'static str> {
    let authority = value.parse::<Uri>().ok().and_then(|uri| uri.into_parts().authority);
    let plain = authority.is_some_and(|authority| authority == value && !value.contains('@'));
    plain.then(|| value.to_owned()).ok_or("its value is no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_fault_can_be_asked_for_by_its_name() {
        for known in &KNOWN {
            assert_eq!(Fault::new(known.name, None).map(|(_, found)| found.name), Ok(known.name));
            let nonsense = Fault::new(known.name, Some("/no value/"));
            assert!(nonsense.is_err(), "{}", known.name);
        }
        assert_eq!(Fault::new("no-fault", None).err(), Some("there is no such fault"));
    }

    #[test]
    fn the_documentation_lists_all_faults_as_they_are() {
        let documentation = include_str!("mod.rs");
        for KnownFault { name, places, value, effect } in &KNOWN {
            let places: Vec<_> = places.iter().map(FaultPlace::to_string).collect();
            let row = format!("/// | `{name}` | {} | {value} | {effect} |\n", places.join(", "));
            assert!(documentation.contains(&row), "{row}");
        }
    }

    #[test]
    fn values_are_held_to_their_bounds() {
        for (name, value, holds) in [
            ("error-before", "500", true),
            ("error-after", "599", true),
            ("error-before", "499", false),
            ("error-before", "600", false),
            ("rate-limited", "0", true),
            ("rate-limited", "1.5", false),
            ("rate-limited", "86401", false),
            ("slow-headers", "0.25", true),
            ("slow-body", "-1", false),
            ("slow-body", "nan", false),
            ("slow-body", "1e300", false),
            ("foreign-polling-host", "example.invalid", true),
            ("foreign-polling-host", "[::1]:80", true),
            ("foreign-polling-host", "example.invalid/path", false),
            ("foreign-polling-host", "key@example.invalid", false),
            ("foreign-polling-host", "http://example.invalid", false),
            ("foreign-polling-host", "", false),
            ("reset", "after", true),
            ("wrong-kind", "text", true),
            ("html", "text", false),
        ] {
            assert_eq!(Fault::new(name, Some(value)).is_ok(), holds, "{name}={value}");
        }
    }
}
