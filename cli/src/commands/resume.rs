//! `kiln resume`: waits for every unfinished task, and saves its picture to where it was meant to
//! go.

use std::time::Duration;

use clap::{ArgMatches, Command};
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    context::Context,
    exit::Exit,
    failure::{Failure, Left, settle},
    history::{Claim, Record, Store, list, unreadable},
    interrupt::Interrupts,
    make,
    output::reference_json,
    seeing::{self, Seeing},
    session::Session,
    target::Saved,
};
use imagekiln::Task;

pub const NAME: &str = "resume";

/// How often, and after which pause, a claim is tried again: `kiln history` holds each one for a
/// moment.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

pub fn command() -> Command {
    Command::new(NAME)
        .about("Wait for every unfinished task, and save its picture where it was meant to go")
        .args(seeing::args())
        .after_help(
            "A submission whose response was lost is reported, and never sent again.\n\
             Tasks that another command is waiting for are left to it.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if context.globals.simulate {
        return Err(Failure::usage("an in-process simulator has no tasks of earlier commands")
            .advise("remove --simulate"));
    }
    let seeing = Seeing::of(context, matches, None)?;
    let unfinished = claim_all(context).await?;
    if unfinished.is_empty() {
        context.output.note("nothing is unfinished");
        return Ok(());
    }
    let all = unfinished.len();
    let (tasks, unknown): (Vec<_>, Vec<_>) =
        unfinished.into_iter().partition(|record| record.entry.task.is_some());
    let mut outcome = Outcome::default();
    if !tasks.is_empty() {
        finish_all(context, &seeing, tasks, &mut outcome).await?;
    }
    for record in &unknown {
        outcome.fail(context, record.number, &lost(record));
    }
    let Some(exit) = outcome.exits.first() else { return outcome.problem.map_or(Ok(()), Err) };
    let message = format!("{} of {all} submissions have no picture", outcome.exits.len());
    let failure = Failure::resume(*exit, message);
    let advice = outcome.left.advice();
    Err(if advice.is_empty() { failure } else { failure.advise(advice.join("; ")) })
}

/// What became of the unfinished submissions.
#[derive(Default)]
struct Outcome {
    /// The exit codes of those without a picture.
    exits: Vec<Exit>,
    left: Left,
    /// The first problem that is not that of a submission.
    problem: Option<Failure>,
}

impl Outcome {
    /// Reports a submission without a picture.
    fn fail(&mut self, context: &Context, number: u64, failure: &Failure) {
        context.output.not_saved(number, failure);
        self.exits.push(failure.exit);
        self.left.add(failure);
    }
}

/// The unfinished submissions that no other process works on, oldest first.
async fn claim_all(context: &Context) -> Result<Vec<Record>, Failure> {
    let store = Store::locate()?;
    let lines = list::lines(&store, context.output, usize::MAX, |entry| entry.end.is_none())?;
    let mut records = Vec::new();
    for line in lines.into_iter().rev() {
        let number = line.number;
        let Some(claim) = claim(&store, number).await? else {
            context.output.note(&format!("another command is waiting for @{number}"));
            continue;
        };
        // The process that had the claim before may have finished the submission.
        let Ok(entry) = store.read(number) else { continue };
        if entry.end.is_none() {
            let found = (number, entry);
            records.push(Record::existing(&store, context.output, found, Some(claim)));
        }
    }
    Ok(records)
}

async fn claim(store: &Store, number: u64) -> Result<Option<Claim>, Failure> {
    for _ in 1..ATTEMPTS {
        if let Some(claim) = store.claim(number).map_err(|error| unreadable(store, error))? {
            return Ok(Some(claim));
        }
        sleep(PAUSE).await;
    }
    Ok(None)
}

/// Waits for all tasks at once.
async fn finish_all(
    context: &Context,
    seeing: &Seeing,
    records: Vec<Record>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let session = Session::open(context).await?;
    let interrupts = Interrupts::listen()?;
    let spinner = context.output.spin(format!("tasks to wait for: {}", records.len()));
    let mut waits = JoinSet::new();
    for record in records {
        let Some(reference) = record.entry.task.clone() else { continue };
        let task = session.client.task(reference);
        waits.spawn(finish(context.without_spinner(), task, record, interrupts.clone()));
    }
    while let Some(ended) = waits.join_next().await {
        // The other pictures matter more than the path of one, or a wait that broke.
        let problem = match ended {
            Ok((task, _, Ok(saved))) => {
                let about = json!({ "task": reference_json(task.reference()) });
                seeing.present(context, &saved, &task, about).await.err()
            }
            Ok((_, number, Err(failure))) => {
                outcome.fail(context, number, &failure);
                None
            }
            Err(error) => Some(Failure::other("could not wait for a task", &error)),
        };
        outcome.problem = outcome.problem.take().or(problem);
    }
    drop(spinner);
    Ok(())
}

async fn finish(
    context: Context,
    task: Task,
    mut record: Record,
    interrupts: Interrupts,
) -> (Task, u64, Result<Saved, Failure>) {
    let target = record.entry.destination.target();
    let saved = match target.check(context.output.json) {
        Ok(()) => make::finish(&context, &task, &target, Some(&mut record), &interrupts).await,
        Err(failure) => Err(failure.after_payment(task.reference())),
    };
    let saved = saved.map_err(|failure| context.with_resume_command(failure, None, Some(&record)));
    (task, record.number, saved)
}

/// The report about a submission without a response.
fn lost(record: &Record) -> Failure {
    let entry = &record.entry;
    let (model, time, number) = (entry.intent.operation(), list::time(entry), record.number);
    let mut failure = Failure::billing_unknown(
        "unknown",
        format!(
            "the response to the submission to {model} at {time} UTC was lost: it is unknown \
             whether a task was created and charged"
        ),
    );
    failure.number = Some(number);
    failure.advise(format!(
        "it is not sent again; check your usage with the service: {}",
        settle(&[format!("@{number}")], None)
    ))
}
