//! The deliveries that are kept: those that wait, by when they are due, and those that ended, until
//! there are too many.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};

use super::receiver::{Origin, Receiver};
use super::settings::WebhookSettings;
use super::signing::Seal;
use super::view::{WebhookAttempt, WebhookCause, WebhookDelivery, WebhookState};

/// What a delivery takes beside its texts, about.
const OVERHEAD: usize = 1 << 10;

/// What is sent, in however many deliveries.
pub(super) struct Letter {
    pub(super) task: String,
    pub(super) final_at: Duration,
    /// The address as it may be shown.
    pub(super) url: String,
    /// Where it goes and how it is signed, or why it is refused.
    pub(super) sendable: Result<(Receiver, Seal), &'static str>,
    pub(super) webhook_id: String,
    pub(super) body: Bytes,
}

impl Letter {
    fn origin(&self) -> Option<&Origin> {
        self.sendable.as_ref().ok().map(|(receiver, _)| &receiver.origin)
    }

    fn size(&self) -> usize {
        OVERHEAD + self.url.len() + self.body.len()
    }
}

pub(super) struct Delivery {
    pub(super) letter: Arc<Letter>,
    pub(super) cause: WebhookCause,
    state: WebhookState,
    due_at: Duration,
    /// Not to be sent before this moment, though it is due later: it is held back for a later
    /// task's webhook.
    held_from: Option<Duration>,
    attempts: Vec<WebhookAttempt>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Delivery {
    pub(super) fn new(letter: Arc<Letter>, cause: WebhookCause, due_at: Duration) -> Self {
        Self {
            state: match letter.sendable {
                Ok(_) => WebhookState::Waiting,
                Err(_) => WebhookState::Refused,
            },
            letter,
            cause,
            due_at,
            held_from: None,
            attempts: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// The same, but held back until a later task's webhook has gone out, for so long at most.
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
            task: self.letter.task.clone(),
            url: self.letter.url.clone(),
            webhook_id: self.letter.webhook_id.clone(),
            cause: self.cause,
            state: self.state,
            refusal: self.letter.sendable.as_ref().err().copied(),
            due_at: self.due_at,
            body: String::from_utf8_lossy(&self.letter.body).into_owned(),
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), shown(value)))
                .collect(),
            attempts: self.attempts.clone(),
        }
    }
}

/// What became of an attempt.
pub(super) struct Ended {
    pub(super) state: WebhookState,
    /// Counted from one.
    pub(super) attempt: usize,
    pub(super) letter: Arc<Letter>,
}

#[derive(Default)]
pub(super) struct Ledger {
    /// By their numbers, which count from one.
    deliveries: BTreeMap<u64, Delivery>,
    last: u64,
    /// Those that wait and are not under way.
    queue: BTreeSet<(Duration, u64)>,
    held: BTreeSet<u64>,
    /// The numbers of those that ended, the first to end first.
    ended: VecDeque<u64>,
    bytes: usize,
}

impl Ledger {
    /// Takes a delivery in, and gives it a number, unless the ledger is full of deliveries that
    /// wait.
    pub(super) fn insert(&mut self, settings: &WebhookSettings, delivery: Delivery) -> Option<u64> {
        let size = delivery.letter.size();
        while self.deliveries.len() >= settings.max_kept
            || self.bytes.saturating_add(size) > settings.max_kept_bytes
        {
            let forgotten = self.deliveries.remove(&self.ended.pop_front()?)?;
            self.bytes = self.bytes.saturating_sub(forgotten.letter.size());
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

    pub(super) fn letter(&self, number: u64) -> Option<&Arc<Letter>> {
        self.deliveries.get(&number).map(|delivery| &delivery.letter)
    }

    pub(super) fn cause(&self, number: u64) -> Option<WebhookCause> {
        self.deliveries.get(&number).map(|delivery| delivery.cause)
    }

    /// When the next delivery is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.queue.first().map(|(due_at, _)| *due_at)
    }

    /// The first delivery that is due, taken out of the queue, and where it goes.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<(u64, Origin)> {
        let (due_at, number) = self.queue.pop_first()?;
        if due_at > now {
            self.queue.insert((due_at, number));
            return None;
        }
        self.held.remove(&number);
        self.deliveries.get(&number)?.letter.origin().cloned().map(|origin| (number, origin))
    }

    /// An attempt begins now, with these headers.
    pub(super) fn attempt(
        &mut self,
        number: u64,
        now: Duration,
        headers: Vec<(HeaderName, HeaderValue)>,
    ) {
        if let Some(delivery) = self.deliveries.get_mut(&number) {
            delivery.due_at = now;
            delivery.headers = headers;
            delivery.attempts.push(WebhookAttempt { at: now, status: None, problem: None });
        }
    }

    /// The last attempt has ended: with the receiver's status, or without.
    pub(super) fn attempted(
        &mut self,
        number: u64,
        answer: Result<u16, String>,
        retry_after: &[Duration],
        now: Duration,
    ) -> Option<Ended> {
        let delivery = self.deliveries.get_mut(&number)?;
        let attempt = delivery.attempts.len();
        let pause = match delivery.cause {
            // Who forges does not care.
            WebhookCause::Forgery => None,
            _ => attempt.checked_sub(1).and_then(|failed| retry_after.get(failed)),
        };
        delivery.state = match (&answer, pause) {
            (Ok(200..=299), _) => WebhookState::Delivered,
            (_, None) => WebhookState::GivenUp,
            (_, Some(pause)) => {
                delivery.due_at = now.saturating_add(*pause);
                self.queue.insert((delivery.due_at, number));
                WebhookState::Waiting
            }
        };
        if let Some(last) = delivery.attempts.last_mut() {
            match answer {
                Ok(status) => last.status = Some(status),
                Err(problem) => last.problem = Some(problem),
            }
        }
        let ended = Ended { state: delivery.state, attempt, letter: Arc::clone(&delivery.letter) };
        if ended.state != WebhookState::Waiting {
            self.ended.push_back(number);
        }
        if delivery.cause != WebhookCause::Forgery {
            self.let_go(&ended.letter, number, now);
        }
        Some(ended)
    }

    /// Lets go of what was held back for this letter: to the same receiver, of tasks that were
    /// final before.
    fn let_go(&mut self, gone_out: &Letter, number: u64, now: Duration) {
        let Self { deliveries, held, queue, .. } = self;
        held.retain(|waiting| {
            let Some(delivery) = deliveries.get_mut(waiting) else { return false };
            let earlier = (delivery.letter.final_at, *waiting) < (gone_out.final_at, number);
            if !earlier || delivery.letter.origin() != gone_out.origin() {
                return true;
            }
            queue.remove(&(delivery.due_at, *waiting));
            delivery.due_at = now.max(delivery.held_from.unwrap_or_default());
            queue.insert((delivery.due_at, *waiting));
            false
        });
    }

    /// In the order of their numbers.
    pub(super) fn views(&self) -> Vec<WebhookDelivery> {
        self.deliveries.iter().map(|(number, delivery)| delivery.view(*number)).collect()
    }
}
