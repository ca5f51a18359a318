//! Faults in a snapshot: the rules, and those that tasks keep. A fault is saved as its text and how
//! often it has been applied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Faults, Inner, RequestedFaults,
    grammar::{FaultSource, FaultSpec},
    requested::MAX_FAULTS,
    rule::Rule,
    table::KnownFault,
};
use crate::{
    runtime::chance::Chance,
    values::saved::{RestoreError, Restored, check_count, check_length, check_text, ensure},
};

/// Each request is compared with every rule.
const MAX_RULES: usize = 10_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedFaults {
    rules: Vec<SavedRule>,
    /// The number of rules ever added, which is the id of the last one.
    rules_made: u64,
    draws: u64,
    /// How often each fault has been applied, by name.
    applied: BTreeMap<String, u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedRule {
    id: u64,
    text: String,
    applied: u64,
}

/// A fault that a task keeps.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedFault {
    text: String,
    applied: u64,
}

impl Faults {
    /// The rules and counters. What repeated submissions have used up is not contained.
    pub(crate) fn saved(&self) -> SavedFaults {
        let inner = self.inner();
        let rules = inner.rules.iter().map(|Rule { id, spec }| SavedRule {
            id: *id,
            text: spec.text.clone(),
            applied: spec.applied,
        });
        let applied = inner.counts.iter().map(|(name, count)| ((*name).to_owned(), *count));
        SavedFaults {
            rules: rules.collect(),
            rules_made: inner.numbered,
            draws: inner.draws,
            applied: applied.collect(),
        }
    }
}

impl SavedFaults {
    pub(crate) fn restore(&self, chance: Chance) -> Restored<Faults> {
        check_length(self.rules.len(), MAX_RULES, "rules")?;
        check_count(self.rules_made, "rules_made")?;
        check_count(self.draws, "draws")?;
        let mut inner = Inner::new(chance);
        (inner.numbered, inner.draws) = (self.rules_made, self.draws);
        let mut last = 0;
        for (index, rule) in self.rules.iter().enumerate() {
            let place = |error: RestoreError| error.within(format!("rules[{index}]"));
            let ascending = last < rule.id && rule.id <= self.rules_made;
            ensure(ascending, "id", "ids must be ascending, and at most `rules_made`")
                .map_err(place)?;
            last = rule.id;
            let spec = spec(&rule.text, rule.applied, FaultSource::Rule).map_err(place)?;
            inner.rules.push(Rule { id: rule.id, spec });
        }
        for (name, count) in &self.applied {
            let known = KnownFault::named(name)
                .ok_or_else(|| RestoreError::new("applied", "a name is not that of a fault"))?;
            check_count(*count, "applied")?;
            inner.counts.insert(known.name, *count);
        }
        Ok(Faults::of(inner))
    }
}

impl RequestedFaults {
    pub(crate) fn saved(&self) -> Vec<SavedFault> {
        let saved =
            |spec: &FaultSpec| SavedFault { text: spec.text.clone(), applied: spec.applied };
        self.list.iter().map(saved).collect()
    }

    /// The faults that a task keeps.
    pub(crate) fn restore(saved: &[SavedFault]) -> Restored<Self> {
        // Those of the header, and those of the words.
        check_length(saved.len(), 2 * MAX_FAULTS, "faults")?;
        let list = saved.iter().enumerate().map(|(index, fault)| {
            spec(&fault.text, fault.applied, FaultSource::Submission)
                .map_err(|error| error.within(format!("faults[{index}]")))
        });
        Ok(Self { list: list.collect::<Restored<_>>()?, repeat: None })
    }
}

fn spec(text: &str, applied: u64, source: FaultSource) -> Restored<FaultSpec> {
    check_text(text, "text")?;
    check_count(applied, "applied")?;
    let spec = FaultSpec::parse(text, source)
        .map_err(|error| RestoreError::new("text", error.to_string()))?;
    Ok(FaultSpec { applied, ..spec })
}
