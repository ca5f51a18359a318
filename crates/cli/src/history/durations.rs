//! How long the last tasks took, which the history keeps for the next command.

use std::{fs, path::PathBuf};

use super::directory;
use crate::{files::directory::write_private, process::Process};
use imagekiln::{Client, Durations};

const NAME: &str = "durations.json";

/// Returns how long the tasks of earlier commands took. Returns nothing if the file is missing or
/// damaged, because the durations only help to time the first polls.
pub fn known(process: &Process) -> Durations {
    let text = path(process).and_then(|path| fs::read_to_string(path).ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn path(process: &Process) -> Option<PathBuf> {
    Some(directory(process).ok()?.join(NAME))
}

/// Writes how long the tasks of a client took, when the command ends.
pub struct KeptDurations {
    client: Client,
    path: PathBuf,
}

impl KeptDurations {
    /// Returns `None` if there is no directory for the history.
    pub fn of(process: &Process, client: &Client) -> Option<Self> {
        Some(Self { client: client.clone(), path: path(process)? })
    }
}

impl Drop for KeptDurations {
    fn drop(&mut self) {
        let durations = self.client.durations();
        if durations.is_empty() {
            return;
        }
        let Ok(text) = serde_json::to_string(&durations) else { return };
        // The pictures are saved. After a failure, the next command only times its first polls less
        // well.
        let _ = write_private(&self.path, &text);
    }
}
