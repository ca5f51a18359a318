//! The outcome of a task, how the words in its request select the outcome, and moderation by lists
//! of words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{faults::RequestedFaults, values::texts};

/// The final status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

    /// The status in a poll response, as the contract spells it.
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

/// A status of a task in progress that clients do not know.
pub(crate) const UNKNOWN_STATUS: &str = "Warming the kiln";

/// What the words in a request select for its task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Directives {
    pub(crate) outcome: Outcome,
    pub(crate) unknown_status: bool,
    /// Why the task fails, if the words make it fail.
    pub(crate) reason: Option<String>,
    pub(crate) faults: RequestedFaults,
}

/// The safety tolerance, if neither the request nor the contract sets one.
const DEFAULT_TOLERANCE: f64 = 2.0;

/// Words that stop a task, each with a severity. A word stops the task if its severity is above the
/// `safety_tolerance` of the request (0 is the strictest). So a word of severity 1 stops a task
/// only at tolerance 0, a word of severity 3 also at the default tolerance of 2, and a word of
/// severity 7 always. The simulator searches all texts of a request except images and secrets. It
/// ignores case, and only whole words match.
///
/// In TOML, this is the table `[moderation.input]` with lines such as `gore = 3`, and the table
/// `[moderation.output]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Moderation {
    /// Words that input moderation stops, so that the task ends with `Request Moderated`. Default:
    /// `nudity` 5, `gore` 3.
    pub input: BTreeMap<String, u8>,
    /// Words that output moderation stops, so that the task ends with `Content Moderated`. Default:
    /// `weapon` 3, `blood` 1.
    pub output: BTreeMap<String, u8>,
}

impl Default for Moderation {
    fn default() -> Self {
        let word = |(word, severity): (&str, u8)| (word.to_owned(), severity);
        Self {
            input: [("nudity", 5), ("gore", 3)].map(word).into(),
            output: [("weapon", 3), ("blood", 1)].map(word).into(),
        }
    }
}

impl Moderation {
    /// If moderation stops a request, returns the outcome and the reason. Input moderation comes
    /// first.
    pub(crate) fn check(
        &self,
        request: &Value,
        tolerance: Option<&Value>,
    ) -> Option<(Outcome, String)> {
        let tolerance = tolerance.and_then(Value::as_f64).unwrap_or(DEFAULT_TOLERANCE);
        let checks = [
            (&self.input, Outcome::RequestModerated, "request"),
            (&self.output, Outcome::ContentModerated, "picture"),
        ];
        checks.into_iter().find_map(|(words, outcome, checked)| {
            let (word, severity) = words.iter().find(|(word, severity)| {
                f64::from(**severity) > tolerance && mentions(request, word)
            })?;
            let reason = format!(
                "Moderation found \u{201c}{word}\u{201d} in the {checked}: its severity of \
                 {severity} is above the safety tolerance of {tolerance}."
            );
            Some((outcome, reason))
        })
    }
}

/// Whether a text of the request contains `word`. Ignores case.
fn mentions(request: &Value, word: &str) -> bool {
    let word = word.to_lowercase();
    texts::any(request, &mut |text| has_word(&text.to_lowercase(), &word))
}

/// Whether `text` contains `word` without a letter or digit before or after it. Both must be in
/// lower case.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}
