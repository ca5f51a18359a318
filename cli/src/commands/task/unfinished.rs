//! `kiln task list|dismiss|resolve`: the unfinished submissions in the history.

use clap::Args;
use serde_json::json;

use crate::{
    args::completers::{self, Submissions},
    context::Context,
    failure::Failure,
    history::{self, Entry, History, find, list},
    process::Process,
    service::Session,
    text::sanitize::{one_line, quoted},
};
use imagekiln::{ErrorKind, Operation, Region, find_operation, journal::Account};

/// Remove submissions from the unfinished ones; sends nothing
#[derive(Args)]
pub struct Dismiss {
    /// @last, @ and a number of `kiln history`, an id or its beginning
    #[arg(value_name = "REF", required = true)]
    #[arg(add = completers::submissions(Submissions::Unfinished))]
    submissions: Vec<String>,
}

/// Add the task that you found to an `unknown` submission, after a poll
#[derive(Args)]
#[command(after_help = "\
`kiln resume` and `kiln task save` then continue the task. Its id is polled first: one that the \
service does not know, or that another submission has, is refused.")]
pub struct Resolve {
    /// @last, or @ and a number of `kiln task list`
    #[arg(value_name = "REF", add = completers::submissions(Submissions::Unfinished))]
    submission: String,
    /// The id of the task, from your usage with the service
    #[arg(value_name = "ID")]
    id: String,
}

/// Prints the unfinished submissions.
pub fn list(context: &Context) -> Result<(), Failure> {
    let found: Vec<_> = history::unfinished(context.process())?.collect();
    if found.is_empty() {
        context.output.note("nothing is unfinished");
        return Ok(());
    }
    let has = |state| found.iter().flatten().any(|entry| entry.state() == state);
    let mut hints = Vec::new();
    if has("unfinished") {
        hints.push("`kiln resume` waits for the unfinished tasks and saves their pictures");
    }
    if has("damaged") {
        hints.push(
            "damaged deliveries are paid for: `kiln resume` downloads them again, and these \
             accept the file, or give it up:\n  kiln task save @NUMBER --damaged\n  kiln task \
             dismiss @NUMBER",
        );
    }
    if has("unknown") {
        hints.push(
            "unknown submissions may have been charged: check your usage with the service, then \
             run\n  kiln task resolve @NUMBER ID\nif it shows the task, otherwise\n  kiln task \
             dismiss @NUMBER",
        );
    }
    list::print(&context.output, &found, &hints.join("\n"))
}

/// Marks submissions as dismissed, all of them or none.
pub async fn dismiss(context: &Context, options: &Dismiss) -> Result<(), Failure> {
    let given = options.submissions.iter();
    let found: Vec<Entry> =
        given.map(|given| unfinished(context.process(), given)).collect::<Result<_, _>>()?;
    let history = History::open(&context.output, Vec::new())?;
    for entry in &found {
        history.dismiss(entry).await?;
    }
    Ok(())
}

fn unfinished(process: &Process, given: &str) -> Result<Entry, Failure> {
    let entry = find::recorded(process, given)?.ok_or_else(|| {
        Failure::usage(format!("the history has no task {}", one_line(given)))
            .advise("`kiln task list` lists the unfinished submissions")
    })?;
    let number = entry.number;
    if entry.is_finished() {
        let problem = format!("submission @{number} is finished: {}", entry.state());
        return Err(
            Failure::usage(problem).advise("`kiln task list` lists the unfinished submissions")
        );
    }
    if entry.is_in_use {
        return Err(Failure::usage(format!("another command is waiting for @{number}"))
            .advise("stop that command first"));
    }
    Ok(entry)
}

/// Records the task of a submission whose response was lost.
pub async fn resolve(context: &Context, options: Resolve) -> Result<(), Failure> {
    let (given, id) = (options.submission.trim(), options.id.trim());
    let entry = unknown(context.process(), given)?;
    let number = entry.number;
    if id.is_empty() {
        return Err(Failure::usage("the id is empty").advise("pass the id of the task"));
    }
    // Tasks of two regions, or of two services, may have the same id.
    let place = place_of(&entry);
    let has_task = |other: &Entry| {
        other.record.task().is_some_and(|task| task.id() == id) && place_of(other) == place
    };
    let taken = history::read(context.process())?.flatten().find(has_task);
    if let Some(Entry { number: other, .. }) = taken {
        return Err(Failure::usage(format!("submission @{other} has the task {}", one_line(id)))
            .advise(format!("nothing was changed; pass the id of the task of @{number}")));
    }
    let history = History::open(&context.output, Vec::new())?;
    let session = Session::recorded(context, Some(history)).await?;
    session.check_service(context, &entry, &format!("task resolve @{number} {}", quoted(id)))?;
    let adopted = session.client.adopt(&entry.record, id).await;
    let id = one_line(id);
    let task = adopted.map_err(|error| match error.kind() {
        ErrorKind::TaskNotFound => Failure::unknown_task(&id).advise(format!(
            "nothing was changed; check the id and the profile, or run `kiln task dismiss \
             @{number}`"
        )),
        _ => Failure::from(error).advise(
            "nothing was changed; check the key, the profile and the network, then run it again",
        ),
    })?;
    // Records a final status, too.
    let update = task.poll().await.map_err(|error| {
        Failure::from(error)
            .advise(format!("the task is recorded; `kiln task save @{number}` saves its picture"))
    })?;
    let status = one_line(update.status().as_str());
    context.output.result(
        || {
            format!(
                "@{number}: task {id} is {status}; `kiln task save @{number}` saves its picture"
            )
        },
        || json!({ "number": number, "id": task.id(), "status": status }),
    )
}

/// The service and the region of a submission.
fn place_of(entry: &Entry) -> (Option<&str>, Option<Region>) {
    let intent = entry.record.intent();
    let region = find_operation(intent.operation()).map(Operation::region);
    (intent.account().map(Account::service), region)
}

/// The submission, which must have no task.
fn unknown(process: &Process, given: &str) -> Result<Entry, Failure> {
    let entry = unfinished(process, given)?;
    match entry.record.task() {
        None => Ok(entry),
        Some(task) => {
            let (number, id) = (entry.number, one_line(task.id()));
            Err(Failure::usage(format!("submission @{number} has a task: {id}")).advise(format!(
                "nothing was changed; `kiln task save @{number}` saves its picture"
            )))
        }
    }
}
