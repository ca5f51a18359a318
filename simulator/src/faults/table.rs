//! The table of all faults, one row each. The notation, the page and the documentation have their
//! names, places, values and effects from it.

use std::time::Duration;

use serde::Serialize;

use super::{
    effect::{Effect, FalseFile, FalseResponse, FalseStatus},
    place::FaultPlace::{self, Delivery, Poll, Submission, Webhook},
    value,
};
use crate::{http::Cut, webhooks::WebhookFaults};

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
        effect: "responds with this status code before anything is done",
        read: |value| Ok(Effect::Instead(FalseResponse::Error(value::status(value)?))),
    },
    KnownFault {
        name: "error-after",
        places: &[Submission],
        value: "500 (default) to 599",
        effect: "accepts and charges the submission, then responds with this status code",
        read: |value| Ok(Effect::AfterAcceptance(FalseResponse::Error(value::status(value)?))),
    },
    KnownFault {
        name: "html-502",
        places: REQUESTS,
        value: "",
        effect: "responds with 502 and a proxy's HTML page; nothing is done",
        read: |value| value::none(value, Effect::Instead(FalseResponse::ProxyPage)),
    },
    KnownFault {
        name: "rate-limited",
        places: REQUESTS,
        value: "seconds to wait; 1",
        effect: "responds with 429 and `Retry-After`; nothing is done",
        read: |value| {
            Ok(Effect::Instead(FalseResponse::RateLimited(value::whole_seconds(value, 1)?)))
        },
    },
    KnownFault {
        name: "reset",
        places: REQUESTS,
        value: "`before` (default) or `after`, for a submission only",
        effect: concat!(
            "resets the connection: before or after a submission is accepted, instead of ",
            "the response to a poll, or in the middle of a delivery"
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
        effect: concat!(
            "accepts and charges the submission, then closes the connection without a ",
            "response"
        ),
        read: |value| value::none(value, Effect::AfterAcceptance(FalseResponse::Cut(Cut::Close))),
    },
    KnownFault {
        name: "foreign-polling-host",
        places: &[Submission],
        value: "host, optionally with a port; 127.0.0.2:9",
        effect: concat!(
            "accepts the submission, but `polling_url` has this host, which is not the ",
            "simulator"
        ),
        read: |value| Ok(Effect::PollingHost(value::host(value, "127.0.0.2:9")?)),
    },
    KnownFault {
        name: "slow-headers",
        places: REQUESTS,
        value: "seconds; 5",
        effect: "processes the request at once, but responds after this time",
        read: |value| Ok(Effect::SlowHeaders(value::seconds(value, 5)?)),
    },
    KnownFault {
        name: "slow-body",
        places: REQUESTS,
        value: "seconds; 5",
        effect: "sends the response headers at once, and the body after this time",
        read: |value| Ok(Effect::SlowBody(value::seconds(value, 5)?)),
    },
    KnownFault {
        name: "unknown-status",
        places: &[Poll],
        value: "",
        effect: "the poll response has a status that no client knows",
        read: |value| value::none(value, Effect::Status(FalseStatus::Unknown)),
    },
    KnownFault {
        name: "spurious-not-found",
        places: &[Poll],
        value: "",
        effect: "the poll response is `Task not found` although the task exists",
        read: |value| value::none(value, Effect::Status(FalseStatus::NotFound)),
    },
    KnownFault {
        name: "truncated",
        places: &[Delivery],
        value: "",
        effect: "sends half of the announced bytes, then closes the connection",
        read: |value| value::none(value, Effect::CutShort(Cut::Close)),
    },
    KnownFault {
        name: "empty",
        places: &[Delivery],
        value: "",
        effect: "sends an empty body with the announced media type",
        read: |value| value::none(value, Effect::File(FalseFile::Empty)),
    },
    KnownFault {
        name: "html",
        places: &[Delivery],
        value: "",
        effect: "sends an HTML page with status code 200",
        read: |value| value::none(value, Effect::File(FalseFile::Page)),
    },
    KnownFault {
        name: "wrong-kind",
        places: &[Delivery],
        value: "`picture` (default) or `text`",
        effect: "sends a picture of another format, or text, with the announced media type",
        read: |value| match value {
            None | Some("picture") => Ok(Effect::File(FalseFile::OtherFormat)),
            Some("text") => Ok(Effect::File(FalseFile::Text)),
            Some(_) => Err("expected `picture` or `text`"),
        },
    },
    KnownFault {
        name: "early-expiry",
        places: &[Delivery],
        value: "",
        effect: "responds that the delivery URL has expired although it is still valid",
        read: |value| value::none(value, Effect::File(FalseFile::Expired)),
    },
    KnownFault {
        name: "webhook-duplicate",
        places: &[Webhook],
        value: "",
        effect: "sends the webhook twice",
        read: |value| {
            value::none(value, Effect::Webhook(WebhookFaults { duplicate: true, ..UNCHANGED }))
        },
    },
    KnownFault {
        name: "webhook-late",
        places: &[Webhook],
        value: "seconds; 60",
        effect: "sends the webhook after this time",
        read: |value| {
            let late = value::seconds(value, 60)?;
            Ok(Effect::Webhook(WebhookFaults { late, ..UNCHANGED }))
        },
    },
    KnownFault {
        name: "webhook-out-of-order",
        places: &[Webhook],
        value: "",
        effect: "sends the webhook after that of a later task",
        read: |value| {
            value::none(value, Effect::Webhook(WebhookFaults { out_of_order: true, ..UNCHANGED }))
        },
    },
    KnownFault {
        name: "webhook-forged",
        places: &[Webhook],
        value: "",
        effect: "also sends a forged webhook with an invalid signature",
        read: |value| {
            value::none(value, Effect::Webhook(WebhookFaults { forged: true, ..UNCHANGED }))
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name_and_checks_its_value() {
        for known in KNOWN {
            assert_eq!(KnownFault::named(known.name).map(|found| found.name), Some(known.name));
            assert!((known.read)(None).is_ok(), "{} without a value", known.name);
            assert!((known.read)(Some("/no value/")).is_err(), "{} with nonsense", known.name);
        }
        assert!(KnownFault::named("no-fault").is_none());
    }

    #[test]
    fn values_are_checked() {
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
            let known = KnownFault::named(name).unwrap();
            assert_eq!((known.read)(Some(value)).is_ok(), holds, "{name}={value}");
        }
    }
}
