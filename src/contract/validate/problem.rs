//! What is wrong with a value, without its location.

use crate::{Location, Violation};

pub(super) struct Problem {
    kind: &'static str,
    msg: String,
}

impl Problem {
    pub(super) fn new(kind: &'static str, msg: impl Into<String>) -> Self {
        Self { kind, msg: msg.into() }
    }

    pub(super) fn at(self, steps: &[Location]) -> Violation {
        Violation::of_value(steps, self.kind, self.msg)
    }
}
