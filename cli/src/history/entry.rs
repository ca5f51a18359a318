//! What is remembered of a submission.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::destination::{Destination, StoredPath};
use crate::json;
use imagekiln::{TaskRef, journal::Intent};

/// The number of characters of a prompt that are remembered.
const PROMPT_LENGTH: usize = 200;

/// A submission: written before it is sent, and again with its task and with its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub intent: Intent,
    /// The beginning of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub destination: Destination,
    /// Known once the service has responded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// Why nothing more is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum End {
    /// The picture was saved. There is no path if it went to standard output.
    Saved {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<StoredPath>,
    },
    Failed,
    Moderated,
    /// The picture was not fetched in time.
    Expired,
    /// The user wants nothing more of it.
    Dismissed,
    /// Written by a later version.
    #[serde(other)]
    Other,
}

impl End {
    /// The end that a failure of this kind means, if the task can't be resumed.
    pub fn of_failure(kind: &str) -> Option<Self> {
        match kind {
            "task_failed" => Some(Self::Failed),
            "moderated" => Some(Self::Moderated),
            "expired" => Some(Self::Expired),
            _ => None,
        }
    }
}

impl Entry {
    pub fn new(intent: Intent, prompt: Option<&str>, destination: Destination) -> Self {
        let prompt = prompt.map(|prompt| prompt.chars().take(PROMPT_LENGTH).collect());
        Self { intent, prompt, destination, task: None, end: None }
    }

    /// Nothing more is to be done, so the reference needs no signed query.
    pub fn end(&mut self, end: End) {
        if let Some(task) = &self.task {
            self.task = without_signature(task).or_else(|| self.task.clone());
        }
        self.end = Some(end);
    }

    /// What became of the submission. `is_claimed`: another process works on it.
    pub fn state(&self, is_claimed: bool) -> &'static str {
        match (&self.end, &self.task, is_claimed) {
            (Some(End::Saved { .. }), ..) => "saved",
            (Some(End::Failed), ..) => "failed",
            (Some(End::Moderated), ..) => "moderated",
            (Some(End::Expired), ..) => "expired",
            (Some(End::Dismissed), ..) => "dismissed",
            (Some(End::Other), ..) => "ended",
            (None, Some(_), true) => "waiting",
            (None, Some(_), false) => "unfinished",
            (None, None, true) => "submitting",
            (None, None, false) => "unknown",
        }
    }
}

/// Removes everything from the query of the polling URL except the id.
fn without_signature(task: &TaskRef) -> Option<TaskRef> {
    let mut url = Url::parse(task.polling_url().reveal()).ok()?;
    let id = url.query_pairs().find(|(name, _)| name == "id").map(|(_, id)| id.into_owned());
    url.set_query(None);
    url.set_fragment(None);
    if let Some(id) = id {
        url.query_pairs_mut().append_pair("id", &id);
    }
    let value = serde_json::to_value(task).ok()?;
    let polling_url = Value::String(url.into());
    serde_json::from_value(json::with(value, [("polling_url", polling_url)])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_entry_has_no_signature() {
        let kept = |url: &str| {
            let task = TaskRef::new("a1", url, Some("gen-2-pro".to_owned()));
            let kept = without_signature(&task).unwrap();
            assert_eq!((kept.id(), kept.operation()), ("a1", Some("gen-2-pro")));
            kept.polling_url().reveal().to_owned()
        };
        let plain = "https://api.example.com/v1/get_result?id=a1";
        assert_eq!(kept(plain), plain);
        assert_eq!(kept(&format!("{plain}&signature=SECRET#SECRET")), plain);
        assert_eq!(
            kept("https://api.example.com/results/a1?token=SECRET"),
            "https://api.example.com/results/a1"
        );
    }

    #[test]
    fn an_end_of_a_later_version_is_an_end() {
        let end: End = serde_json::from_str(r#"{"kind":"archived","where":"x"}"#).unwrap();
        assert_eq!(end, End::Other);
    }
}
