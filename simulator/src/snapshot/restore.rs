//! Restores a snapshot: checks all of it, and only then replaces the state.

use std::{sync::Arc, time::Duration};

use super::{DOCUMENT, Document, Snapshot};
use crate::{
    faults::Faults,
    media::{images, paint::PictureLimits},
    request::json::{self, Excess},
    runtime::{
        clock::Clock,
        workers::{JobSize, Panicked},
    },
    state::{AppState, Records},
    tasks::{RestoreContext, SavedTask},
    values::saved::{RestoreError, Restored, check_count, ensure},
};

/// Replaces the state by that of a snapshot. Decodes each image in its turn, so that other requests
/// are delayed little.
pub(crate) async fn restore(state: &Arc<AppState>, snapshot: &Snapshot) -> Restored {
    let Snapshot(document) = snapshot;
    for index in 0..document.tasks.kept.len() {
        let checked = check_images(state, document, index).await;
        checked.map_err(|error| error.within(format!("tasks.kept[{index}]")))?;
    }
    let (job_state, document) = (Arc::clone(state), Arc::clone(document));
    let job = move || {
        let now = job_state.clock.unix_now();
        let (records, faults) = build(&job_state, &document, now)?;
        job_state.replace(records, now, &faults, document.speed);
        Ok(())
    };
    state.readers.run(JobSize::Large, job).await.unwrap_or_else(failed)
}

fn failed(_: Panicked) -> Restored {
    Err(RestoreError::new(DOCUMENT, "the simulator failed while it read the document"))
}

fn limits(state: &AppState) -> PictureLimits {
    PictureLimits {
        input_pixels: state.config.max_input_pixels,
        side: state.config.max_output_side,
        pixels: state.config.max_output_pixels,
    }
}

/// Decodes the images of a task's request, and its picture if the snapshot contains it.
async fn check_images(state: &AppState, document: &Arc<Document>, index: usize) -> Restored {
    let limits = limits(state);
    let Some(task) = document.tasks.kept.get(index) else { return Ok(()) };
    for (place, bytes) in task.picture.images() {
        let wrong = |problem| RestoreError::new(format!("picture.{place}"), problem);
        let image = images::inline(&**bytes, limits.input_pixels).map_err(wrong)?;
        let size = JobSize::of_pixels(image.pixels());
        let checked = state.readers.run(size, move || image.check()).await;
        checked.map_or_else(failed, |checked| checked.map_err(wrong))?;
    }
    if task.painted.is_none() {
        return Ok(());
    }
    let (size, document) = (JobSize::of_pixels(task.picture.pixels()), Arc::clone(document));
    let check = move || {
        let task = document.tasks.kept.get(index);
        let rendered = task.and_then(SavedTask::rendered);
        rendered.map_or(Ok(()), |(picture, bytes)| picture.check_rendered(bytes, &limits))
    };
    state.readers.run(size, check).await.unwrap_or_else(failed)
}

/// Builds the state at the Unix time `now`. The images have been decoded before.
fn build(state: &AppState, document: &Document, now: Duration) -> Restored<(Records, Faults)> {
    let problem = "the speed of the clock must be from 0 to 100000";
    ensure((0.0..=Clock::MAX_SPEED).contains(&document.speed), "speed", problem)?;
    check_count(document.polls, "polls")?;
    check_count(document.delivered, "delivered")?;
    document.refused.values().try_for_each(|count| check_count(*count, "refused"))?;
    for (index, task) in document.tasks.kept.iter().enumerate() {
        check_request(&task.request)
            .map_err(|error| error.within(format!("tasks.kept[{index}]")))?;
    }
    let accounts = document.accounts.restore(&state.contract, now);
    let mut accounts = accounts.map_err(|error| error.within("accounts"))?;
    // The settings were valid at the start.
    if let Ok(configured) = state.configured_accounts() {
        accounts.learn_keys(&configured);
    }
    let context = RestoreContext {
        contract: &state.contract,
        accounts: &accounts,
        base: &|region| state.base(region).to_owned(),
        limits: limits(state),
        now,
    };
    let tasks = document.tasks.restore(&context, state.retention());
    let tasks = tasks.map_err(|error| error.within("tasks"))?;
    let faults = document.faults.restore(state.chance);
    let faults = faults.map_err(|error| error.within("faults"))?;
    let records = Records {
        tasks,
        accounts,
        polls: document.polls,
        delivered: document.delivered,
        refused: document.refused.clone(),
        resets: 0,
    };
    Ok((records, faults))
}

/// Checks the limits of a request's body, which is kept as text, and parsed when it is shown.
fn check_request(request: &str) -> Restored {
    let problem = match json::excess(request.as_bytes()) {
        None => return Ok(()),
        Some(Excess::Values) => "the body has too many values",
        Some(Excess::Name) => "a name in the body is too long",
    };
    Err(RestoreError::new("request", problem))
}
