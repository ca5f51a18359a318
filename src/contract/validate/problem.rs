//! What is wrong with a value, without its location.

use super::super::images::Place;
use crate::{Location, Violation};

pub(super) struct Problem {
    kind: &'static str,
    msg: String,
}

impl Problem {
    pub(super) fn new(kind: &'static str, msg: impl Into<String>) -> Self {
        Self { kind, msg: msg.into() }
    }

    pub(super) fn at(self, place: &Place) -> Violation {
        self.of(&place.steps())
    }

    pub(super) fn of(self, steps: &[Location]) -> Violation {
        Violation::of_value(steps, self.kind, self.msg)
    }
}
