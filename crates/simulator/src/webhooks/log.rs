//! The deliveries that the simulator keeps: pending ones, in the order in which they become due,
//! and finished ones, of which the oldest are dropped if there are too many.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use axum::{body::Bytes, http::HeaderValue};
use url::{Origin, Url};

use super::{
    interface::{WebhookAttempt, WebhookCause, WebhookDelivery, WebhookSettings, WebhookState},
    sender::{self, Headers},
};
use crate::values::secret::Secret;

/// The approximate size of a delivery without its texts, in bytes.
const OVERHEAD: usize = 1 << 10;

/// A delivery: the part that clients of the simulator can see, and the rest.
#[derive(Clone)]
pub(super) struct Delivery {
    pub(super) shown: WebhookDelivery,
    /// Where to send the webhook, and the secret of the request. `None` if the receiver is refused.
    pub(super) receiver: Option<(Url, Option<Secret<String>>)>,
    pub(super) final_at: Duration,
    /// Set while the delivery waits for the webhook of a later task: the time at which it would be
    /// due without that fault. `due_at` is then the latest time to send it.
    pub(super) held_from: Option<Duration>,
}

impl Delivery {
    /// The scheme, host and port of the receiver's URL.
    fn origin(&self) -> Option<Origin> {
        self.receiver.as_ref().map(|(url, _)| url.origin())
    }

    /// Records that an attempt begins, and returns what to send: the receiver, the headers and the
    /// body. `timestamp` is the Unix time.
    pub(super) fn attempt(
        &mut self,
        settings: &WebhookSettings,
        now: Duration,
        timestamp: u64,
    ) -> Option<(Url, Headers, Bytes)> {
        let (shown, (url, secret)) = (&mut self.shown, self.receiver.as_ref()?);
        let body = Bytes::from(shown.body.expose().clone());
        let headers =
            sender::headers(settings, secret.as_ref(), &shown.webhook_id, timestamp, &body).ok()?;
        let text = |value: &HeaderValue| match value.to_str() {
            Ok(text) if !value.is_sensitive() => text.to_owned(),
            _ => "[redacted]".to_owned(),
        };
        shown.due_at = now;
        shown.headers =
            headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        shown.attempts.push(WebhookAttempt { at: now, status: None, problem: None });
        Some((url.clone(), headers, body))
    }

    fn size(&self) -> usize {
        OVERHEAD + self.shown.url.len() + self.shown.body.expose().len()
    }
}

#[derive(Default)]
pub(super) struct DeliveryLog {
    /// The deliveries by their numbers, which start at 1.
    deliveries: BTreeMap<u64, Delivery>,
    last: u64,
    /// The pending deliveries of which no attempt is in progress, by the time at which they are
    /// due.
    queue: BTreeSet<(Duration, u64)>,
    held: BTreeSet<u64>,
    /// The finished deliveries, in the order in which they ended.
    ended: VecDeque<u64>,
    bytes: usize,
}

impl DeliveryLog {
    /// Adds a delivery and returns its number. Returns `None` if the log is full of pending
    /// deliveries, which cannot be dropped.
    pub(super) fn insert(
        &mut self,
        settings: &WebhookSettings,
        mut delivery: Delivery,
    ) -> Option<u64> {
        let size = delivery.size();
        while self.deliveries.len() >= settings.max_kept
            || self.bytes.saturating_add(size) > settings.max_kept_bytes
        {
            let forgotten = self.deliveries.remove(&self.ended.pop_front()?)?;
            self.bytes = self.bytes.saturating_sub(forgotten.size());
        }
        self.bytes = self.bytes.saturating_add(size);
        self.last += 1;
        let number = self.last;
        delivery.shown.id = number;
        if delivery.receiver.is_some() {
            delivery.shown.state = WebhookState::Waiting;
            self.queue.insert((delivery.shown.due_at, number));
            if delivery.held_from.is_some() {
                self.held.insert(number);
            }
        } else {
            delivery.shown.state = WebhookState::Refused;
            self.ended.push_back(number);
        }
        self.deliveries.insert(number, delivery);
        Some(number)
    }

    /// Removes the deliveries of the tasks for which `keep` returns false. Their numbers are not
    /// reused.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.deliveries.retain(|_, delivery| keep(&delivery.shown.task));
        let kept = &self.deliveries;
        self.queue.retain(|(_, number)| kept.contains_key(number));
        self.held.retain(|number| kept.contains_key(number));
        self.ended.retain(|number| kept.contains_key(number));
        self.bytes = kept.values().map(Delivery::size).sum();
    }

    /// Moves the webhooks of a task to an earlier time, because the task ends at `final_at` instead
    /// of later. `body` returns the new body of each webhook.
    pub(super) fn bring_forward(
        &mut self,
        task: &str,
        final_at: Duration,
        body: impl Fn(WebhookCause) -> String,
    ) {
        for (number, delivery) in &mut self.deliveries {
            let shown = &mut delivery.shown;
            if shown.task != task || !self.queue.remove(&(shown.due_at, *number)) {
                continue;
            }
            let step = delivery.final_at.saturating_sub(final_at);
            shown.due_at = shown.due_at.saturating_sub(step);
            shown.body = body(shown.cause).into();
            delivery.held_from = delivery.held_from.map(|moment| moment.saturating_sub(step));
            delivery.final_at = final_at;
            self.queue.insert((shown.due_at, *number));
        }
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Delivery> {
        self.deliveries.get_mut(&number)
    }

    /// The time at which the next delivery is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.queue.first().map(|(due_at, _)| *due_at)
    }

    /// Takes the first delivery that is due out of the queue. Returns the time at which it was due,
    /// its number, and the origin of its receiver.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<((Duration, u64), Origin)> {
        let due = *self.queue.first().filter(|(due_at, _)| *due_at <= now)?;
        self.queue.remove(&due);
        self.held.remove(&due.1);
        Some((due, self.deliveries.get(&due.1)?.origin()?))
    }

    /// Records how the last attempt ended: with the status code of the receiver's response, or with
    /// a problem. Returns the delivery.
    pub(super) fn attempted(
        &mut self,
        number: u64,
        response: Result<u16, String>,
        retry_after: &[Duration],
        now: Duration,
    ) -> Option<WebhookDelivery> {
        let delivery = self.deliveries.get_mut(&number)?;
        let shown = &mut delivery.shown;
        let pause = match shown.cause {
            // An attacker who forges a webhook would not retry.
            WebhookCause::Forgery => None,
            _ => shown.attempts.len().checked_sub(1).and_then(|failed| retry_after.get(failed)),
        };
        shown.state = match (&response, pause) {
            (Ok(200..=299), _) => WebhookState::Delivered,
            (_, None) => WebhookState::GivenUp,
            (_, Some(pause)) => {
                shown.due_at = now.saturating_add(*pause);
                self.queue.insert((shown.due_at, number));
                WebhookState::Waiting
            }
        };
        if let Some(last) = shown.attempts.last_mut() {
            match response {
                Ok(status) => last.status = Some(status),
                Err(problem) => last.problem = Some(problem),
            }
        }
        if shown.state != WebhookState::Waiting {
            self.ended.push_back(number);
        }
        let shown = shown.clone();
        if shown.cause != WebhookCause::Forgery {
            let (origin, final_at) = (delivery.origin(), delivery.final_at);
            self.release(&origin, (final_at, number), now);
        }
        Some(shown)
    }

    /// Makes deliveries due that were held back until another one is sent: those of tasks that
    /// ended before the task of the delivery `gone_out`, to the same receiver.
    fn release(&mut self, origin: &Option<Origin>, gone_out: (Duration, u64), now: Duration) {
        let Self { deliveries, held, queue, .. } = self;
        held.retain(|number| {
            let Some(delivery) = deliveries.get_mut(number) else { return false };
            if (delivery.final_at, *number) >= gone_out || delivery.origin() != *origin {
                return true;
            }
            queue.remove(&(delivery.shown.due_at, *number));
            delivery.shown.due_at = now.max(delivery.held_from.unwrap_or_default());
            queue.insert((delivery.shown.due_at, *number));
            false
        });
    }

    /// Yields all deliveries in the order of their numbers.
    pub(super) fn views(&self) -> impl Iterator<Item = &WebhookDelivery> {
        self.deliveries.values().map(|delivery| &delivery.shown)
    }
}
