//! The kept deliveries: the pending ones, ordered by when they are due, and the finished ones, of
//! which the oldest are dropped.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use axum::{body::Bytes, http::HeaderValue};
use url::Origin;

use super::{
    settings::WebhookSettings,
    signing::{Headers, SigningKey},
    view::{WebhookAttempt, WebhookCause, WebhookDelivery, WebhookState},
};
use crate::http::outgoing::Target;

/// The approximate size of a delivery without its texts.
const OVERHEAD: usize = 1 << 10;

/// The content of one or more deliveries.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) task: String,
    pub(super) final_at: Duration,
    /// The URL without its secret parts.
    pub(super) url: String,
    /// Where to send it and how to sign it, or why it is refused.
    pub(super) sendable: Result<(Target, SigningKey), &'static str>,
    pub(super) webhook_id: String,
    pub(super) body: Bytes,
}

impl Message {
    /// The scheme, host and port of the receiver.
    fn origin(&self) -> Option<Origin> {
        self.sendable.as_ref().ok().map(|(receiver, _)| receiver.url.origin())
    }

    fn size(&self) -> usize {
        OVERHEAD + self.url.len() + self.body.len()
    }
}

pub(super) struct Delivery {
    pub(super) message: Arc<Message>,
    pub(super) cause: WebhookCause,
    state: WebhookState,
    due_at: Duration,
    /// Held back for a later task's webhook: not sent before this moment, but due later.
    held_from: Option<Duration>,
    attempts: Vec<WebhookAttempt>,
    headers: Headers,
}

impl Delivery {
    pub(super) fn new(message: Arc<Message>, cause: WebhookCause, due_at: Duration) -> Self {
        Self {
            state: match message.sendable {
                Ok(_) => WebhookState::Waiting,
                Err(_) => WebhookState::Refused,
            },
            message,
            cause,
            due_at,
            held_from: None,
            attempts: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Holds the delivery back until a later task's webhook has been sent, or for at most
    /// `at_most`.
    pub(super) fn held(mut self, at_most: Duration) -> Self {
        self.held_from = Some(self.due_at);
        self.due_at = self.due_at.saturating_add(at_most);
        self
    }

    fn view(&self, id: u64) -> WebhookDelivery {
        let shown = |value: &HeaderValue| match value.to_str() {
            Ok(text) if !value.is_sensitive() => text.to_owned(),
            _ => "[redacted]".to_owned(),
        };
        WebhookDelivery {
            id,
            task: self.message.task.clone(),
            url: self.message.url.clone(),
            webhook_id: self.message.webhook_id.clone(),
            cause: self.cause,
            state: self.state,
            refusal: self.message.sendable.as_ref().err().copied(),
            due_at: self.due_at,
            body: String::from_utf8_lossy(&self.message.body).into_owned().into(),
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), shown(value)))
                .collect(),
            attempts: self.attempts.clone(),
        }
    }
}

/// The outcome of an attempt.
pub(super) struct Ended {
    pub(super) state: WebhookState,
    /// Counted from 1.
    pub(super) attempt: usize,
    pub(super) message: Arc<Message>,
}

#[derive(Default)]
pub(super) struct DeliveryLog {
    /// By number, counted from 1.
    deliveries: BTreeMap<u64, Delivery>,
    last: u64,
    /// The pending deliveries that are not in progress.
    queue: BTreeSet<(Duration, u64)>,
    held: BTreeSet<u64>,
    /// The finished deliveries in the order in which they ended.
    ended: VecDeque<u64>,
    bytes: usize,
}

impl DeliveryLog {
    /// Adds a delivery and returns its number. Fails if the log is full of pending deliveries.
    pub(super) fn insert(&mut self, settings: &WebhookSettings, delivery: Delivery) -> Option<u64> {
        let size = delivery.message.size();
        while self.deliveries.len() >= settings.max_kept
            || self.bytes.saturating_add(size) > settings.max_kept_bytes
        {
            let forgotten = self.deliveries.remove(&self.ended.pop_front()?)?;
            self.bytes = self.bytes.saturating_sub(forgotten.message.size());
        }
        self.bytes = self.bytes.saturating_add(size);
        self.last += 1;
        let number = self.last;
        if delivery.state == WebhookState::Waiting {
            self.queue.insert((delivery.due_at, number));
            if delivery.held_from.is_some() {
                self.held.insert(number);
            }
        } else {
            self.ended.push_back(number);
        }
        self.deliveries.insert(number, delivery);
        Some(number)
    }

    /// Removes the deliveries of the tasks for which `keep` returns false. Their numbers are not
    /// used again.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.deliveries.retain(|_, delivery| keep(&delivery.message.task));
        let kept = &self.deliveries;
        self.queue.retain(|(_, number)| kept.contains_key(number));
        self.held.retain(|number| kept.contains_key(number));
        self.ended.retain(|number| kept.contains_key(number));
        self.bytes = kept.values().map(|delivery| delivery.message.size()).sum();
    }

    /// Makes the webhooks of a task due that ends at `final_at` instead of later, with the bodies
    /// that `body` returns.
    pub(super) fn bring_forward(
        &mut self,
        task: &str,
        final_at: Duration,
        body: impl Fn(WebhookCause) -> Bytes,
    ) {
        let Self { deliveries, queue, .. } = self;
        for (number, delivery) in deliveries.iter_mut() {
            if delivery.message.task != task || !queue.remove(&(delivery.due_at, *number)) {
                continue;
            }
            let message = Message::clone(&delivery.message);
            let step = message.final_at.saturating_sub(final_at);
            delivery.due_at = delivery.due_at.saturating_sub(step);
            delivery.held_from = delivery.held_from.map(|moment| moment.saturating_sub(step));
            let body = body(delivery.cause);
            delivery.message = Arc::new(Message { final_at, body, ..message });
            queue.insert((delivery.due_at, *number));
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<&Delivery> {
        self.deliveries.get(&number)
    }

    /// When the next delivery is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.queue.first().map(|(due_at, _)| *due_at)
    }

    /// Takes the first due delivery out of the queue. Returns when it was due, its number, and the
    /// origin of its receiver.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<((Duration, u64), Origin)> {
        let (due_at, number) = self.queue.pop_first()?;
        if due_at > now {
            self.queue.insert((due_at, number));
            return None;
        }
        self.held.remove(&number);
        let origin = self.deliveries.get(&number)?.message.origin()?;
        Some(((due_at, number), origin))
    }

    /// Records the start of an attempt with these headers.
    pub(super) fn attempt(&mut self, number: u64, now: Duration, headers: Headers) {
        if let Some(delivery) = self.deliveries.get_mut(&number) {
            delivery.due_at = now;
            delivery.headers = headers;
            delivery.attempts.push(WebhookAttempt { at: now, status: None, problem: None });
        }
    }

    /// Records the end of the last attempt: the receiver's status code, or what went wrong.
    pub(super) fn attempted(
        &mut self,
        number: u64,
        response: Result<u16, String>,
        retry_after: &[Duration],
        now: Duration,
    ) -> Option<Ended> {
        let delivery = self.deliveries.get_mut(&number)?;
        let attempt = delivery.attempts.len();
        let pause = match delivery.cause {
            // A forger would not retry.
            WebhookCause::Forgery => None,
            _ => attempt.checked_sub(1).and_then(|failed| retry_after.get(failed)),
        };
        delivery.state = match (&response, pause) {
            (Ok(200..=299), _) => WebhookState::Delivered,
            (_, None) => WebhookState::GivenUp,
            (_, Some(pause)) => {
                delivery.due_at = now.saturating_add(*pause);
                self.queue.insert((delivery.due_at, number));
                WebhookState::Waiting
            }
        };
        if let Some(last) = delivery.attempts.last_mut() {
            match response {
                Ok(status) => last.status = Some(status),
                Err(problem) => last.problem = Some(problem),
            }
        }
        let ended =
            Ended { state: delivery.state, attempt, message: Arc::clone(&delivery.message) };
        if ended.state != WebhookState::Waiting {
            self.ended.push_back(number);
        }
        if delivery.cause != WebhookCause::Forgery {
            self.release(&ended.message, number, now);
        }
        Some(ended)
    }

    /// Releases the deliveries that were held back for this message: to the same receiver, of tasks
    /// that ended earlier.
    fn release(&mut self, gone_out: &Message, number: u64, now: Duration) {
        let Self { deliveries, held, queue, .. } = self;
        let origin = gone_out.origin();
        held.retain(|waiting| {
            let Some(delivery) = deliveries.get_mut(waiting) else { return false };
            let earlier = (delivery.message.final_at, *waiting) < (gone_out.final_at, number);
            if !earlier || delivery.message.origin() != origin {
                return true;
            }
            queue.remove(&(delivery.due_at, *waiting));
            delivery.due_at = now.max(delivery.held_from.unwrap_or_default());
            queue.insert((delivery.due_at, *waiting));
            false
        });
    }

    /// The deliveries of a task, in the order of their numbers.
    pub(super) fn views_of(&self, task: &str) -> Vec<WebhookDelivery> {
        let all = self.deliveries.iter().filter(|(_, delivery)| delivery.message.task == task);
        all.map(|(number, delivery)| delivery.view(*number)).collect()
    }

    /// The number of deliveries in a state.
    pub(super) fn count(&self, state: WebhookState) -> u64 {
        self.deliveries.values().filter(|delivery| delivery.state == state).count() as u64
    }

    /// All deliveries in the order of their numbers.
    pub(super) fn views(&self) -> Vec<WebhookDelivery> {
        self.deliveries.iter().map(|(number, delivery)| delivery.view(*number)).collect()
    }
}
