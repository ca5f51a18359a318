//! Faults on demand: what goes wrong, where, and how often.
//!
//! All are asked for in one grammar, `name[@place][=value][:often]`: by words in double brackets in the texts of a
//! submission, by the header `x-simulator-fault`, or by rules. A fault strikes only what would be served otherwise: a
//! request that is refused is refused first, and no fault is spent on it.

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
use ask::{Ask, Asker};
use repeats::Repeats;

pub use ask::FaultError;
pub(crate) use asks::Asks;
pub(crate) use body::CutShort;
pub use fault::{FaultPlace, KnownFault};
pub(crate) use strike::{Strike, Twist};

/// A handle to the faults of a simulator: which there are, and by which rules they strike. Clones share the same rules.
///
/// A rule is written `name[@place][=value][:often]`, as in `html-502@poll:0.1`:
///
/// - `name` is one of [`known`](Faults::known);
/// - `place` is `submission`, `poll`, `delivery` or `webhook`; without it a rule strikes wherever the fault may;
/// - `value` is what the fault takes, such as the seconds of `slow-body`;
/// - `often` is `once`, so many times as in `3x`, `always`, or with a probability as in `0.25`, which is drawn under
///   [`Config::seed`](crate::Config::seed). Without it a rule strikes always.
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
    /// How often it will strike yet; `None` where it is always, or by chance. A rule that is used up stays listed.
    pub left: Option<u64>,
}

impl Faults {
    /// With the rules of the configuration.
    pub(crate) fn with_rules(chance: Chance, rules: &[String]) -> Result<Self, StartError> {
        let faults = Self::new(chance);
        for text in rules {
            faults
                .add(text)
                .map_err(|error| StartError::setting("faults", format!("has a wrong rule: {error}")))?;
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

    /// What strikes a poll or a delivery that asks for `asks` itself, where its task, if there is one, carries others.
    pub(crate) fn strike(&self, place: FaultPlace, asks: &mut Asks, task: Option<&mut Asks>) -> Strike {
        let carried = task.into_iter().flat_map(|task| task.list.iter_mut());
        self.inner().strike(place, asks.list.iter_mut().chain(carried))
    }

    /// How the notification of a task is twisted.
    pub(crate) fn twist(&self, task: &mut Asks) -> Twist {
        self.inner().strike(FaultPlace::Webhook, task.list.iter_mut()).twist()
    }
}

impl Inner {
    /// What was asked for by the request itself comes before the rules; of faults that exclude each other the first
    /// that is due strikes, and the others are not spent.
    fn strike<'a>(&'a mut self, place: FaultPlace, own: impl Iterator<Item = &'a mut Ask>) -> Strike {
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
        let words = "[[webhook-duplicate]] [[webhook-late=90:2x]] [[webhook-forged]] [[html-502@poll]]";
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
