//! Webhooks: at its final status a task is told to the address that its request named.

mod ledger;
mod post;
mod pump;
mod receiver;
mod settings;
mod signing;
#[cfg(test)]
mod twists;
mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{debug, info, warn};
use url::Url;

use ledger::{Delivery, Ledger, Letter};
use post::Post;
pub(crate) use post::USER_AGENT;
pub(crate) use pump::run;
use receiver::Receiver;
pub use settings::{WebhookScheme, WebhookSettings};
use signing::Seal;
pub use view::{WebhookAttempt, WebhookCause, WebhookDelivery, WebhookState};

use crate::chance::{Chance, hex};
use crate::clock::Clock;

#[cfg(test)]
#[path = "../../tests/http/webhook_receiver.rs"]
#[allow(dead_code, reason = "the tests over HTTP use the rest")]
mod receiver_for_tests;

/// How long a webhook is held back at most for a later task's to go out, by the simulator's clock.
const HELD_AT_MOST: Duration = Duration::from_secs(30);

/// A webhook to be sent once its task is final.
pub(crate) struct Webhook {
    pub(crate) task: String,
    /// `webhook_url` as the request gave it.
    pub(crate) url: String,
    /// `webhook_secret`; an empty one is none.
    pub(crate) secret: Option<String>,
    pub(crate) final_at: Duration,
    /// The poll result at `final_at`.
    pub(crate) result: Value,
    pub(crate) twist: Twist,
}

/// What goes wrong with a webhook on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Twist {
    /// It is sent twice, with the same id and body.
    pub(crate) duplicate: bool,
    /// It is sent so much later than its task became final.
    pub(crate) late: Duration,
    /// It is held back until the webhook of a task that became final later has gone out to the same
    /// receiver, for half a minute at most.
    pub(crate) out_of_order: bool,
    /// Beside the true one another goes out at the same moment, once, with the same id, that claims
    /// another status and is signed with another secret. Where the request gave no secret, only a
    /// poll can tell.
    pub(crate) forged: bool,
}

/// A webhook's address as it may be shown: without user information, query and fragment.
pub(crate) fn shown(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "[unreadable]".to_owned(), |url| receiver::shown(&url))
}

/// The webhooks of a simulator, on their way and gone out.
pub(crate) struct Webhooks {
    settings: WebhookSettings,
    clock: Clock,
    chance: Chance,
    ledger: Mutex<Ledger>,
    /// Told of every change of the ledger.
    changes: watch::Sender<()>,
}

impl Webhooks {
    pub(crate) fn new(settings: WebhookSettings, clock: Clock, chance: Chance) -> Self {
        Self { settings, clock, chance, ledger: Mutex::default(), changes: watch::Sender::new(()) }
    }

    /// Takes a webhook to be sent when its task is final. A receiver that is refused is noted in
    /// the ledger.
    pub(crate) fn enqueue(&self, webhook: Webhook) {
        let Webhook { task, url, secret, final_at, result, twist } = webhook;
        let seal = Seal::new(self.settings.scheme, secret.as_deref());
        let letter = Arc::new(self.letter(&task, &url, seal, final_at, &result));
        if let Err(refusal) = letter.sendable {
            info!(task, url = letter.url, refusal, "webhook refused");
        }
        let due_at = final_at.saturating_add(twist.late);
        let delivery = |cause| {
            let delivery = Delivery::new(Arc::clone(&letter), cause, due_at);
            if twist.out_of_order { delivery.held(HELD_AT_MOST) } else { delivery }
        };
        let mut deliveries = Vec::new();
        if twist.forged {
            let other =
                secret.map(|_| format!("forged-{}", hex(&self.chance.bytes("forged secret", 0))));
            let seal = Seal::new(self.settings.scheme, other.as_deref());
            let letter = self.letter(&task, &url, seal, final_at, &another(&result));
            deliveries.push(Delivery::new(Arc::new(letter), WebhookCause::Forgery, due_at));
        }
        deliveries.push(delivery(WebhookCause::Final));
        if twist.duplicate {
            deliveries.push(delivery(WebhookCause::Duplicate));
        }
        let mut ledger = self.ledger();
        for delivery in deliveries {
            if ledger.insert(&self.settings, delivery).is_none() {
                warn!(task, "webhook not sent: as many as are kept wait already");
            }
        }
        drop(ledger);
        self.changes.send_replace(());
    }

    fn letter(
        &self,
        task: &str,
        url: &str,
        seal: Result<Seal, &'static str>,
        final_at: Duration,
        result: &Value,
    ) -> Letter {
        let parsed = Url::parse(url).ok();
        let receiver = match &parsed {
            Some(url) => Receiver::at(url, self.settings.allow_remote),
            None => Err("the address cannot be read"),
        };
        let drawn = self.chance.bytes(&format!("webhook id of {task}"), 0);
        Letter {
            task: task.to_owned(),
            final_at,
            url: shown(url),
            sendable: receiver.and_then(|receiver| Ok((receiver, seal?))),
            webhook_id: format!("msg_{}", hex(&drawn)),
            body: result.to_string().into(),
        }
    }

    /// Sends the webhook of a delivery again, now: the same id, the same body. Gives the number of
    /// the new delivery, unless there is no such delivery or no room.
    pub(crate) fn redeliver(&self, number: u64) -> Option<u64> {
        let mut ledger = self.ledger();
        let letter = Arc::clone(ledger.letter(number)?);
        let cause = match ledger.cause(number)? {
            WebhookCause::Forgery => WebhookCause::Forgery,
            _ => WebhookCause::Redelivery,
        };
        let again = ledger.insert(&self.settings, Delivery::new(letter, cause, self.clock.now()));
        drop(ledger);
        self.changes.send_replace(());
        again
    }

    /// Told of every change of the deliveries.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// The deliveries that are kept, in the order of their numbers.
    pub(crate) fn views(&self) -> Vec<WebhookDelivery> {
        self.ledger().views()
    }

    /// Waits until the deliveries are as asked.
    pub(crate) async fn views_when(
        &self,
        mut holds: impl FnMut(&[WebhookDelivery]) -> bool,
    ) -> Vec<WebhookDelivery> {
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let views = self.views();
            if holds(&views) {
                return views;
            }
            // The sender lives as long as `self`, so that this is a change.
            drop(changes.changed().await);
        }
    }

    /// Notes that an attempt begins, and says what is to be sent.
    fn begin(&self, number: u64) -> Option<Post> {
        let mut ledger = self.ledger();
        let letter = Arc::clone(ledger.letter(number)?);
        let (receiver, seal) = letter.sendable.as_ref().ok()?;
        let now = self.clock.now();
        let timestamp = self.clock.unix_at(now).as_secs();
        let headers = seal.headers(&self.settings, &letter.webhook_id, timestamp, &letter.body);
        ledger.attempt(number, now, headers.clone());
        drop(ledger);
        self.changes.send_replace(());
        Some(Post {
            receiver: receiver.clone(),
            headers,
            body: letter.body.clone(),
            timeout: self.settings.timeout,
        })
    }

    /// Notes how an attempt ended.
    fn end(&self, number: u64, answer: Result<u16, String>) {
        let said = match &answer {
            Ok(status) => status.to_string(),
            Err(problem) => problem.clone(),
        };
        let ended =
            self.ledger().attempted(number, answer, &self.settings.retry_after, self.clock.now());
        self.changes.send_replace(());
        let Some(ended) = ended else { return };
        let (letter, attempt) = (&ended.letter, ended.attempt);
        let (task, url) = (&letter.task, &letter.url);
        match ended.state {
            WebhookState::Delivered => {
                info!(task, url, delivery = number, attempt, said, "webhook delivered")
            }
            WebhookState::Waiting => {
                debug!(task, url, delivery = number, attempt, said, "webhook not delivered yet")
            }
            WebhookState::GivenUp | WebhookState::Refused => {
                warn!(task, url, delivery = number, attempt, said, "webhook given up");
            }
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same result with another status.
fn another(result: &Value) -> Value {
    let id = &result["id"];
    if result["status"] == "Ready" {
        json!({ "id": id, "status": "Error" })
    } else {
        json!({ "id": id, "status": "Ready", "result": { "sample": "https://forged.invalid/sample.png" } })
    }
}
