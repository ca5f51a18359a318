//! How a task ends, which words in its request can choose.

use serde_json::Value;

use crate::faults::Asks;

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Outcome {
    #[default]
    Ready,
    Error,
    RequestModerated,
    ContentModerated,
    NotFound,
}

impl Outcome {
    /// Whether a status is one that a task ends with.
    pub(crate) fn is_final(status: &str) -> bool {
        let all = [
            Self::Ready,
            Self::Error,
            Self::RequestModerated,
            Self::ContentModerated,
            Self::NotFound,
        ];
        all.into_iter().any(|outcome| outcome.status() == status)
    }

    /// The status when polled, in the words of the contract.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Error => "Error",
            Self::RequestModerated => "Request Moderated",
            Self::ContentModerated => "Content Moderated",
            Self::NotFound => "Task not found",
        }
    }
}

/// The words that make a task fail, each with its outcome.
const WORDS: [(&str, Outcome); 4] = [
    ("[[error]]", Outcome::Error),
    ("[[request-moderated]]", Outcome::RequestModerated),
    ("[[content-moderated]]", Outcome::ContentModerated),
    ("[[not-found]]", Outcome::NotFound),
];

/// The word that makes a task show [`ODD_STATUS`] while it is in progress.
const ODD_WORD: &str = "[[unknown-status]]";

/// An in-progress status that no client can know.
pub(crate) const ODD_STATUS: &str = "Warming the kiln";

/// What the words in a request ask for.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Wish {
    pub(crate) outcome: Outcome,
    pub(crate) odd_status: bool,
    pub(crate) faults: Asks,
}

impl Wish {
    /// Looks into every string of a request, at any depth. The first word of the table above wins.
    pub(crate) fn of(request: &Value) -> Self {
        let found = WORDS.iter().find(|(word, _)| mentions(request, word));
        Self {
            outcome: found.map_or(Outcome::Ready, |(_, outcome)| *outcome),
            odd_status: mentions(request, ODD_WORD),
            faults: Asks::in_words(request),
        }
    }
}

fn mentions(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word),
        Value::Array(items) => items.iter().any(|item| mentions(item, word)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, word)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_at_any_depth() {
        let request =
            json!({ "a": [1, { "b": "x [[not-found]] y" }], "prompt": "[[unknown-status]]" });
        let wish = Wish { outcome: Outcome::NotFound, odd_status: true, faults: Asks::default() };
        assert_eq!(Wish::of(&request), wish);
        assert_eq!(Wish::of(&json!({ "prompt": "[error]" })), Wish::default());
    }
}
