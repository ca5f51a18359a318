//! Finds new jobs whose requests were paid for before, or equal the request of another new job, so
//! that nobody pays for the same picture twice by mistake. This looks at requests as the user wrote
//! them. The seed that a job later gets from its name would make every request different.

use std::{
    cell::Cell,
    collections::{HashMap, hash_map},
};

use serde_json::Value;

use crate::{
    failure::Failure, jobfile::FileJob, making::identical::first_of, models::SEED, text::one_line,
};
use imagekiln::Request;
use imagekiln_batch::{JobState, KnownJob, Ledger};
use imagekiln_label::describe_request;

/// The states of jobs that were or may have been paid for, and that have a picture or may still get
/// one.
const PAID: [JobState; 6] = [
    JobState::Submitting,
    JobState::Unknown,
    JobState::Submitted,
    JobState::Ready,
    JobState::Saved,
    JobState::Damaged,
];

/// The name and the digest of a job that may be identical to another one.
pub type Candidate = (String, String);

/// Returns the candidates among jobs, which must not have the seeds of [`FileJob::with_seed`] yet.
pub fn candidates(jobs: &[FileJob]) -> Vec<Candidate> {
    let jobs = jobs.iter().filter(|job| may_be_identical(&job.request));
    let candidate = |job: &FileJob| Some((job.name.clone(), job.request.digest().ok()?));
    jobs.filter_map(candidate).collect()
}

/// Whether the same request makes the same picture. It does not if the model has a seed that the
/// request does not set, or if the request names an image by its path, because the file may have
/// changed.
fn may_be_identical(request: &Request) -> bool {
    let has_seed = request.integer(SEED).is_some() || request.operation().field(SEED).is_none();
    let has_files = Cell::new(false);
    let note = |_: &_| {
        has_files.set(true);
        Value::Null
    };
    has_seed && describe_request(request, note).is_ok() && !has_files.get()
}

/// Fails if new jobs are identical to others.
pub async fn check(candidates: &[Candidate], ledger: &Ledger) -> Result<(), Failure> {
    match find(candidates, Some(ledger)).await? {
        Some(same) => Err(Failure::already_paid(same)),
        None => Ok(()),
    }
}

/// Returns a message about the candidates that are new and identical to others, if there are any.
pub async fn find(
    candidates: &[Candidate],
    ledger: Option<&Ledger>,
) -> Result<Option<String>, Failure> {
    let known = match ledger {
        Some(ledger) if !candidates.is_empty() => ledger.jobs().known().await?,
        _ => HashMap::new(),
    };
    let (mut new, mut same) = (HashMap::new(), Vec::new());
    for (name, digest) in candidates {
        if known.contains_key(name) {
            continue;
        }
        match new.entry(digest) {
            hash_map::Entry::Vacant(entry) => drop(entry.insert(name)),
            hash_map::Entry::Occupied(first) => same.push(sentence(name, first.get(), "")),
        }
    }
    let mut paid: Vec<_> = known.iter().filter(|(_, job)| PAID.contains(&job.state)).collect();
    paid.sort_by_key(|(_, job)| job.number);
    for (other, job) in paid {
        let name = new.get(&job.request_sha256);
        same.extend(name.map(|name| sentence(name, other, &outcome(job))));
    }
    Ok((!same.is_empty()).then(|| first_of(&same)))
}

fn sentence(name: &str, other: &str, outcome: &str) -> String {
    let [name, other] = [name, other].map(one_line);
    format!("job `{name}` is the same request as job `{other}`{outcome}")
}

fn outcome(job: &KnownJob) -> String {
    match &job.location {
        Some(location) => format!(", saved as {}", one_line(location)),
        None => format!(", which is {}", job.state),
    }
}
