//! A submission in the history.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{destination::Destination, request};
use crate::models::{PROMPT, SEED};
use imagekiln::{
    TaskStatus,
    journal::{Listed, Record, State},
};

/// The path of pictures that went to standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// The part of the command line that the history keeps for a picture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The request; see [`request::kept`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The prompt, if there is no request: earlier versions kept its first 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub destination: Destination,
    /// The index of the picture among those of the command.
    #[serde(default)]
    pub index: usize,
}

/// A submission with its number.
#[derive(Debug, Clone)]
pub struct Entry {
    pub number: u64,
    pub record: Record,
    pub kept: Kept,
    /// Whether a process works on it.
    pub is_in_use: bool,
}

impl From<Listed> for Entry {
    fn from(listed: Listed) -> Self {
        Self::new(listed.number, listed.record, listed.is_in_use)
    }
}

impl Entry {
    pub fn new(number: u64, record: Record, is_in_use: bool) -> Self {
        let kept = record.intent().context().unwrap_or_default();
        Self { number, record, kept, is_in_use }
    }

    /// The id of the submission.
    pub fn submission(&self) -> &str {
        self.record.intent().id()
    }

    /// The value of a field of the request, if the history has it.
    fn field(&self, name: &str) -> Option<&Value> {
        request::field(self.kept.request.as_ref()?, name)
    }

    pub fn prompt(&self) -> Option<&str> {
        self.field(PROMPT).and_then(Value::as_str).or(self.kept.prompt.as_deref())
    }

    pub fn seed(&self) -> Option<i64> {
        self.field(SEED)?.as_i64()
    }

    /// The name of the model.
    pub fn model(&self) -> String {
        let model = self.kept.request.as_ref().and_then(request::model);
        model.unwrap_or_else(|| self.record.intent().operation().to_owned())
    }

    pub fn is_finished(&self) -> bool {
        self.record.state().is_closed()
    }

    /// The path of the picture, if it was saved to a file.
    pub fn saved_path(&self) -> Option<&Path> {
        match self.record.state() {
            State::Saved { path, .. } if path != Path::new(STANDARD_OUTPUT) => Some(path),
            _ => None,
        }
    }

    /// The state of the submission.
    pub fn state(&self) -> &'static str {
        use TaskStatus::{ContentModerated, RequestModerated};
        match (self.record.state(), self.is_in_use) {
            (State::Unknown, true) => "submitting",
            (State::Unknown, false) => "unknown",
            (State::Accepted | State::Ready, true) => "waiting",
            (State::Accepted | State::Ready, false) => "unfinished",
            (State::Saved { .. }, _) => "saved",
            (State::Failed(RequestModerated | ContentModerated), _) => "moderated",
            (State::Failed(_), _) => "failed",
            (State::Expired, _) => "expired",
            (State::Settled, _) => "dismissed",
            _ => "ended",
        }
    }
}
