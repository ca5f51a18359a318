//! The outcome of a run: its exit code, and what to do about jobs that are not saved.

use super::{drive::Ended, resume::Resume};
use crate::{
    failure::{FOREIGN, Failure, exit::Exit},
    text::sanitize::{printable, quoted},
};
use imagekiln::text::counted;
use imagekiln_batch::{JobState, Report};

/// The states that the next run continues.
const LEFT: [JobState; 4] =
    [JobState::Queued, JobState::Submitting, JobState::Submitted, JobState::Ready];

/// Succeeds if every job is saved that nobody cancelled.
pub fn check(mut ended: Ended, resume: &Resume<'_>) -> Result<(), Failure> {
    let failure = match ended.error.take() {
        Some(error) => Failure::from(error),
        None => match unsaved(&ended.report) {
            Some(message) => reason(&ended, message, resume),
            None => return Ok(()),
        },
    };
    let (report, mut failure) = (&ended.report, failure.with_unrecorded(ended.unrecorded));
    failure.billing_unknown |=
        report.count(JobState::Unknown) + report.count(JobState::Submitting) > 0;
    // The same command cannot continue jobs that the budget does not allow.
    let queued = if failure.exit == Exit::JobsLeft { 0 } else { report.count(JobState::Queued) };
    let active: u64 = LEFT[1..].iter().map(|state| report.count(*state)).sum();
    if failure.kind == FOREIGN {
        return Err(resume.decide(failure));
    }
    if queued + active > 0 {
        failure.resume_command = Some(resume.command());
    }
    Err(failure)
}

/// Describes the jobs that are not saved, for example `3 of 9 jobs are not saved: 2 failed, 1
/// unknown`.
fn unsaved(report: &Report) -> Option<String> {
    let done = [JobState::Saved, JobState::Cancelled];
    let states = JobState::ALL.into_iter().filter(|state| !done.contains(state));
    let counts: Vec<_> =
        states.map(|state| (state, report.count(state))).filter(|(_, jobs)| *jobs > 0).collect();
    let unsaved: u64 = counts.iter().map(|(_, jobs)| jobs).sum();
    let all = unsaved + report.count(JobState::Saved);
    let verb = if unsaved == 1 { "is" } else { "are" };
    let counts: Vec<_> = counts.iter().map(|(state, jobs)| format!("{jobs} {state}")).collect();
    let all = counted(all, "job");
    (unsaved > 0).then(|| format!("{unsaved} of {all} {verb} not saved: {}", counts.join(", ")))
}

/// The failure of a run without an error.
fn reason(ended: &Ended, message: String, resume: &Resume<'_>) -> Failure {
    let has = |state| ended.report.count(state) > 0;
    let ledger = quoted(&resume.place.to_string());
    let status = format!("kiln batch status --ledger {ledger}");
    let unknown = format!(
        "check your usage with the service before you resolve unknown jobs; `{status}` lists them"
    );
    // Submissions that a second Ctrl-C abandoned become unknown when the ledger is opened again.
    if has(JobState::Submitting) {
        let failure = Failure::billing_unknown("jobs_unknown", message);
        return failure.advise(format!(
            "these submissions have no response; `{status}` lists those that become unknown"
        ));
    }
    if ended.was_interrupted {
        return Failure::jobs("interrupted", Exit::Interrupted, format!("interrupted: {message}"));
    }
    if has(JobState::Unknown) {
        return Failure::billing_unknown("jobs_unknown", message).advise(unknown);
    }
    if LEFT.into_iter().any(has) {
        let advice = match &ended.budget {
            Some(reason) => format!("{}; `kiln batch budget` raises it", printable(reason)),
            None if has(JobState::Queued) && resume.options.budget.is_some() => {
                "the budget does not allow the queued jobs; raise --budget to continue".to_owned()
            }
            None => "their tasks continue; run the batch again later".to_owned(),
        };
        return Failure::jobs("jobs_left", Exit::JobsLeft, message).advise(advice);
    }
    Failure::jobs("jobs_failed", Exit::TaskFailed, message)
        .advise(format!("`{status}` says why; `kiln batch retry` queues jobs again"))
}
