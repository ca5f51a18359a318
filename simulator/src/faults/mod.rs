//! Faults on demand: what goes wrong, where, and how often.
//!
//! All are asked for in one grammar, `name[@place][=value][:often]`: by words in double brackets in
//! the texts of a submission, by the header `x-simulator-fault`, or by rules. A fault strikes only
//! what would be served otherwise: a request that is refused is refused first, and no fault is
//! spent on it; credits and active tasks alone come after.

mod answers;
mod ask;
mod asks;
mod body;
mod fault;
mod repeats;
mod strike;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tracing::{debug, info};

use crate::chance::Chance;
use crate::error::StartError;
use crate::webhooks::Twist;
use ask::{Ask, Asker};
use repeats::Repeats;

pub use ask::FaultError;
pub(crate) use asks::Asks;
pub(crate) use body::CutShort;
pub use fault::{FaultPlace, KnownFault};
pub(crate) use strike::Strike;

/// A handle to the faults of a simulator: which there are, and by which rules they strike. Clones
/// share the same rules.
///
/// A rule is written `name[@place][=value][:often]`, as in `html-502@poll:0.1`:
///
/// - `name` is one of [`known`](Faults::known);
/// - `place` is `submission`, `poll`, `delivery` or `webhook`; without it a rule strikes wherever
///   the fault may;
/// - `value` is what the fault takes, such as the seconds of `slow-body`;
/// - `often` is `once`, so many times as in `3x`, `always`, or with a probability as in `0.25`,
///   which is drawn under [`Config::seed`](crate::Config::seed). Without it a rule strikes always.
///
/// | name | places | value; without it | what happens |
/// |---|---|---|---|
/// | `error-before` | submission, poll, delivery | 500 (default) to 599 | answered with this status, before anything is done |
/// | `error-after` | submission | 500 (default) to 599 | accepted and charged, then answered with this status |
/// | `html-502` | submission, poll, delivery |  | answered with 502 and a proxy's page in HTML; nothing is done |
/// | `rate-limited` | submission, poll, delivery | seconds to wait; 1 | answered with 429 and `Retry-After`; nothing is done |
/// | `reset` | submission, poll, delivery | `before` (default) or `after`, at a submission only | the connection is reset: before or after a submission is accepted, instead of a poll's answer, in the middle of a delivery |
/// | `reply-lost` | submission |  | accepted and charged, then the connection is closed without a reply |
/// | `foreign-polling-host` | submission | host, with a port or without; 127.0.0.2:9 | accepted; `polling_url` names this host, which is not the simulator |
/// | `slow-headers` | submission, poll, delivery | seconds; 5 | done at once; the answer begins after the seconds |
/// | `slow-body` | submission, poll, delivery | seconds; 5 | the head of the answer comes at once, its body after the seconds |
/// | `unknown-status` | poll |  | whatever the task's status, a poll tells one that no client can know |
/// | `spurious-not-found` | poll |  | a poll tells `Task not found`, though the task is there |
/// | `truncated` | delivery |  | half of the announced bytes come, then the connection is closed |
/// | `empty` | delivery |  | nothing comes, under the announced type |
/// | `html` | delivery |  | a page in HTML comes, with status 200 |
/// | `wrong-kind` | delivery | `picture` (default) or `text` | a picture of another kind, or text, comes under the announced type |
/// | `early-expiry` | delivery |  | the address answers that it has expired, within its time |
/// | `webhook-duplicate` | webhook |  | the notification is sent twice |
/// | `webhook-late` | webhook | seconds; 60 | the notification is sent after the seconds |
/// | `webhook-out-of-order` | webhook |  | the notification is sent after that of a later task |
/// | `webhook-forged` | webhook |  | a forged one, signed wrongly, is sent beside the notification |
///
/// # Asking without a rule
///
/// In the same way a submission asks for faults by words in its texts, as in
/// `a fox [[html-502@poll:3x]]`, and every request by the header `x-simulator-fault`, as in
/// `x-simulator-fault: reset, slow-headers@poll=2:always`. Without a place such a fault strikes at
/// the first of its places, and in the header of a poll or a delivery there; without `often`, once.
///
/// Faults of a submission itself count over its repeats: the same body and header with the same key
/// at the same endpoint. So a client that tries again gets through. Those at other places are
/// carried by the task. What asks for no fault is ordinary text in a prompt, and answered with 400
/// in a header.
///
/// # What strikes first
///
/// A request that is refused with 400, 403, 404, 405, 408, 413 or 422 is refused first, and no
/// fault is spent on it. Credits and the number of active tasks are looked at as a submission is
/// accepted: after the faults that come before that. Of the faults that stand in place of the right
/// answer one strikes a request: the first that is due, of the header, then of the words, then of
/// the rules. Slow headers and bodies come in addition.
#[derive(Clone)]
pub struct Faults {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    chance: Chance,
    /// How often chance was asked: the same requests in the same order draw the same.
    draws: u64,
    rules: Vec<Rule>,
    /// How many rules there were, which numbers the next.
    numbered: u64,
    repeats: Repeats,
    struck: BTreeMap<&'static str, u64>,
}

struct Rule {
    id: u64,
    ask: Ask,
}

/// A rule by which a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FaultRule {
    /// Its number, which is never given again.
    pub id: u64,
    /// As it was written.
    pub text: String,
    /// How often it struck.
    pub struck: u64,
    /// How often it will strike yet; `None` where it is always, or by chance. A rule that is used
    /// up stays listed.
    pub left: Option<u64>,
}

impl Faults {
    /// With the rules of the configuration.
    pub(crate) fn with_rules(chance: Chance, rules: &[String]) -> Result<Self, StartError> {
        let faults = Self::new(chance);
        for text in rules {
            faults.add(text).map_err(|error| {
                StartError::setting("faults", format!("has a wrong rule: {error}"))
            })?;
        }
        Ok(faults)
    }

    fn new(chance: Chance) -> Self {
        let inner = Inner {
            chance,
            draws: 0,
            rules: Vec::new(),
            numbered: 0,
            repeats: Repeats::default(),
            struck: BTreeMap::new(),
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every fault that can be asked for.
    pub fn known() -> &'static [KnownFault] {
        &fault::KNOWN
    }

    /// The rules that hold, in the order in which they were added.
    pub fn rules(&self) -> Vec<FaultRule> {
        self.inner().rules.iter().map(Rule::view).collect()
    }

    /// Adds a rule, which holds from now on.
    ///
    /// # Errors
    ///
    /// When the text asks for no fault, or for one where it cannot strike.
    pub fn add(&self, text: &str) -> Result<FaultRule, FaultError> {
        let ask = Ask::parse(text, Asker::Rule)?;
        let mut inner = self.inner();
        inner.numbered += 1;
        let rule = Rule { id: inner.numbered, ask };
        let view = rule.view();
        inner.rules.push(rule);
        info!(rule = view.id, text, "a rule for faults was added");
        Ok(view)
    }

    /// Takes a rule away; whether there was one with this number.
    pub fn remove(&self, id: u64) -> bool {
        let mut inner = self.inner();
        let before = inner.rules.len();
        inner.rules.retain(|rule| rule.id != id);
        inner.rules.len() < before
    }

    /// Takes all rules away.
    pub fn clear(&self) {
        self.inner().rules.clear();
    }

    /// How often each fault struck, by its name.
    pub fn struck(&self) -> BTreeMap<&'static str, u64> {
        self.inner().struck.clone()
    }

    /// What strikes a submission. One that is repeated goes on where the last left off.
    pub(crate) fn strike_submission(&self, asks: &mut Asks) -> Strike {
        let mut inner = self.inner();
        if let Some(repeat) = &asks.repeat {
            inner.repeats.recall(repeat, &mut asks.list);
        }
        let strike = inner.strike(FaultPlace::Submission, asks.list.iter_mut());
        if let Some(repeat) = asks.repeat.take() {
            inner.repeats.keep(repeat, &asks.list);
        }
        // The task carries the others.
        asks.list.retain(|ask| !ask.places.contains(&FaultPlace::Submission));
        strike
    }

    /// What strikes a poll or a delivery that asks for `asks` itself, where its task, if there is
    /// one, carries others.
    pub(crate) fn strike(
        &self,
        place: FaultPlace,
        asks: &mut Asks,
        task: Option<&mut Asks>,
    ) -> Strike {
        let carried = task.into_iter().flat_map(|task| task.list.iter_mut());
        self.inner().strike(place, asks.list.iter_mut().chain(carried))
    }

    /// How the notification of a task is twisted.
    pub(crate) fn twist(&self, task: &mut Asks) -> Twist {
        self.inner().strike(FaultPlace::Webhook, task.list.iter_mut()).twist()
    }
}

impl Inner {
    /// What was asked for by the request itself comes before the rules; of faults that exclude each
    /// other the first that is due strikes, and the others are not spent.
    fn strike<'a>(
        &'a mut self,
        place: FaultPlace,
        own: impl Iterator<Item = &'a mut Ask>,
    ) -> Strike {
        let Self { chance, draws, rules, struck, .. } = self;
        let mut strike = Strike::default();
        for ask in own.chain(rules.iter_mut().map(|rule| &mut rule.ask)) {
            let fits = ask.places.contains(&place) && strike.allows(&ask.fault);
            let draw = || {
                *draws += 1;
                fraction(chance.bytes("fault", *draws))
            };
            if fits && ask.is_due(draw) {
                ask.struck += 1;
                *struck.entry(ask.known).or_default() += 1;
                debug!(fault = ask.text, %place, "struck");
                strike.push(ask.fault.clone());
            }
        }
        strike
    }
}

/// A number from 0 to 1, without 1.
fn fraction(drawn: [u8; 32]) -> f64 {
    let [a, b, c, d, ..] = drawn;
    f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
}

impl Rule {
    fn view(&self) -> FaultRule {
        let Self { id, ask } = self;
        FaultRule { id: *id, text: ask.text.clone(), struck: ask.struck, left: ask.left() }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("rules", &self.rules()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_notification_is_twisted_in_every_way_at_once() {
        let faults = Faults::new(Chance::new(0));
        let words =
            "[[webhook-duplicate]] [[webhook-late=90:2x]] [[webhook-forged]] [[html-502@poll]]";
        let mut task = Asks::in_words(&json!(words));
        faults.add("webhook-out-of-order:once").unwrap();
        let late = Duration::from_secs(90);
        let twist = faults.twist(&mut task);
        assert_eq!(twist, Twist { duplicate: true, late, out_of_order: true, forged: true });
        assert_eq!(faults.twist(&mut task), Twist { late, ..Twist::default() });
        assert_eq!(faults.twist(&mut task), Twist::default());
        assert_eq!(faults.struck()["webhook-late"], 2);
    }
}
