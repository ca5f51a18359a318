//! `kiln batch advance`: continues one job, for queues and workflow engines.

use std::{path::Path, time::Duration};

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    ledgers,
    place::{self, Access, Place, Places},
    print::{directory, job_event, job_line},
    progress::OPEN,
    run::{LAST_SUBMISSIONS, check_features, set_prices, unrecorded},
};
use crate::{
    args::options,
    context::Context,
    failure::{Exit, FOREIGN, Failure, LOCKED, exit, exit_of_job},
    files::target::check_path,
    history::durations::KeptDurations,
    process::Interrupts,
    service,
    text::{duration, one_line, printable, quoted},
};
use imagekiln::ClientBuilder;
use imagekiln_batch::{Advanced, Batch, Dispatcher, JobState, JobStatus, Ledger};

/// How long to wait before the next attempt to open a ledger that another process has open.
const SOON: Duration = Duration::from_secs(1);

pub const NAME: &str = "advance";

const NOTES: &str = "\
    Exit code 0: the job is saved or cancelled. 4, 5 and 6: it has ended without a picture. 13: it \
    has not ended; run the same command again, after the `wait` that --json prints. With every \
    other code, it has not ended either, and the same command continues it. However often the \
    command runs, and wherever it is killed, a job is submitted once, unless a person retries it \
    or resolves it as not paid. Ctrl-C and SIGTERM give the job back.";

#[derive(Args)]
pub struct Options {
    /// The name of the job
    name: String,
    /// Keep trying for this long while the job has to wait, such as 90s, and then give it back
    /// [default: until the job first has to wait]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    wait: Option<Duration>,
    #[command(flatten)]
    places: Places,
}

/// What became of the job.
enum Outcome {
    Ended(Box<JobStatus>),
    /// The job has to wait: run the command again after this time. There is no status if the ledger
    /// could not be opened, because another process has it open.
    Later(Duration, Option<Box<JobStatus>>),
    Interrupted(Box<JobStatus>),
    /// Something else failed, such as the output, and the job has not ended.
    Failed(Box<JobStatus>, Failure),
}

pub fn command() -> Command {
    Options::augment_args(Command::new(NAME))
        .args(options::shared(options::ADVANCING))
        .about("Continue one job, for queues and workflow engines")
        .after_help(NOTES)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches)?;
    let output = &options.places.output;
    check_path(Path::new(output))?;
    check_features(output)?;
    let place = options.places.ledger()?;
    let place = place.ok_or_else(place::missing)?;
    let outcome = Advance { context, options: &options, place: &place }.run().await;
    outcome.and_then(|outcome| print(context, &options, &place, outcome)).map_err(|failure| {
        for task in &failure.unrecorded {
            context.output.unrecorded(task, &context.save_command(task));
        }
        match failure.kind {
            FOREIGN => failure.advise("`kiln batch adopt` accepts the pictures of the output"),
            _ => failure,
        }
    })
}

struct Advance<'a> {
    context: &'a Context,
    options: &'a Options,
    place: &'a Place,
}

impl Advance<'_> {
    async fn run(&self) -> Result<Outcome, Failure> {
        let Self { context, options, place } = self;
        let interrupts = Interrupts::listen(context.process())?;
        let (client, _) = service::client(context).await?;
        let end = options.wait.and_then(|wait| Instant::now().checked_add(wait));
        let ledger = loop {
            match place.open(context.process(), Access::Run).await {
                Err(failure) if failure.kind == LOCKED => {
                    if interrupts.happened() || !self.pause(SOON, end, &interrupts).await {
                        return Ok(Outcome::Later(SOON, None));
                    }
                }
                opened => break opened?,
            }
        };
        ledgers::remember(context, place)?;
        let before = self.job(&ledger).await?;
        let advanced = self.continued(client, &ledger, end, &interrupts).await;
        let (job, advanced) = match (self.job(&ledger).await, advanced) {
            (Ok(job), Ok(advanced)) => (job, advanced),
            // If the ledger cannot be read after the failure, the job counts as unchanged.
            (job, Err(failure)) => match job.unwrap_or(before) {
                job if is_open(job.state) => return Ok(Outcome::Failed(job, failure)),
                _ => return Err(failure),
            },
            (Err(failure), Ok(_)) => return Err(failure),
        };
        Ok(match advanced {
            Some(Advanced::Ended(job)) => Outcome::Ended(job),
            // The step that was in flight may have ended the job.
            _ if !is_open(job.state) => Outcome::Ended(job),
            None if interrupts.happened() => Outcome::Interrupted(job),
            Some(Advanced::Later(after)) => Outcome::Later(after, Some(job)),
            _ => Outcome::Later(Duration::ZERO, Some(job)),
        })
    }

    /// Continues the job with a dispatcher, and then ends the dispatcher, so that the job is given
    /// back before the command returns.
    async fn continued(
        &self,
        client: ClientBuilder,
        ledger: &Ledger,
        end: Option<Instant>,
        interrupts: &Interrupts,
    ) -> Result<Option<Advanced>, Failure> {
        let Self { context, options, .. } = self;
        set_prices(context, ledger).await?;
        let batch = Batch::open(client, ledger.clone())?.save_to(&options.places.output);
        let most = context.settings.max_active().map(usize::from);
        let batch = most.into_iter().fold(batch, Batch::max_active);
        let _durations =
            context.records()?.then(|| KeptDurations::of(context.process(), batch.client()));
        let client = batch.client().clone();
        let dispatcher = batch.dispatcher().await?;
        let advanced = self.advance(&dispatcher, end, interrupts).await;
        if interrupts.happened() {
            let text = "stopping: the job is given back when the step in flight is done; press \
                        Ctrl-C again to stop at once";
            context.output.message("stopping", text);
        }
        let finished = tokio::select! {
            finished = dispatcher.finish() => finished.map_err(Failure::from),
            () = interrupts.second() => {
                context.output.last_responses(LAST_SUBMISSIONS);
                let accepted = client.drain(LAST_SUBMISSIONS).await.unwrap_or_default();
                let tasks = unrecorded(ledger, accepted).await;
                let message = "interrupted: responses arrived that the ledger does not have";
                let failure = || Failure::new("interrupted", Exit::Interrupted, message);
                if tasks.is_empty() { Ok(()) } else { Err(failure().with_unrecorded(tasks)) }
            }
        };
        match (advanced, finished) {
            (Err(first), Err(other)) => {
                let tasks = [&first.unrecorded[..], &other.unrecorded].concat();
                Err(first.with_unrecorded(tasks))
            }
            (advanced, finished) => finished.and(advanced),
        }
    }

    /// Calls the dispatcher until the job has ended, or has to wait for longer than this command
    /// may. Returns `None` if the time of `--wait` ended during a call, or the user interrupted the
    /// command.
    async fn advance(
        &self,
        dispatcher: &Dispatcher,
        end: Option<Instant>,
        interrupts: &Interrupts,
    ) -> Result<Option<Advanced>, Failure> {
        loop {
            let call = async {
                let call = dispatcher.advance(&self.options.name);
                match end {
                    Some(end) => timeout_at(end, call).await.ok().transpose(),
                    None => call.await.map(Some),
                }
            };
            let advanced = tokio::select! {
                biased;
                () = interrupts.first() => return Ok(None),
                advanced = call => advanced?,
            };
            match advanced {
                Some(Advanced::Later(after)) if self.pause(after, end, interrupts).await => {}
                _ if interrupts.happened() => return Ok(None),
                advanced => return Ok(advanced),
            }
        }
    }

    /// Waits for `time`, unless the command has to end before then. Returns whether to try again.
    async fn pause(&self, time: Duration, end: Option<Instant>, interrupts: &Interrupts) -> bool {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if left > time => timeout(time, interrupts.first()).await.is_err(),
            _ => false,
        }
    }

    async fn job(&self, ledger: &Ledger) -> Result<Box<JobStatus>, Failure> {
        let name = &self.options.name;
        ledger.jobs().get(name).await?.map(Box::new).ok_or_else(|| {
            let ledger = quoted(&self.place.to_string());
            Failure::usage(format!("the ledger has no job `{}`", one_line(name))).advise(format!(
                "nothing was sent; `kiln batch status --all --ledger {ledger}` lists the jobs"
            ))
        })
    }
}

/// Whether a later call may continue a job in this state.
fn is_open(state: JobState) -> bool {
    OPEN.contains(&state) || state == JobState::Unknown
}

/// Prints the job, and fails unless it is saved or cancelled.
fn print(
    context: &Context,
    options: &Options,
    place: &Place,
    outcome: Outcome,
) -> Result<(), Failure> {
    let (job, wait) = match &outcome {
        Outcome::Ended(job) => (Some(job), None),
        Outcome::Later(wait, job) => (job.as_ref(), Some(*wait)),
        Outcome::Interrupted(job) | Outcome::Failed(job, _) => (Some(job), Some(Duration::ZERO)),
    };
    let name = one_line(&options.name);
    let reason = match (&outcome, job) {
        (Outcome::Failed(_, failure), _) => Some(failure.message.clone()),
        (Outcome::Interrupted(job), _) if job.state == JobState::Submitting => {
            Some("its submission has no response yet".to_owned())
        }
        (_, Some(job)) => job.reason.clone().or_else(|| waits_for(job.state).map(str::to_owned)),
        (_, None) => Some("another process has opened the ledger".to_owned()),
    };
    let people = || match job {
        Some(job) => job_line(job, &directory(context.process())),
        None => format!("{name}: not known"),
    };
    let programs = || {
        json!({
            "event": "advanced",
            "ended": wait.is_none(),
            "wait": wait.map(|wait| wait.as_secs_f64()),
            "reason": reason,
            "job": job.map(|job| job_event(job)),
        })
    };
    context.output.result(people, programs)?;
    let shown = reason.as_deref().map_or_else(String::new, |why| format!(": {}", printable(why)));
    match outcome {
        Outcome::Ended(job) => ended(&job, &name, &shown, place),
        Outcome::Later(wait, job) => {
            let message = format!("job `{name}` has not ended{shown}");
            let is_unknown = job.is_some_and(|job| job.state == JobState::Unknown);
            let advice = match wait {
                _ if is_unknown => {
                    let (name, ledger) = (quoted(&options.name), quoted(&place.to_string()));
                    format!(
                        "check your usage with the service, then run `kiln batch resolve {name} \
                         --ledger {ledger}` with --paid, --not-paid or --task"
                    )
                }
                Duration::ZERO => "run the same command again".to_owned(),
                wait => {
                    format!("run the same command again in {} s", wait.as_secs_f64().ceil())
                }
            };
            let mut failure = Failure::new("later", Exit::Later, message).advise(advice);
            failure.billing_unknown = is_unknown;
            Err(failure)
        }
        Outcome::Failed(job, mut failure) => {
            failure.exit = exit_of_open_job(failure.exit, job.task_id.is_some());
            Err(failure)
        }
        Outcome::Interrupted(job) if job.state == JobState::Submitting => {
            let message = format!("interrupted: the submission of job `{name}` has no response");
            Err(Failure::billing_unknown("jobs_unknown", message))
        }
        Outcome::Interrupted(job) => {
            let message = format!("interrupted: job `{name}` is {}, and was given back", job.state);
            Err(Failure::new("interrupted", Exit::Interrupted, message)
                .advise("run the same command again to continue"))
        }
    }
}

/// Returns the exit code of a failure after which the job is still open. It is never one that says
/// that the job has ended and, if the job has a task, never one that says that nothing was charged.
fn exit_of_open_job(exit: Exit, has_task: bool) -> Exit {
    match exit::worst([exit], has_task).unwrap_or_default() {
        Exit::TaskFailed | Exit::Moderated | Exit::Continues => Exit::Other,
        exit => exit,
    }
}

/// Says what a job in this state waits for, for a job whose status has no reason.
fn waits_for(state: JobState) -> Option<&'static str> {
    Some(match state {
        JobState::Queued => "it waits for other jobs",
        JobState::Submitting => "another worker submits it",
        JobState::Submitted => "its task is not final",
        JobState::Ready => "its picture is not saved",
        JobState::Unknown => "a person decides whether its submission was paid",
        _ => return None,
    })
}

/// Returns the outcome of a job that has ended, with the exit code that `kiln batch run` has for
/// it.
fn ended(job: &JobStatus, name: &str, reason: &str, place: &Place) -> Result<(), Failure> {
    let Some(exit) = exit_of_job(job.state) else { return Ok(()) };
    let kind = if job.state == JobState::Damaged { "damaged" } else { "jobs_failed" };
    let message = format!("job `{name}` is {}{reason}", job.state);
    let ledger = quoted(&place.to_string());
    Err(Failure::new(kind, exit, message).advise(format!(
        "`kiln batch jobs retry {} --ledger {ledger}` queues it again",
        quoted(name)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_failure_does_not_say_that_the_job_has_ended() {
        for (failure, has_task, code) in [
            (Exit::Continues, true, Exit::Other),
            (Exit::Moderated, true, Exit::Other),
            (Exit::Network, true, Exit::Other),
            (Exit::Network, false, Exit::Network),
            (Exit::Unpaid, false, Exit::Unpaid),
            (Exit::BillingUnknown, true, Exit::BillingUnknown),
        ] {
            assert_eq!(exit_of_open_job(failure, has_task), code, "{failure:?}, {has_task}");
        }
    }
}
