//! Where faults apply.

use std::fmt;

use serde::{Deserialize, Serialize};

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
