//! Moderation by word lists.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::outcome::Outcome;
use crate::values::texts;

/// The tolerance if neither the request nor the contract has one.
const DEFAULT_TOLERANCE: f64 = 2.0;

/// Words that stop a task, each with a severity: a word is moderated if its severity is above the
/// request's `safety_tolerance` (0 is the strictest). A word of severity 1 stops a task only at
/// tolerance 0, one of severity 3 also at the default tolerance of 2, one of severity 7 always.
/// Only whole words match, in any case, in every text of a request that is neither an image nor a
/// secret.
///
/// In TOML: `[moderation.input]` with lines such as `gore = 3`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Moderation {
    /// Words that input moderation finds: the task ends with `Request Moderated`. Default: `nudity`
    /// 5, `gore` 3.
    pub input: BTreeMap<String, u8>,
    /// Words that output moderation finds: the task ends with `Content Moderated`. Default:
    /// `weapon` 3, `blood` 1.
    pub output: BTreeMap<String, u8>,
}

impl Default for Moderation {
    fn default() -> Self {
        let words = |words: [(&str, u8); 2]| {
            words.map(|(word, severity)| (word.to_owned(), severity)).into()
        };
        Self {
            input: words([("nudity", 5), ("gore", 3)]),
            output: words([("weapon", 3), ("blood", 1)]),
        }
    }
}

impl Moderation {
    /// The outcome of a moderated request. Input is checked before output.
    pub(crate) fn verdict(&self, request: &Value, tolerance: Option<&Value>) -> Option<Outcome> {
        let tolerance = tolerance.and_then(Value::as_f64).unwrap_or(DEFAULT_TOLERANCE);
        let stops = |words: &BTreeMap<String, u8>| {
            words.iter().any(|(word, severity)| {
                let word = word.to_lowercase();
                let mentions = &mut |text: &str| has_word(&text.to_lowercase(), &word);
                f64::from(*severity) > tolerance && texts::any(request, mentions)
            })
        };
        if stops(&self.input) {
            return Some(Outcome::RequestModerated);
        }
        stops(&self.output).then_some(Outcome::ContentModerated)
    }
}

/// Whether `text` contains `word` without a letter or digit on either side. Both are in lower case.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn severity_is_compared_with_tolerance() {
        let moderation = Moderation::default();
        let verdict = |prompt: &str, tolerance: Value| {
            moderation.verdict(&json!({ "prompt": prompt }), Some(&tolerance))
        };
        for tolerance in 0..=6 {
            let moderated = verdict("Gore, again", json!(tolerance));
            assert_eq!(
                moderated,
                (tolerance < 3).then_some(Outcome::RequestModerated),
                "{tolerance}"
            );
            let moderated = verdict("a bit of BLOOD", json!(tolerance));
            assert_eq!(
                moderated,
                (tolerance < 1).then_some(Outcome::ContentModerated),
                "{tolerance}"
            );
        }
        assert_eq!(verdict("gore and blood", json!(0)), Some(Outcome::RequestModerated));
        assert_eq!(
            moderation.verdict(&json!({ "prompt": "gore" }), None),
            Some(Outcome::RequestModerated)
        );
        for innocent in ["Gorezone is not on the list", "categore", "bloody", "blood2"] {
            assert_eq!(verdict(innocent, json!(0)), None, "{innocent}");
        }
    }
}
