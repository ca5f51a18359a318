//! How a page shows a job of a batch.

use std::path::Path;

use serde_json::Value;

use super::Item;
use crate::{
    models::{PROMPT, SEED},
    text::{Clock, seconds},
};
use imagekiln::{Request, text::Credits};
use imagekiln_batch::{JobState, JobStatus};

/// The item of a job, whose picture is added later.
pub fn item(job: &JobStatus, request: &Request) -> Item {
    let mut item = Item::new(&job.name, request.model_name(), job.state.as_str());
    item.prompt =
        request.text(PROMPT).filter(|prompt| !prompt.trim().is_empty()).map(str::to_owned);
    (item.credits, item.reason) = (job.credits, job.reason.clone());
    let may_be_billed = matches!(job.state, JobState::Submitting | JobState::Unknown);
    item.is_without_cost = job.credits.is_none() && (may_be_billed || job.task_id.is_some());
    item.time = Some(seconds(job.sent_at.unwrap_or(job.added_at)));
    if job.state == JobState::Saved {
        item.note = Some("the file was not found".to_owned());
    }
    let cost = job.credits.map(|credits| format!("{:.2} credits", Credits(credits)));
    let cost = cost.or_else(|| item.is_without_cost.then(|| "unknown".to_owned()));
    let clock = Clock::local();
    let time = |at: Option<_>| at.map(|at| clock.minute(at));
    let facts = [
        ("model", Some(item.model.clone())),
        ("seed", request.integer(SEED).map(|seed| seed.to_string())),
        ("cost", cost),
        ("group", job.group.clone()),
        ("id", job.task_id.clone()),
        ("submitted", time(job.sent_at)),
        ("ready", time(job.ready_at)),
        ("path", job.location.clone()),
    ];
    for (name, value) in facts {
        value.into_iter().for_each(|value| item.fact(name, value));
    }
    let fields = request.outline();
    for (name, value) in fields.iter().filter(|(name, _)| ![PROMPT, SEED].contains(&name.as_str()))
    {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        item.fact(name, text);
    }
    if let Some(metadata) = job.metadata.as_ref().filter(|metadata| **metadata != Value::Null) {
        item.fact("metadata", metadata);
    }
    item
}

/// The path of the saved picture of a job, unless the picture is in a bucket.
pub fn path(job: &JobStatus) -> Option<&Path> {
    let location = job.location.as_deref().filter(|_| job.state == JobState::Saved)?;
    (!location.contains("://")).then(|| Path::new(location))
}
