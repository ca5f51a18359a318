//! All faults, and where they apply.

use std::fmt;

use serde::Serialize;

/// Where a fault applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
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

use FaultPlace::{Delivery, Poll, Submission, Webhook};

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

/// All faults.
pub(super) const KNOWN: [KnownFault; 20] = [
    known(
        "error-before",
        REQUESTS,
        "500 (default) to 599",
        "responds with this status code before anything is done",
    ),
    known(
        "error-after",
        &[Submission],
        "500 (default) to 599",
        "accepts and charges the submission, then responds with this status code",
    ),
    known("html-502", REQUESTS, "", "responds with 502 and a proxy's HTML page; nothing is done"),
    known(
        "rate-limited",
        REQUESTS,
        "seconds to wait; 1",
        "responds with 429 and `Retry-After`; nothing is done",
    ),
    known(
        "reset",
        REQUESTS,
        "`before` (default) or `after`, for a submission only",
        concat!(
            "resets the connection: before or after a submission is accepted, ",
            "instead of the response to a poll, or in the middle of a delivery",
        ),
    ),
    known(
        "reply-lost",
        &[Submission],
        "",
        "accepts and charges the submission, then closes the connection without a response",
    ),
    known(
        "foreign-polling-host",
        &[Submission],
        "host, optionally with a port; 127.0.0.2:9",
        "accepts the submission, but `polling_url` has this host, which is not the simulator",
    ),
    known(
        "slow-headers",
        REQUESTS,
        "seconds; 5",
        "processes the request at once, but responds after this time",
    ),
    known(
        "slow-body",
        REQUESTS,
        "seconds; 5",
        "sends the response headers at once, and the body after this time",
    ),
    known("unknown-status", &[Poll], "", "the poll response has a status that no client knows"),
    known(
        "spurious-not-found",
        &[Poll],
        "",
        "the poll response is `Task not found` although the task exists",
    ),
    known(
        "truncated",
        &[Delivery],
        "",
        "sends half of the announced bytes, then closes the connection",
    ),
    known("empty", &[Delivery], "", "sends an empty body with the announced media type"),
    known("html", &[Delivery], "", "sends an HTML page with status code 200"),
    known(
        "wrong-kind",
        &[Delivery],
        "`picture` (default) or `text`",
        "sends a picture of another format, or text, with the announced media type",
    ),
    known(
        "early-expiry",
        &[Delivery],
        "",
        "responds that the delivery URL has expired although it is still valid",
    ),
    known("webhook-duplicate", &[Webhook], "", "sends the webhook twice"),
    known("webhook-late", &[Webhook], "seconds; 60", "sends the webhook after this time"),
    known("webhook-out-of-order", &[Webhook], "", "sends the webhook after that of a later task"),
    known(
        "webhook-forged",
        &[Webhook],
        "",
        "also sends a forged webhook with an invalid signature",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_all_faults() {
        let documentation = include_str!("mod.rs");
        for KnownFault { name, places, value, effect } in &KNOWN {
            let places: Vec<_> = places.iter().map(FaultPlace::to_string).collect();
            let row = format!("/// | `{name}` | {} | {value} | {effect} |\n", places.join(", "));
            assert!(documentation.contains(&row), "{row}");
        }
    }
}
