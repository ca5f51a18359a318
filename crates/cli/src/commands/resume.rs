//! `kiln resume`: waits for every unfinished task, and saves its picture to its target.

use std::sync::Arc;

use clap::{ArgMatches, Command};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    args::options,
    context::Context,
    failure::{Failure, Left, exit, settle},
    files::target::Saved,
    history::{self, Entry, History},
    making,
    output::reference_json,
    process::Interrupts,
    seeing::{Seeing, SeeingOptions},
    service::Session,
    text::{one_line, rfc3339},
};
use imagekiln::Task;

pub const NAME: &str = "resume";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Wait for every unfinished task, and save its picture")
        .args(options::of::<SeeingOptions>())
        .args(options::shared(options::RESUMING))
        .after_help(
            "A submission whose response was lost is reported, and never sent again.\n\
             Tasks that another command is waiting for are left to it.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let seeing = Seeing::of(context, matches, None)?;
    let mut left = Left::default();
    let (history, unfinished) = unfinished(context, &mut left).await?;
    let all = unfinished.len() + left.exits.len();
    if all == 0 {
        context.output.note("nothing is unfinished");
        return Ok(());
    }
    let (tasks, unknown): (Vec<_>, Vec<_>) =
        unfinished.into_iter().partition(|entry: &Entry| entry.record.task().is_some());
    let mut problem = None;
    if !tasks.is_empty() {
        problem = finish_all(context, history, &seeing, tasks, &mut left).await?;
    }
    for entry in &unknown {
        fail(context, &mut left, entry.number, &lost(entry));
    }
    // Earlier commands have paid for the pictures, so the exit code must not say that nothing was
    // charged.
    let Some(exit) = exit::worst(left.exits.iter().copied(), true) else {
        return problem.map_or(Ok(()), Err);
    };
    let message = format!("{} of {all} submissions have no picture", left.exits.len());
    Err(left.failure("resume", exit, message, 0))
}

/// Reports a submission without a picture.
fn fail(context: &Context, left: &mut Left, number: u64, failure: &Failure) {
    context.output.not_saved(&format!("@{number}"), ("number", number), failure);
    left.add(failure);
}

/// Returns the unfinished submissions that no other process works on, oldest first, and the history
/// that has claimed them, unless the command does not write to it. Reports submissions that cannot
/// be read, and those that another process works on.
async fn unfinished(
    context: &Context,
    left: &mut Left,
) -> Result<(Option<History>, Vec<Entry>), Failure> {
    let mut entries = Vec::new();
    for found in history::unfinished(context.process())? {
        match found {
            Ok(entry) => entries.push(entry),
            Err(file) => fail(context, left, file.number, &history::damaged(&file)),
        }
    }
    entries.reverse();
    let is_left =
        |number| context.output.note(&format!("another command is waiting for @{number}"));
    let (in_use, entries): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.is_in_use);
    in_use.iter().for_each(|entry| is_left(entry.number));
    if entries.is_empty() || !context.records()? {
        return Ok((None, entries));
    }
    let history = History::open(&context.output, Vec::new())?;
    let (entries, others) = history.take_over(entries).await?;
    others.into_iter().for_each(is_left);
    Ok((Some(history), entries))
}

/// Waits for all tasks at once, and adds submissions that fail to `left`. Returns the first other
/// problem, such as a path that could not be printed.
async fn finish_all(
    context: &Context,
    history: Option<History>,
    seeing: &Seeing,
    entries: Vec<Entry>,
    left: &mut Left,
) -> Result<Option<Failure>, Failure> {
    let session = Arc::new(Session::recorded(context, history).await?);
    let interrupts = Interrupts::listen(context.process())?;
    let spinner = context.output.spin(format!("tasks to wait for: {}", entries.len()));
    let mut waits = JoinSet::new();
    let mut first = None;
    for entry in entries {
        if let Err(failure) = session.check_service(context, &entry, "resume") {
            fail(context, left, entry.number, &failure);
            continue;
        }
        let Some(task) = session.client.task_of_record(&entry.record) else { continue };
        let (context, session) = (context.without_spinner(), Arc::clone(&session));
        waits.spawn(finish(context, session, task, entry, interrupts.clone()));
    }
    while let Some(ended) = waits.join_next().await {
        // A path that can't be printed, or a wait that failed, must not keep the other pictures
        // from being saved, so the problem is returned at the end.
        let problem = match ended {
            Ok((task, _, Ok(saved))) => {
                let about = json!({ "task": reference_json(task.reference()) });
                seeing.present(context, &saved, &task, about).await.err()
            }
            Ok((_, number, Err(failure))) => {
                fail(context, left, number, &failure);
                None
            }
            Err(error) => Some(Failure::other("could not wait for a task", &error)),
        };
        first = first.or(problem);
    }
    drop(spinner);
    Ok(first)
}

async fn finish(
    context: Context,
    session: Arc<Session>,
    task: Task,
    entry: Entry,
    interrupts: Interrupts,
) -> (Task, u64, Result<Saved, Failure>) {
    let target = entry.target(&context.process().directory);
    let saved = match target.check(context.output.json, &context.process().stdout) {
        Ok(()) => {
            let task = (&task, entry.kept.request.as_ref());
            making::finish(&context, &session, task, &target, &interrupts).await
        }
        Err(failure) => Err(failure.after_payment(task.reference())),
    };
    let saved = saved.map_err(|failure| context.with_resume_command(failure, None, Some(&entry)));
    (task, entry.number, saved)
}

/// Returns the report about a submission whose response was lost.
fn lost(entry: &Entry) -> Failure {
    let service = entry.record.intent().service().map_or("the service".into(), one_line);
    let model = entry.model();
    let (time, number) = (rfc3339(entry.at()), entry.number);
    let mut failure = Failure::billing_unknown(
        "unknown",
        format!(
            "the response to the submission to {model} at {time} was lost: it is unknown \
             whether a task was created and charged"
        ),
    );
    failure.number = Some(number);
    failure.advise(format!(
        "it is not sent again; check your usage with {service}: {}",
        settle(&[format!("@{number}")], None)
    ))
}
