//! Webhooks: when a task ends, the simulator sends the result to the URL in the task's request.

mod interface;
mod log;
mod sender;

use std::time::Duration;

use axum::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{debug, info, warn};
use url::Url;

pub use self::interface::{
    WebhookAttempt, WebhookCause, WebhookDelivery, WebhookScheme, WebhookSettings, WebhookState,
};
pub(crate) use self::sender::run;
use self::{
    log::{Delivery, DeliveryLog},
    sender::Headers,
};
use crate::{
    http::outgoing::Client,
    runtime::{
        Lock,
        chance::{Chance, hex},
        clock::Clock,
    },
    values::secret::Secret,
};

/// The maximum time for which a webhook waits for the webhook of a later task, on the simulator's
/// clock.
const HELD_AT_MOST: Duration = Duration::from_secs(30);

/// A webhook that the simulator will send when its task ends.
pub(crate) struct Webhook {
    pub(crate) task: String,
    /// The `webhook_url` of the request.
    pub(crate) url: String,
    /// The `webhook_secret` of the request. An empty secret counts as none.
    pub(crate) secret: Option<Secret<String>>,
    pub(crate) final_at: Duration,
    /// The result that a poll returns at `final_at`.
    pub(crate) result: Value,
    pub(crate) faults: Vec<WebhookFault>,
}

/// A fault of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookFault {
    /// Send the webhook twice, with the same id and body.
    Duplicate,
    /// Send the webhook this much later than its task ends.
    Late(Duration),
    /// Hold the webhook back until the webhook of a task that ended later has been sent to the same
    /// receiver, for at most half a minute.
    OutOfOrder,
    /// At the same time, also send one forged webhook with the same id. It claims another status,
    /// and is signed with another secret. If the request has no secret, the receiver can detect the
    /// forgery only by polling the task.
    Forged,
}

/// Returns a webhook's URL without the parts that may be secret: user information, query and
/// fragment.
pub(crate) fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "[unreadable]".to_owned() };
    url.set_query(None);
    url.set_fragment(None);
    // These calls fail only for URLs without a host, which cannot contain user information either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// All webhooks of a simulator, pending and finished.
pub(crate) struct Webhooks {
    settings: WebhookSettings,
    clock: Clock,
    chance: Chance,
    client: Client,
    log: Lock<DeliveryLog>,
    /// Notifies its receivers of every change of the log.
    changes: watch::Sender<()>,
}

impl Webhooks {
    /// `own_ports` are the ports at which the simulator itself listens, to which it sends no
    /// webhooks.
    pub(crate) fn new(
        settings: WebhookSettings,
        clock: Clock,
        chance: Chance,
        own_ports: Vec<u16>,
    ) -> Self {
        let refusal = "the host is not on this machine, and `webhooks.allow_remote` is not set";
        let only_loopback = (!settings.allow_remote).then_some(refusal);
        Self {
            settings,
            clock,
            chance,
            client: Client::new(only_loopback, own_ports),
            log: Lock::default(),
            changes: watch::Sender::new(()),
        }
    }

    /// Queues a webhook until its task ends. If the receiver is not allowed, the delivery is only
    /// recorded as refused.
    pub(crate) fn enqueue(&self, webhook: &Webhook) {
        let Webhook { task, url, faults, .. } = webhook;
        let causes = [
            faults.contains(&WebhookFault::Forged).then_some(WebhookCause::Forgery),
            Some(WebhookCause::Final),
            faults.contains(&WebhookFault::Duplicate).then_some(WebhookCause::Duplicate),
        ];
        self.change(|log| {
            for cause in causes.into_iter().flatten() {
                let delivery = self.delivery(webhook, cause);
                if let (Some(refusal), WebhookCause::Final) = (delivery.shown.refusal, cause) {
                    info!(task, url = shown(url), refusal, "webhook refused");
                }
                if log.insert(&self.settings, delivery).is_none() {
                    warn!(task, "webhook not sent: the log is full of pending deliveries");
                }
            }
        });
    }

    /// Moves the webhooks of a task to an earlier time, because the task ends at `final_at` instead
    /// of later, with this result.
    pub(crate) fn bring_forward(&self, task: &str, final_at: Duration, result: &Value) {
        self.change(|log| log.bring_forward(task, final_at, |cause| body(cause, result)));
    }

    fn delivery(&self, webhook: &Webhook, cause: WebhookCause) -> Delivery {
        let Webhook { task, url, secret, final_at, result, faults } = webhook;
        let is_forged = cause == WebhookCause::Forgery;
        let secret = secret.clone().map(|secret| {
            let forged = || format!("forged-{}", hex(&self.chance.bytes("forged secret", 0)));
            if is_forged { forged().into() } else { secret }
        });
        let parsed = Url::parse(url).map_err(|_| "could not parse the URL");
        let receiver = parsed.and_then(|url| {
            self.client.check(&url)?;
            sender::headers(&self.settings, secret.as_ref(), "", 0, &[])?;
            Ok((url, secret))
        });
        let drawn = self.chance.bytes(&format!("webhook id of {task}"), 0);
        let late = faults.iter().find_map(|fault| match fault {
            WebhookFault::Late(time) => Some(*time),
            _ => None,
        });
        let due_at = final_at.saturating_add(late.unwrap_or_default());
        let is_held = faults.contains(&WebhookFault::OutOfOrder) && !is_forged;
        let held_from = is_held.then_some(due_at);
        Delivery {
            shown: WebhookDelivery {
                id: 0,
                task: task.clone(),
                url: shown(url),
                webhook_id: format!("msg_{}", hex(&drawn)),
                cause,
                state: WebhookState::Waiting,
                refusal: receiver.as_ref().err().copied(),
                due_at: held_from.map_or(due_at, |due_at| due_at.saturating_add(HELD_AT_MOST)),
                body: body(cause, result).into(),
                headers: Vec::new(),
                attempts: Vec::new(),
            },
            receiver: receiver.ok(),
            final_at: *final_at,
            held_from,
        }
    }

    /// Sends the webhook of a delivery again, at once, with the same id and body. Returns the new
    /// delivery. Returns `None` if the log does not have the delivery, or has no room for another
    /// one.
    pub(crate) fn redeliver(&self, number: u64) -> Option<WebhookDelivery> {
        self.change(|log| {
            let mut again = log.get_mut(number)?.clone();
            again.held_from = None;
            again.shown = WebhookDelivery {
                cause: match again.shown.cause {
                    WebhookCause::Forgery => WebhookCause::Forgery,
                    _ => WebhookCause::Redelivery,
                },
                due_at: self.clock.now(),
                headers: Vec::new(),
                attempts: Vec::new(),
                ..again.shown
            };
            let number = log.insert(&self.settings, again)?;
            Some(log.get_mut(number)?.shown.clone())
        })
    }

    /// Removes the deliveries of the tasks for which `keep` returns false. An attempt in progress
    /// continues, but its outcome is not recorded.
    pub(crate) fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.change(|log| log.retain(keep));
    }

    /// Returns a channel that is notified whenever deliveries change.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Counts the kept deliveries in each state.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 4] {
        let log = self.log.lock();
        let count = |state| log.views().filter(|delivery| delivery.state == state).count() as u64;
        [
            ("waiting", count(WebhookState::Waiting)),
            ("delivered", count(WebhookState::Delivered)),
            ("given-up", count(WebhookState::GivenUp)),
            ("refused", count(WebhookState::Refused)),
        ]
    }

    /// The kept deliveries in the order of their numbers.
    pub(crate) fn views(&self) -> Vec<WebhookDelivery> {
        self.log.lock().views().cloned().collect()
    }

    /// The kept deliveries of a task, in the order of their numbers.
    pub(crate) fn views_of(&self, task: &str) -> Vec<WebhookDelivery> {
        self.log.lock().views().filter(|delivery| delivery.task == task).cloned().collect()
    }

    /// Waits until `holds` returns true for the kept deliveries, and returns them.
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
            // An error is impossible, because the sender lives as long as `self`.
            drop(changes.changed().await);
        }
    }

    /// Records that an attempt begins, and returns what to send.
    fn begin(&self, number: u64) -> Option<(Url, Headers, Bytes)> {
        self.change(|log| {
            let now = self.clock.now();
            log.get_mut(number)?.attempt(&self.settings, now, self.clock.unix_at(now).as_secs())
        })
    }

    /// Records how an attempt ended.
    fn end(&self, number: u64, response: Result<u16, String>) {
        let outcome = match &response {
            Ok(status) => status.to_string(),
            Err(problem) => problem.clone(),
        };
        let (pauses, now) = (&self.settings.retry_after, self.clock.now());
        let ended = self.change(|log| log.attempted(number, response, pauses, now));
        let Some(WebhookDelivery { task, url, state, attempts, .. }) = ended else { return };
        let attempt = attempts.len();
        match state {
            WebhookState::Delivered => {
                info!(task, url, delivery = number, attempt, outcome, "webhook delivered")
            }
            WebhookState::Waiting => {
                debug!(task, url, delivery = number, attempt, outcome, "webhook not delivered yet")
            }
            WebhookState::GivenUp | WebhookState::Refused => {
                warn!(task, url, delivery = number, attempt, outcome, "webhook failed");
            }
        }
    }

    /// Changes the log, and notifies those who wait for changes.
    fn change<T>(&self, change: impl FnOnce(&mut DeliveryLog) -> T) -> T {
        let changed = change(&mut self.log.lock());
        self.changes.send_replace(());
        changed
    }
}

/// The body of a webhook, which is the result of its task. A forged one claims another status.
fn body(cause: WebhookCause, result: &Value) -> String {
    let (id, sample) = (&result["id"], "https://forged.invalid/sample.png");
    match cause {
        WebhookCause::Forgery if result["status"] == "Ready" => {
            json!({ "id": id, "status": "Error" }).to_string()
        }
        WebhookCause::Forgery => {
            json!({ "id": id, "status": "Ready", "result": { "sample": sample } }).to_string()
        }
        _ => result.to_string(),
    }
}
