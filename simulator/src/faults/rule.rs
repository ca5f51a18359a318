//! Fault rules.

use serde::{Deserialize, Serialize};

use super::grammar::FaultSpec;

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) id: u64,
    pub(super) spec: FaultSpec,
}

/// A rule that applies a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FaultRule {
    /// Its number, which is never reused.
    pub id: u64,
    /// The rule as it was written.
    pub text: String,
    /// How often it has been applied.
    pub applied: u64,
    /// How often it will still apply; `None` for `always` or a probability. A rule that is used up
    /// stays in the list.
    pub left: Option<u64>,
}

impl Rule {
    pub(super) fn view(&self) -> FaultRule {
        let Self { id, spec } = self;
        FaultRule { id: *id, text: spec.text.clone(), applied: spec.applied, left: spec.left() }
    }
}
