//! The outcome of a task, which words in its request can select.

use serde_json::Value;

use crate::faults::RequestedFaults;

/// The final status of a task.
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
    /// Whether a status is final.
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

    /// The status in a poll response, as in the contract.
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

/// The words that make a task fail.
const WORDS: [(&str, Outcome); 4] = [
    ("[[error]]", Outcome::Error),
    ("[[request-moderated]]", Outcome::RequestModerated),
    ("[[content-moderated]]", Outcome::ContentModerated),
    ("[[not-found]]", Outcome::NotFound),
];

/// The word that gives a task the status [`UNKNOWN_STATUS`] while it is in progress.
const UNKNOWN_STATUS_WORD: &str = "[[unknown-status]]";

/// An in-progress status that no client knows.
pub(crate) const UNKNOWN_STATUS: &str = "Warming the kiln";

/// What the words in a request select.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Directives {
    pub(crate) outcome: Outcome,
    pub(crate) unknown_status: bool,
    pub(crate) faults: RequestedFaults,
}

impl Directives {
    /// Searches every string of a request, at any depth. The first match in the table above wins.
    pub(crate) fn of(request: &Value) -> Self {
        let found = WORDS.iter().find(|(word, _)| mentions(request, word));
        Self {
            outcome: found.map_or(Outcome::Ready, |(_, outcome)| *outcome),
            unknown_status: mentions(request, UNKNOWN_STATUS_WORD),
            faults: RequestedFaults::in_words(request),
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
        let directives = Directives {
            outcome: Outcome::NotFound,
            unknown_status: true,
            faults: RequestedFaults::default(),
        };
        assert_eq!(Directives::of(&request), directives);
        assert_eq!(Directives::of(&json!({ "prompt": "[error]" })), Directives::default());
    }
}
