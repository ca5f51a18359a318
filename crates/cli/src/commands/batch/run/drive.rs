//! Runs a batch, shows its progress, and stops it at Ctrl-C. Then determines the outcome: the exit
//! code, and how to continue with jobs that are not saved.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    pin::pin,
    time::Duration,
};

use clap::ArgMatches;
use tokio::{
    sync::mpsc,
    time::{self, Instant},
};

use super::{
    super::{
        place::Place,
        print::outage_lines,
        progress::{OPEN, Progress},
    },
    arguments::{RunOptions, is_given},
};
use crate::{
    args::options,
    context::Context,
    failure::{Exit, FOREIGN, Failure, exit, exit_of_job},
    process::Interrupts,
    text::{one_line, printable, quoted},
};
use imagekiln::{TaskRef, text::counted};
use imagekiln_batch::{
    Batch, Error, ErrorKind, Filter, JobState, JobStatus, Ledger, Outage, Report, Scope,
};

/// How long a run that was stopped at once still waits for responses to submissions in flight.
pub const LAST_SUBMISSIONS: Duration = Duration::from_secs(5);

/// How often the ledger is read for changes that other processes make. The pause is at least
/// [`SHARE`] times as long as the reading, so a slow ledger is read less often.
const LOOKS: Duration = Duration::from_secs(1);
const SHARE: u32 = 20;

/// The kind of the failure of a run that has left jobs to a later run.
const JOBS_LEFT: &str = "jobs_left";

/// The states of jobs that either have no task, or need nothing more because their pictures are
/// saved.
const WITHOUT_OPEN_TASK: [JobState; 3] = [JobState::Queued, JobState::Saved, JobState::Cancelled];

/// How a run has ended.
pub struct Ended {
    pub report: Report,
    pub error: Option<Error>,
    /// Accepted tasks that the ledger could not record.
    pub unrecorded: Vec<TaskRef>,
    pub was_interrupted: bool,
    /// Whether a job that this run has changed has a task, so something was charged.
    pub is_charged: bool,
    /// If a budget that the ledger stores does not allow a queued job: the reason, and what to do.
    pub budget: Option<String>,
}

/// Runs the batch until no job can continue, or the user stops it, and prints the report.
pub async fn drive(
    batch: Batch,
    interrupts: &Interrupts,
    resume: &Resume<'_>,
) -> Result<Ended, Failure> {
    let context = resume.context;
    let ledger = batch.ledger().clone();
    let client = batch.client().clone();
    let (sender, mut changes) = mpsc::unbounded_channel();
    // Sending fails only after this function has returned, when nobody shows the progress.
    let mut batch = batch.on_change(move |job| drop(sender.send(job.clone())));
    let mut progress = Progress::new(&context.output, &ledger.reports().jobs().await?);
    let mut looks = look(ledger.clone(), progress.has_counts());
    let (mut paused, mut outages) = (BTreeSet::new(), Vec::new());
    let (mut is_stopping, mut is_charged) = (false, false);
    let outcome = {
        let mut run = pin!(batch.run());
        loop {
            tokio::select! {
                biased;
                () = interrupts.second() => break None,
                () = interrupts.first(), if !is_stopping => {
                    is_stopping = true;
                    let text = "stopping: no more jobs are submitted, and the active ones continue \
                                to their end; press Ctrl-C again to stop at once";
                    context.output.message("stopping", text);
                }
                Some(job) = changes.recv() => {
                    is_charged |= job.task_id.is_some();
                    progress.changed(&job);
                }
                Some(look) = looks.recv() => {
                    if let Some(report) = look.report {
                        progress.update(&report);
                    }
                    note_outages(resume, &outages, &look.outages);
                    outages = look.outages;
                    note_pauses(resume, &paused, &look.paused);
                    paused = look.paused;
                }
                outcome = &mut run => break Some(outcome),
            }
        }
    };
    drop((batch, looks));
    let (error, unrecorded) = match outcome {
        Some(outcome) => {
            while let Some(job) = changes.recv().await {
                is_charged |= job.task_id.is_some();
                progress.changed(&job);
            }
            let error = outcome.err();
            let unrecorded = error.as_ref().map(|error| error.tasks().to_vec());
            (error, unrecorded.unwrap_or_default())
        }
        // Submissions that have no response even after this wait are `submitting` in the report.
        None => {
            context.output.last_responses(LAST_SUBMISSIONS);
            let accepted = client.drain(LAST_SUBMISSIONS).await.unwrap_or_default();
            (None, unrecorded(&ledger, accepted).await)
        }
    };
    for task in &unrecorded {
        context.output.unrecorded(task, &context.save_command(task));
    }
    let report = match ledger.reports().jobs().await {
        Ok(report) => report,
        Err(other) => {
            let first = error.unwrap_or(other);
            return Err(Failure::from(first).with_unrecorded(unrecorded));
        }
    };
    progress.finish(&report)?;
    let was_interrupted = is_stopping || interrupts.happened();
    let budget = if report.count(JobState::Queued) > 0 { budget(&ledger).await } else { None };
    Ok(Ended { report, error, unrecorded, was_interrupted, is_charged, budget })
}

/// Returns those of the accepted tasks that the ledger does not contain.
pub async fn unrecorded(ledger: &Ledger, mut accepted: Vec<TaskRef>) -> Vec<TaskRef> {
    if accepted.is_empty() {
        return accepted;
    }
    let states = JobState::ALL.into_iter().filter(|state| !WITHOUT_OPEN_TASK.contains(state));
    let jobs = ledger.jobs().list(&Filter::states(states)).await;
    let jobs = jobs.unwrap_or_default();
    let ids: HashSet<_> = jobs.iter().filter_map(|job| job.task_id.as_deref()).collect();
    accepted.retain(|task| !ids.contains(task.id()));
    accepted
}

/// The facts in the ledger that other processes may have changed.
struct Look {
    report: Option<Report>,
    paused: BTreeSet<Scope>,
    outages: Vec<Outage>,
}

/// Reads the ledger at intervals until the receiver is dropped. This happens in a separate task:
/// the loop of [`drive`] must not wait for the connection, because the run may hold it while the
/// loop does not poll the run.
fn look(ledger: Ledger, counts: bool) -> mpsc::Receiver<Look> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        while !sender.is_closed() {
            let start = Instant::now();
            let report = if counts { ledger.reports().jobs().await.ok() } else { None };
            // Errors are ignored here: the run meets the same errors, and reports them.
            if let (Ok(limits), Ok(outages)) =
                (ledger.limits().list().await, ledger.limits().outages().await)
            {
                let paused = limits.into_iter().filter(|limit| limit.is_paused);
                let paused = paused.map(|limit| limit.scope).collect();
                let _ = sender.send(Look { report, paused, outages }).await;
            }
            let pause = LOOKS.max(start.elapsed() * SHARE);
            tokio::select! {
                () = sender.closed() => {}
                () = time::sleep(pause) => {}
            }
        }
    });
    receiver
}

/// Prints once for each pause of an outage why nothing is submitted.
fn note_outages(resume: &Resume<'_>, before: &[Outage], now: &[Outage]) {
    let output = &resume.context.output;
    let is_news = |outage: &&Outage| {
        let same = |other: &Outage| (&other.scope, other.pauses) == (&outage.scope, outage.pauses);
        !before.iter().any(same)
    };
    let news: Vec<_> = now.iter().filter(is_news).cloned().collect();
    outage_lines(&news).iter().for_each(|line| output.note(line));
    if now.is_empty() && !before.is_empty() {
        output.note("the service accepts submissions again");
    }
}

/// Prints which limits are paused and how to continue, so that a paused run does not look as if it
/// had stopped working.
fn note_pauses(resume: &Resume<'_>, before: &BTreeSet<Scope>, now: &BTreeSet<Scope>) {
    let output = &resume.context.output;
    for scope in now.difference(before) {
        let (shown, command) = (one_line(&scope.to_string()), resume.after_pause(scope));
        output.note(&format!("paused: {shown}; `{command}` continues"));
    }
    for scope in before.difference(now) {
        output.note(&format!("not paused any more: {}", one_line(&scope.to_string())));
    }
}

/// Looks for a queued job that a budget in the ledger does not allow. Returns the reason, and what
/// to do. This does not check the budget of the run, which is an option of the command.
async fn budget(ledger: &Ledger) -> Option<String> {
    let queued = ledger.jobs().page(&Filter::states([JobState::Queued]), 0, 100).await.ok()?;
    let kind = |job: JobStatus| ((job.operation, job.group, job.pixels), job.name);
    let kinds: BTreeMap<_, _> = queued.into_iter().map(kind).collect();
    for ((operation, group, _), name) in kinds {
        let request = ledger.jobs().request(&name).await.ok()??;
        let refusal = ledger.limits().refusal(&request, group.as_deref()).await.ok()?;
        if let Some(error) = refusal.filter(|error| error.kind() == ErrorKind::Budget) {
            let reason = printable(&error.to_string());
            let has_price = ledger.limits().prices().await.ok()?.of(&operation).is_some();
            let command =
                format!("`kiln batch limits --price {operation}=PRICE` sets its price, and ");
            let price = if has_price { "" } else { &command };
            return Some(format!("{reason}; {price}`kiln batch limits --budget` raises it"));
        }
    }
    None
}

/// Returns the outcome of the command. It succeeds if all jobs are saved, except those that
/// somebody cancelled.
pub fn check(mut ended: Ended, resume: &Resume<'_>) -> Result<(), Failure> {
    let error = ended.error.take().map(Failure::from);
    let mut exits = exits(&ended, error.is_some());
    let failure = match error {
        Some(failure) => failure,
        None => match unsaved(&ended.report) {
            Some(message) => reason(&ended, message, resume),
            None => return Ok(()),
        },
    };
    let (report, mut failure) = (&ended.report, failure.with_unrecorded(ended.unrecorded));
    exits.push(failure.exit);
    failure.exit = exit::worst(exits, ended.is_charged).unwrap_or_default();
    failure.billing_unknown |=
        report.count(JobState::Unknown) + report.count(JobState::Submitting) > 0;
    // Running the command again does not continue jobs that the budget does not allow, so it is not
    // suggested for them.
    let is_over_budget = failure.kind == JOBS_LEFT;
    let queued = if is_over_budget { 0 } else { report.count(JobState::Queued) };
    let active: u64 = OPEN[1..].iter().map(|state| report.count(*state)).sum();
    if failure.kind == FOREIGN {
        return Err(resume.decide(failure));
    }
    if queued + active > 0 {
        failure.resume_command = Some(resume.command());
    }
    Err(failure)
}

/// Returns the exit codes of the jobs that are not saved. Queued jobs add none if an error ended
/// the run before anything was charged: then the code of the error counts.
fn exits(ended: &Ended, has_error: bool) -> Vec<Exit> {
    let count = |state: &JobState| ended.report.count(*state);
    let states = JobState::ALL.into_iter().filter(|state| count(state) > 0);
    let exits = states.filter_map(|state| match state {
        JobState::Queued if ended.is_charged || !has_error => Some(Exit::JobsLeft),
        state => exit_of_job(state),
    });
    exits.chain(ended.was_interrupted.then_some(Exit::Interrupted)).collect()
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

/// Returns the failure of a run that ended without an error, but has jobs that are not saved.
fn reason(ended: &Ended, message: String, resume: &Resume<'_>) -> Failure {
    let has = |state| ended.report.count(state) > 0;
    let ledger = quoted(&resume.place.to_string());
    let status = format!("kiln batch status --ledger {ledger}");
    let unknown = format!(
        "check your usage with the service before you resolve unknown jobs; `{status}` lists them"
    );
    // A second Ctrl-C has abandoned these submissions. They become unknown when a process next
    // opens the ledger.
    if has(JobState::Submitting) {
        let failure = Failure::billing_unknown("jobs_unknown", message);
        return failure.advise(format!(
            "these submissions have no response; `{status}` lists those that become unknown"
        ));
    }
    if has(JobState::Unknown) {
        return Failure::billing_unknown("jobs_unknown", message).advise(unknown);
    }
    if ended.was_interrupted {
        return Failure::new("interrupted", Exit::Interrupted, format!("interrupted: {message}"));
    }
    if OPEN.into_iter().any(has) {
        let advice = match &ended.budget {
            Some(reason) => reason.clone(),
            None if has(JobState::Queued) && resume.options.budget.is_some() => {
                "the budget does not allow the queued jobs; raise --budget to continue".to_owned()
            }
            None => "their tasks continue; run the batch again later".to_owned(),
        };
        return Failure::new(JOBS_LEFT, Exit::JobsLeft, message).advise(advice);
    }
    if has(JobState::Damaged) {
        return Failure::new("damaged", Exit::Continues, message)
            .advise(format!("`{status}` names the damaged files, and what to do with them"));
    }
    Failure::new("jobs_failed", Exit::TaskFailed, message)
        .advise(format!("`{status}` says why; `kiln batch jobs retry` queues jobs again"))
}

/// Composes the commands that continue a run, from the parts of its own command line.
pub struct Resume<'a> {
    pub context: &'a Context,
    pub matches: &'a ArgMatches,
    pub options: &'a RunOptions,
    pub place: &'a Place,
}

impl Resume<'_> {
    /// Adds to a failure the two ways to continue if the ledger may lack pictures that were paid
    /// for.
    pub fn decide(&self, failure: Failure) -> Failure {
        let adopt = self.command_line("adopt", &[]);
        failure.advise(format!(
            "`{adopt}` accepts the pictures of the output, and then the next run continues; \
             `--pay-again` pays for all queued jobs"
        ))
    }

    /// Returns the command that ends a pause.
    pub fn after_pause(&self, scope: &Scope) -> String {
        let option = match scope {
            Scope::Operation(name) => format!(" --model {}", quoted(name)),
            Scope::Group(name) => format!(" --group {}", quoted(name)),
            _ => String::new(),
        };
        format!("kiln batch limits --unpause{option} --ledger {}", quoted(&self.place.to_string()))
    }

    /// Returns the command that continues the run. It does not name the jobs, which are in the
    /// ledger.
    pub fn command(&self) -> String {
        // Keeps only options with a value. This leaves out `--pay-again`, which a person must
        // decide anew for each run.
        let elsewhere = ["output", "ledger"];
        let options = options::of::<RunOptions>().into_iter().filter(|option| {
            let id = option.get_id().as_str();
            option.get_action().takes_values()
                && !elsewhere.contains(&id)
                && is_given(self.matches, id)
        });
        let words = options.flat_map(|option| {
            let values = self.matches.get_raw(option.get_id().as_str()).into_iter().flatten();
            let values = values.map(|value| value.to_string_lossy().into_owned());
            let flag = format!("--{}", option.get_long().unwrap_or_default());
            values.flat_map(|value| [flag.clone(), value]).collect::<Vec<_>>()
        });
        self.command_line("run", &words.collect::<Vec<_>>())
    }

    /// Returns a command of `kiln batch` with the same ledger and output.
    fn command_line(&self, command: &str, more: &[String]) -> String {
        let place = self.place.to_string();
        let mut words = vec!["batch", command, "--output", &self.options.places.output];
        if self.options.places.ledger.is_some() {
            words.extend(["--ledger", &place]);
        }
        words.extend(more.iter().map(String::as_str));
        self.context.command_line(words)
    }
}
