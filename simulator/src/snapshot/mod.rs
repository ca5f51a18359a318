//! Snapshots: everything that a simulator knows, as a JSON document without secrets. Each part
//! saves and restores itself, see the modules `saved`.

mod restore;

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

pub(crate) use self::restore::restore;
use crate::{
    billing::accounts::SavedAccounts,
    faults::SavedFaults,
    state::AppState,
    tasks::SavedTasks,
    values::{names, saved::RestoreError},
};

/// The version of the documents that this simulator writes and reads.
const VERSION: u64 = 1;

/// The place of a problem with the whole document.
const DOCUMENT: &str = "the document";

/// The maximum length of an error of the JSON parser, in characters.
const MAX_PROBLEM: usize = 300;

/// What a simulator knew at one moment: accounts, tasks, counters, fault rules, and the speed of
/// its clock. [`Simulator::snapshot`](crate::Simulator::snapshot) takes it, and
/// [`Simulator::restore`](crate::Simulator::restore) returns to it, in the same or another
/// simulator. Clones share the content.
///
/// It contains no secrets: API keys are SHA-256 digests, with the masked form that the page shows.
#[derive(Clone)]
pub struct Snapshot(Arc<Document>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    /// The speed of the clock.
    speed: f64,
    polls: u64,
    delivered: u64,
    refused: BTreeMap<u16, u64>,
    accounts: SavedAccounts,
    tasks: SavedTasks,
    faults: SavedFaults,
}

/// The version of a document, whatever else it has.
#[derive(Deserialize)]
struct Version {
    version: Option<u64>,
}

impl Snapshot {
    /// The current state, without the journal and the webhooks.
    pub(crate) fn of(state: &AppState) -> Self {
        let mut records = state.records();
        let now = state.clock.unix_now();
        records.tasks.settle(now, state.retention());
        Self(Arc::new(Document {
            version: VERSION,
            speed: state.clock.speed(),
            polls: records.polls,
            delivered: records.delivered,
            refused: records.refused.clone(),
            accounts: SavedAccounts::of(&records.accounts, now),
            tasks: SavedTasks::of(&records.tasks, now),
            faults: state.faults.saved(),
        }))
    }

    /// The document, as JSON. Its content may change with its `version`.
    pub fn to_json(&self) -> Vec<u8> {
        // Every key is a text or an integer, and every number is finite.
        serde_json::to_vec(&*self.0).unwrap_or_default()
    }

    /// Reads a document. Its values are checked when it is [restored](crate::Simulator::restore).
    ///
    /// # Errors
    ///
    /// If it is not JSON, has another version, or has unknown, missing or invalid fields.
    pub fn from_json(json: &[u8]) -> Result<Self, RestoreError> {
        let wrong = |problem: String| RestoreError::new(DOCUMENT, problem);
        let Version { version } =
            serde_json::from_slice(json).map_err(|error| wrong(shown(&error)))?;
        match version {
            Some(VERSION) => {}
            Some(other) => {
                return Err(wrong(format!(
                    "version {other} is not supported, only {VERSION}: take the snapshot again \
                     with this version of the simulator"
                )));
            }
            None => {
                return Err(wrong(
                    "`version` is missing: send what GET /api/snapshot returned".to_owned(),
                ));
            }
        }
        let mut reader = serde_json::Deserializer::from_slice(json);
        let document = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            // The path of the document is a dot, and that of an invalid name ends with `?`.
            let path = path.trim_end_matches(".?").trim_start_matches('.');
            let place = if path.is_empty() { DOCUMENT.to_owned() } else { names::printable(path) };
            RestoreError::new(place, shown(error.inner()))
        })?;
        Ok(Self(Arc::new(document)))
    }
}

/// An error of the parser, which may quote the document.
fn shown(error: &serde_json::Error) -> String {
    names::bounded(&error.to_string(), MAX_PROBLEM)
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("version", &self.0.version).finish_non_exhaustive()
    }
}

/// The maximum size of a document in bytes. As base64 and escaped text, tasks take less than twice
/// the memory that they take in the state.
pub(crate) fn max_bytes(max_kept_bytes: u64) -> usize {
    /// For everything other than tasks.
    const REST: u64 = 16 << 20;
    usize::try_from(max_kept_bytes.saturating_mul(2).saturating_add(REST)).unwrap_or(usize::MAX)
}
