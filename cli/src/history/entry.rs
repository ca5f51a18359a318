//! A submission in the history.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::destination::Destination;
use imagekiln::{
    TaskStatus,
    journal::{Listed, Record, State},
};

/// The number of characters of a prompt that are kept.
const PROMPT_LENGTH: usize = 200;

/// The path of pictures that went to standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// The part of the command line that the history keeps for a picture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The beginning of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub destination: Destination,
    /// The index of the picture among those of the command.
    #[serde(default)]
    pub index: usize,
}

impl Kept {
    pub fn new(prompt: Option<&str>, destination: Destination, index: usize) -> Self {
        let prompt = prompt.map(|prompt| prompt.chars().take(PROMPT_LENGTH).collect());
        Self { prompt, destination, index }
    }
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
