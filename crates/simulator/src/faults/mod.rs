//! Faults on demand: see [`Faults`].

mod applied;
#[cfg(feature = "__fuzzing")]
pub(crate) mod fuzzing;
mod requested;
mod table;

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de};
use tracing::{debug, info};

pub(crate) use self::{
    applied::{AppliedFaults, cut_short},
    requested::{FaultSource, RequestedFaults},
    table::FalseStatus,
};
pub use self::{
    requested::FaultError,
    table::{FaultPlace, KnownFault},
};
use self::{
    requested::{FaultSpec, Repeats},
    table::Effect,
};
use crate::{
    error::StartError,
    runtime::{Lock, chance::Chance, clock::Clock},
    values::MAX_COUNT,
};

/// A handle to the faults of a simulator: the known faults, and the rules that apply them. All
/// clones of a handle share the rules.
///
/// A rule is written `name[@place][=value][:often]`, as in `html-502@poll:0.1`:
///
/// - `name` is one of [`known`](Faults::known);
/// - `place` is `submission`, `poll`, `delivery` or `webhook`; a rule without it applies at all
///   places where the fault can apply;
/// - `value` is the value of the fault, such as the seconds of `slow-body`;
/// - `often` is `once`, a number of times such as `3x`, `always`, or a probability such as `0.25`,
///   which is drawn from [`Config::seed`](crate::Config::seed). For a rule, the default is
///   `always`.
///
#[doc = include_str!("table.md")]
///
/// A submission can request faults by words in its texts, as in `a fox [[html-502@poll:3x]]`. Every
/// request can request faults in its header `x-simulator-fault`, as in `x-simulator-fault: reset,
/// slow-headers@poll=2:always`. Without a place, such a fault applies at the first of its places,
/// or, if a poll or a request for a delivery URL has the header, to that request. The default of
/// `often` is `once`. If a client repeats a submission with the same body, header, key and
/// endpoint, the faults of the submission itself continue to count, so a client that retries
/// eventually succeeds. The task keeps the other faults of the submission.
///
/// At most one fault replaces the response of a request. It is the first one that is due among
/// those of the header, then of the words, then of the rules. Slow headers and bodies, `idle-close`
/// and `clock-skew` apply in addition. A request that is rejected does not use up faults, with one
/// exception: the simulator checks credits and the number of active tasks only after the faults
/// that respond before a submission is accepted, such as `html-502`.
#[derive(Clone)]
pub struct Faults {
    chance: Chance,
    clock: Clock,
    state: Arc<Lock<FaultState>>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: u64,
    spec: FaultSpec,
}

/// A rule that applies a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FaultRule {
    /// The number of the rule, which is never reused.
    pub id: u64,
    /// The rule as it was written.
    pub text: String,
    /// How often the rule has been applied.
    pub applied: u64,
    /// How often the rule will still apply. `None` for `always` or a probability. A rule that is
    /// used up stays in the list.
    pub left: Option<u64>,
}

impl Rule {
    fn view(&self) -> FaultRule {
        let Self { id, spec } = self;
        FaultRule { id: *id, text: spec.text.clone(), applied: spec.applied, left: spec.left() }
    }
}

/// The rules, and how often each fault has been applied.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultState {
    /// The number of random draws so far. Each draw depends on its number, so the same requests in
    /// the same order get the same draws.
    draws: u64,
    rules: Vec<Rule>,
    /// The number of rules that were ever added, which is the id of the last one.
    rules_made: u64,
    #[serde(skip)]
    repeats: Repeats,
    #[serde(deserialize_with = "by_known_name")]
    applied: BTreeMap<&'static str, u64>,
}

fn by_known_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, u64>, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(deserializer)?.into_iter();
    let known = |(name, count): (String, u64)| Some((KnownFault::named(&name)?.name, count));
    let counts: Option<_> = counts.map(known).collect();
    counts.ok_or_else(|| de::Error::custom("a name is not that of a fault"))
}

impl Faults {
    /// Creates the handle, and adds the rules of the configuration.
    pub(crate) fn with_rules(
        chance: Chance,
        clock: Clock,
        rules: &[String],
    ) -> Result<Self, StartError> {
        let faults = Self { chance, clock, state: Arc::default() };
        for text in rules {
            faults.add(text).map_err(|error| {
                StartError::setting("faults", format!("contains an invalid rule: {error}"))
            })?;
        }
        Ok(faults)
    }

    /// Returns a copy of the rules and counters.
    pub(crate) fn snapshot(&self) -> FaultState {
        self.state.lock().clone()
    }

    /// Replaces the rules and counters by those of a snapshot.
    pub(crate) fn restore(&self, state: FaultState) {
        *self.state.lock() = state;
    }

    /// All faults that can be requested.
    pub fn known() -> &'static [KnownFault] {
        &table::KNOWN
    }

    /// The active rules, in the order in which they were added.
    pub fn rules(&self) -> Vec<FaultRule> {
        self.state.lock().rules.iter().map(Rule::view).collect()
    }

    /// Adds a rule, which applies from now on.
    ///
    /// # Errors
    ///
    /// If the text is not a valid fault, or the fault does not apply at its place.
    pub fn add(&self, text: &str) -> Result<FaultRule, FaultError> {
        let spec = FaultSpec::parse(text, FaultSource::Rule)?;
        let mut state = self.state.lock();
        state.rules_made += 1;
        let rule = Rule { id: state.rules_made, spec };
        let view = rule.view();
        state.rules.push(rule);
        info!(rule = view.id, text, "fault rule added");
        Ok(view)
    }

    /// Removes a rule. Returns whether it existed.
    pub fn remove(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        state.rules.extract_if(.., |rule| rule.id == id).next().is_some()
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.state.lock().rules.clear();
    }

    /// How often each fault has been applied, by name.
    pub fn applied(&self) -> BTreeMap<&'static str, u64> {
        self.state.lock().applied.clone()
    }

    /// Selects the faults of a submission. If the client repeats a submission, the counters of its
    /// faults continue.
    ///
    /// A submission that will be rejected (`can_be_accepted` is false) uses up only the faults that
    /// respond before it would be rejected.
    pub(crate) fn apply_to_submission(
        &self,
        requested: &mut RequestedFaults,
        can_be_accepted: bool,
    ) -> AppliedFaults {
        let mut state = self.state.lock();
        if let Some(repeat) = &requested.repeat {
            state.repeats.recall(repeat, &mut requested.list);
        }
        let own = requested.list.iter_mut();
        let applied = self.select(&mut state, FaultPlace::Submission, own, |fault| {
            can_be_accepted || matches!(fault.effect, Effect::Instead(_) | Effect::Outage(_))
        });
        if let Some(repeat) = requested.repeat.take() {
            state.repeats.keep(repeat, &requested.list);
        }
        // The task keeps the faults that apply later.
        requested.list.retain(|spec| !spec.places.contains(&FaultPlace::Submission));
        applied
    }

    /// Selects the faults of a poll, a delivery or a webhook: those that the request itself asks
    /// for, and those that its task keeps.
    pub(crate) fn apply(
        &self,
        place: FaultPlace,
        requested: &mut RequestedFaults,
        task: Option<&mut RequestedFaults>,
    ) -> AppliedFaults {
        let carried = task.into_iter().flat_map(|task| task.list.iter_mut());
        let all = requested.list.iter_mut().chain(carried);
        self.select(&mut self.state.lock(), place, all, |_| true)
    }

    /// Selects the faults that are due: first those that the request asks for, then those of the
    /// rules. If faults exclude each other, only the first one applies and is used up.
    fn select<'a>(
        &self,
        state: &'a mut FaultState,
        place: FaultPlace,
        own: impl Iterator<Item = &'a mut FaultSpec>,
        may_apply: impl Fn(&FaultSpec) -> bool,
    ) -> AppliedFaults {
        let FaultState { draws, rules, applied: counts, .. } = state;
        let now = self.clock.now();
        let mut applied: Vec<FaultSpec> = Vec::new();
        for spec in own.chain(rules.iter_mut().map(|rule| &mut rule.spec)) {
            let fits = spec.places.contains(&place)
                && !applied.iter().any(|one| one.excludes(spec))
                && may_apply(spec);
            let draw = || {
                *draws += 1;
                self.chance.fraction("fault", *draws)
            };
            if fits && spec.is_due(now, draw) {
                spec.applied += 1;
                *counts.entry(spec.known.name).or_default() += 1;
                debug!(fault = spec.text, %place, "fault applied");
                applied.push(spec.clone());
            }
        }
        AppliedFaults(applied)
    }
}

impl FaultState {
    /// Checks a state that was read from a snapshot.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let mut counts = self.applied.values().chain([&self.draws, &self.rules_made]);
        let ids = self.rules.iter().map(|rule| rule.id).chain([self.rules_made.saturating_add(1)]);
        if !counts.all(|count| *count <= MAX_COUNT) {
            Err("a counter is larger than 2^53")
        } else if !ids.is_sorted_by(|one, next| one < next) {
            Err("the ids of the rules must ascend, at most to `rules_made`")
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("rules", &self.rules()).finish()
    }
}
