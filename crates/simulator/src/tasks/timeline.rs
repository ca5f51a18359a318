//! Records what happened to a task, for the timeline on the control interface.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::runtime::clock::Shift;

/// The maximum number of different happenings to remember for a task.
const MAX_HAPPENINGS: usize = 24;

/// What clients did with a task. The timeline counts equal happenings instead of repeating them, so
/// a task that is polled for hours takes no more memory than one that is polled twice.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Timeline(pub(crate) Vec<Happening>);

/// One kind of happening: how often it happened, and when for the first and the last time.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Happening {
    pub(crate) kind: HappeningKind,
    /// The status, the name of the fault that replaced the response, or the outcome of a webhook.
    pub(crate) detail: Box<str>,
    pub(crate) count: u64,
    pub(crate) first: Duration,
    pub(crate) last: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HappeningKind {
    Accepted,
    Polled,
    /// A fault replaced the response to a poll.
    PollFailed,
    /// The task got its final status.
    Ended,
    /// The picture was delivered completely.
    Delivered,
    /// A fault replaced the delivery or interrupted it.
    DeliveryFailed,
    WebhookSent,
    WebhookFailed,
}

impl Happening {
    pub(crate) fn once(kind: HappeningKind, at: Duration, detail: &str) -> Self {
        Self { kind, detail: detail.into(), count: 1, first: at, last: at }
    }
}

impl Timeline {
    /// Records a happening. After [`MAX_HAPPENINGS`] different ones, further different ones are
    /// ignored.
    pub(crate) fn record(&mut self, now: Duration, kind: HappeningKind, detail: &str) {
        let Self(happenings) = self;
        let is_equal = |known: &&mut Happening| known.kind == kind && *known.detail == *detail;
        if let Some(known) = happenings.iter_mut().find(is_equal) {
            known.count = known.count.saturating_add(1);
            known.last = now;
        } else if happenings.len() < MAX_HAPPENINGS {
            happenings.push(Happening::once(kind, now, detail));
        }
    }

    /// Shifts the times of all happenings.
    pub(super) fn move_times(&mut self, times: Shift) {
        for Happening { first, last, .. } in &mut self.0 {
            times.apply(first);
            times.apply(last);
        }
    }
}
