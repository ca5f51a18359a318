//! Restores a snapshot: checks all of it, and only then replaces the state.

use std::sync::Arc;

use super::{DOCUMENT, Document, RestoreError, Snapshot, TAKEN_AT};
use crate::{
    media::{images::Image, paint::PictureLimits},
    runtime::{
        clock::Clock,
        workers::{JobSize, Panicked},
    },
    state::{AppState, Records},
    tasks::Task,
    values::MAX_COUNT,
};

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
        checked.map_err(|problem| RestoreError::new(place(task), problem))?;
    }
    let (job_state, document) = (Arc::clone(state), Arc::clone(document));
    let replace = move || {
        let Document { records, faults, speed, .. } = &*document;
        let mut records = records.clone();
        records.accounts.learn_keys(&job_state.records().accounts);
        job_state.replace(records, TAKEN_AT, faults.clone(), *speed);
    };
    state.readers.run(JobSize::Large, replace).await.map_err(failed)
}

fn failed(_: Panicked) -> RestoreError {
    RestoreError::new(DOCUMENT, "the simulator failed while it read the document")
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
    checked.map_err(|problem| RestoreError::new("records.accounts", problem))?;
    tasks.check(TAKEN_AT).map_err(|problem| RestoreError::new("records.tasks", problem))?;
    let checked = lateness.check(tasks.ended().0);
    checked.map_err(|problem| RestoreError::new("records.lateness", problem))?;
    for task in tasks.iter() {
        check_task(state, document, task)
            .map_err(|problem| RestoreError::new(place(task), problem))?;
    }
    document.faults.check().map_err(|problem| RestoreError::new("faults", problem))
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
    if !document.records.accounts.has_project(&task.project) {
        return Err("the organization has no project of this id".to_owned());
    }
    task.check(TAKEN_AT)?;
    picture.check(&limits(state))
}
