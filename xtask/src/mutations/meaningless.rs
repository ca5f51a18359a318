//! The mutations that need no report.

use super::mutation::{Action, Mutation};

pub struct Reason {
    pub why: &'static str,
    is_met: fn(&Mutation) -> bool,
}

pub static REASONS: [Reason; 2] = [
    Reason {
        why: "text for people, which a reviewer reads",
        is_met: |mutation| {
            const PROSE: [&str; 2] = ["description", "summary"];
            let is_gone = mutation.action == Action::Remove
                // The items of a list need no description of their own.
                && mutation.pointer.ends_with("/items/description");
            let is_changed = mutation.action == Action::Change;
            is_gone || is_changed && PROSE.contains(&mutation.keyword())
        },
    },
    Reason {
        why: "an example may have any value that fits",
        is_met: |mutation| mutation.action == Action::Change && mutation.keyword() == "example",
    },
];

/// Returns why the mutation is meaningless, if it is.
pub fn reason(mutation: &Mutation) -> Option<&'static str> {
    REASONS.iter().find(|reason| (reason.is_met)(mutation)).map(|reason| reason.why)
}
