//! The outcome of a run: its exit code, and the command that continues it.

use clap::{ArgMatches, Id, parser::ValueSource};

use super::{super::place::Place, drive::Ended, webhooks};
use crate::{
    context::Context,
    exit::Exit,
    failure::{FOREIGN, Failure},
    sanitize::quoted,
};
use imagekiln_batch::{JobState, Report};

/// The states that the next run continues.
const LEFT: [JobState; 4] =
    [JobState::Queued, JobState::Submitting, JobState::Submitted, JobState::Ready];

/// The parts of the command that continues a run.
pub struct Resume<'a> {
    pub context: &'a Context,
    pub matches: &'a ArgMatches,
    pub output: &'a str,
    pub place: &'a Place,
}

/// Succeeds if every job is saved.
pub fn check(ended: Ended, resume: &Resume<'_>) -> Result<(), Failure> {
    let report = &ended.report;
    let failure = match ended.error {
        Some(error) => Failure::from(error),
        None => match unsaved(report) {
            Some(message) => reason(report, ended.was_interrupted, message, resume),
            None => return Ok(()),
        },
    };
    let mut failure = failure.with_unrecorded(ended.unrecorded);
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
    let states = JobState::ALL.into_iter().filter(|state| *state != JobState::Saved);
    let counts: Vec<_> =
        states.map(|state| (state, report.count(state))).filter(|(_, jobs)| *jobs > 0).collect();
    let unsaved: u64 = counts.iter().map(|(_, jobs)| jobs).sum();
    let all = unsaved + report.count(JobState::Saved);
    let verb = if unsaved == 1 { "is" } else { "are" };
    let counts: Vec<_> = counts.iter().map(|(state, jobs)| format!("{jobs} {state}")).collect();
    let jobs = if all == 1 { "job" } else { "jobs" };
    (unsaved > 0)
        .then(|| format!("{unsaved} of {all} {jobs} {verb} not saved: {}", counts.join(", ")))
}

/// The failure of a run without an error.
fn reason(report: &Report, was_interrupted: bool, message: String, resume: &Resume<'_>) -> Failure {
    let has = |state| report.count(state) > 0;
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
    if was_interrupted {
        return Failure::jobs("interrupted", Exit::Interrupted, format!("interrupted: {message}"));
    }
    if has(JobState::Unknown) {
        return Failure::billing_unknown("jobs_unknown", message).advise(unknown);
    }
    if LEFT.into_iter().any(has) {
        let advice = if has(JobState::Queued) && resume.matches.contains_id("budget") {
            "the budget does not allow the queued jobs; raise --budget to continue"
        } else {
            "their tasks continue; run the batch again later"
        };
        return Failure::jobs("jobs_left", Exit::JobsLeft, message).advise(advice);
    }
    Failure::jobs("jobs_failed", Exit::TaskFailed, message)
        .advise(format!("`{status}` says why; `kiln batch retry` queues jobs again"))
}

impl Resume<'_> {
    /// Adds the two ways to continue with a ledger that may not have everything that was paid for.
    fn decide(&self, failure: Failure) -> Failure {
        let place = self.place.to_string();
        let mut words = vec!["batch", "adopt", "--output", self.output];
        if self.matches.contains_id("ledger") {
            words.extend(["--ledger", &place]);
        }
        let adopt = self.context.command_line(words);
        failure.advise(format!(
            "`{adopt}` accepts the pictures of the output, and then the next run continues; \
             `--pay-again` pays for all queued jobs"
        ))
    }

    /// The command without the jobs, which are in the ledger.
    fn command(&self) -> String {
        let place = self.place.to_string();
        let mut words = vec!["batch", "run", "--output", self.output];
        if self.matches.contains_id("ledger") {
            words.extend(["--ledger", &place]);
        }
        let options = self.options();
        for (flag, value) in &options {
            words.extend([flag.as_str(), value]);
        }
        self.context.command_line(words)
    }

    /// The given options that do not describe jobs.
    fn options(&self) -> Vec<(String, String)> {
        let limits = ["max-active", "budget", "price", "workers"].map(|name| (name.into(), name));
        let webhooks: Vec<_> = webhooks::args().collect();
        let webhooks =
            webhooks.iter().filter_map(|arg| Some((arg.get_id().clone(), arg.get_long()?)));
        let is_given =
            |id: &Id| self.matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let given = limits.into_iter().chain(webhooks).filter(|(id, _)| is_given(id));
        given
            .flat_map(|(id, flag)| {
                let values = self.matches.get_raw(id.as_str()).into_iter().flatten();
                let values = values.map(|value| value.to_string_lossy().into_owned());
                values.map(move |value| (format!("--{flag}"), value)).collect::<Vec<_>>()
            })
            .collect()
    }
}
