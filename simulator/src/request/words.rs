//! Words in double brackets, which select the outcome of a task and its faults.

use serde_json::Value;

use crate::{
    faults::RequestedFaults,
    tasks::outcome::{Directives, Outcome},
    values::texts,
};

/// The words that make a task fail.
const WORDS: [(&str, Outcome); 4] = [
    ("[[error]]", Outcome::Error),
    ("[[request-moderated]]", Outcome::RequestModerated),
    ("[[content-moderated]]", Outcome::ContentModerated),
    ("[[not-found]]", Outcome::NotFound),
];

/// The word that gives a task a status that no client knows while it is in progress.
const UNKNOWN_STATUS_WORD: &str = "[[unknown-status]]";

/// What the words in the texts of a request select, at any depth. The first match in the table
/// above wins.
pub(super) fn directives(request: &Value) -> Directives {
    let found = WORDS.iter().find(|(word, _)| mentions(request, word));
    Directives {
        outcome: found.map_or(Outcome::Ready, |(_, outcome)| *outcome),
        reason: found.map(|(word, _)| format!("The request contains {word}.")),
        unknown_status: mentions(request, UNKNOWN_STATUS_WORD),
        faults: RequestedFaults::in_words(request),
    }
}

fn mentions(request: &Value, word: &str) -> bool {
    texts::any(request, &mut |text| text.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_at_any_depth() {
        let request =
            json!({ "a": [1, { "b": "x [[not-found]] y" }], "prompt": "[[unknown-status]]" });
        let found = directives(&request);
        assert_eq!((found.outcome, found.unknown_status), (Outcome::NotFound, true));
        assert_eq!(found.reason.as_deref(), Some("The request contains [[not-found]]."));
        let none = directives(&json!({ "prompt": "[error]" }));
        assert_eq!((none.outcome, none.unknown_status), (Outcome::Ready, false));
    }
}
