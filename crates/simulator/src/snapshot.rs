//! Snapshots: everything that a simulator knows, as a JSON document without secrets.

use std::{fmt, sync::Arc, time::Duration};

use imagekiln_painter::{images::Image, paint::PictureLimits};
use serde::{Deserialize, Serialize};

use crate::{
    faults::FaultState,
    runtime::{
        clock::{Clock, Shift},
        workers::{JobSize, Panicked},
    },
    state::{AppState, Records},
    tasks::Task,
    values::{MAX_COUNT, names},
};

/// The version of the documents that this simulator writes and reads.
const VERSION: u64 = 3;

/// The moment of every snapshot in its document, so that times are relative to it.
const TAKEN_AT: Duration = Duration::from_secs(1 << 32);

/// The place of a problem with the whole document.
const DOCUMENT: &str = "the document";

/// The maximum length of a problem, in characters.
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
    records: Records,
    faults: FaultState,
}

/// The version of a document, whatever else it has.
#[derive(Deserialize)]
struct Version {
    version: Option<u64>,
}

/// Why a snapshot was not restored. The simulator is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not restore the snapshot: {place}: {problem}")]
#[non_exhaustive]
pub struct RestoreError {
    /// The part of the document, such as `records.tasks.kept.3`.
    pub place: String,
    /// What is wrong there, and what to do about it. Values of the document are quoted only in
    /// part.
    pub problem: String,
}

impl RestoreError {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        // Both may quote the document.
        Self {
            place: names::printable(&place.into()),
            problem: names::bounded(&problem.into(), MAX_PROBLEM),
        }
    }
}

impl Snapshot {
    /// The current state, without the journal and the webhooks.
    pub(crate) fn of(state: &AppState) -> Self {
        let mut current = state.records();
        let now = state.clock.unix_now();
        current.tasks.settle(now);
        let (mut records, faults) = (current.clone(), state.faults.snapshot());
        drop(current);
        records.tasks.drop_pictures();
        records.move_times(Shift { from: now, to: TAKEN_AT });
        Self(Arc::new(Document { version: VERSION, speed: state.clock.speed(), records, faults }))
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
        let Version { version } = serde_json::from_slice(json)
            .map_err(|error| RestoreError::new(DOCUMENT, error.to_string()))?;
        if version != Some(VERSION) {
            let problem = match version {
                Some(other) => format!(
                    "version {other} is not supported, only {VERSION}: take the snapshot again \
                     with this version of the simulator"
                ),
                None => "`version` is missing: send what GET /api/snapshot returned".to_owned(),
            };
            return Err(RestoreError::new(DOCUMENT, problem));
        }
        let mut reader = serde_json::Deserializer::from_slice(json);
        let document = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            // The path of the document is a dot.
            let place = if path == "." { DOCUMENT } else { &path };
            RestoreError::new(place, error.inner().to_string())
        })?;
        Ok(Self(Arc::new(document)))
    }
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

/// What is wrong with a part of the document.
type Checked = Result<(), String>;

/// Replaces the state by that of a snapshot. Decodes each image in its turn, so that other requests
/// are delayed little.
pub(crate) async fn restore(
    state: &Arc<AppState>,
    Snapshot(document): &Snapshot,
) -> Result<(), RestoreError> {
    let (job_state, job_document) = (Arc::clone(state), Arc::clone(document));
    let check = move || check(&job_state, &job_document);
    state.readers.run(JobSize::Large, check).await.map_err(failed)??;
    for task in document.records.tasks.iter() {
        let checked = check_images(state, task).await.map_err(failed)?;
        checked.map_err(wrong(place(task)))?;
    }
    let (job_state, document) = (Arc::clone(state), Arc::clone(document));
    let replace = move || {
        let Document { records, faults, speed, .. } = &*document;
        let mut records = records.clone();
        // The keys that are known here can be revealed.
        records.accounts.secrets.extend(job_state.records().accounts.secrets.clone());
        job_state.replace(records, TAKEN_AT, faults.clone(), *speed);
    };
    state.readers.run(JobSize::Large, replace).await.map_err(failed)
}

fn failed(_: Panicked) -> RestoreError {
    RestoreError::new(DOCUMENT, "the simulator failed while it read the document")
}

/// Makes an error from a problem at this place.
fn wrong<P: Into<String>>(place: impl Into<String>) -> impl FnOnce(P) -> RestoreError {
    |problem| RestoreError::new(place, problem)
}

fn place(task: &Task) -> String {
    format!("records.tasks, the task {}", task.id)
}

/// Decodes the images of a task's request, and its picture if the snapshot contains it.
async fn check_images(state: &AppState, task: &Task) -> Result<Checked, Panicked> {
    for input in &task.picture.inputs {
        let Image::Inline(image) = &input.image else { continue };
        let image = image.clone();
        let size = JobSize::of_pixels(image.pixels());
        let checked = state.readers.run(size, move || image.check()).await?;
        if let Err(problem) = checked {
            return Ok(Err(format!("{}: {problem}", input.place)));
        }
    }
    let Some(painted) = task.painted.clone() else { return Ok(Ok(())) };
    let (picture, limits) = (task.picture.clone(), limits(state));
    let size = JobSize::of_pixels(picture.work());
    state.readers.run(size, move || picture.check_rendered(&painted, &limits)).await
}

fn limits(state: &AppState) -> PictureLimits {
    PictureLimits {
        input_pixels: state.config.max_input_pixels,
        side: state.config.max_output_side,
        pixels: state.config.max_output_pixels,
    }
}

/// Checks everything but the pixels of images: what a part claims about itself, and what it refers
/// to.
fn check(state: &AppState, document: &Document) -> Result<(), RestoreError> {
    let Document {
        speed,
        records: Records { tasks, accounts, lateness, polls, delivered, refused, .. },
        ..
    } = document;
    if !(0.0..=Clock::MAX_SPEED).contains(speed) {
        return Err(RestoreError::new("speed", "must be from 0 to 100000"));
    }
    if refused.values().chain([polls, delivered]).any(|count| *count > MAX_COUNT) {
        return Err(RestoreError::new("records", "a counter is larger than 2^53"));
    }
    let checked = accounts.check(|pattern| state.contract.check_pattern(pattern));
    checked.map_err(wrong("records.accounts"))?;
    tasks.check(TAKEN_AT).map_err(wrong("records.tasks"))?;
    lateness.check(tasks.ended().0).map_err(wrong("records.lateness"))?;
    for task in tasks.iter() {
        check_task(state, document, task).map_err(wrong(place(task)))?;
    }
    document.faults.check().map_err(wrong("faults"))
}

fn check_task(state: &AppState, document: &Document, task: &Task) -> Checked {
    let Task { operation, operation_id, picture, .. } = task;
    let is_operation = state.contract.submission(operation).is_some_and(|(id, submission)| {
        (id, submission.rules.kind) == (operation_id, picture.kind)
            && *operation == picture.operation
    });
    if !is_operation {
        return Err("the contract has no such operation".to_owned());
    }
    if document.records.accounts.project(&task.project).is_none() {
        return Err("the organization has no project of this id".to_owned());
    }
    task.check(TAKEN_AT)?;
    picture.check(&limits(state))
}
