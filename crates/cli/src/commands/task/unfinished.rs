//! `kiln task list|dismiss|resolve`: works on the unfinished submissions in the history.

use std::collections::HashSet;

use clap::{Args, ValueHint};
use serde_json::json;

use crate::{
    args::{
        completers::{self, Submissions},
        selection::{self, Sent},
    },
    context::Context,
    failure::Failure,
    history::{self, Entry, History, Prices, find, list},
    process::Process,
    service::Session,
    text::{Clock, Expected, one_line, quoted},
};
use imagekiln::{ErrorKind, Region, find_operation, text::counted};

/// Remove submissions from the unfinished ones; sends nothing
#[derive(Args)]
#[command(
    override_usage = "kiln task dismiss [OPTIONS] <REF|--from <FILE>|--model <MODEL>|\
                      --sent-after <WHEN>|--sent-before <WHEN>|--all>...",
    after_help = "Submissions must meet all conditions. Without REF and --from, only `unknown` \
                  ones do."
)]
pub struct Dismiss {
    /// @last, @ and a number of `kiln history`, an id or its beginning
    #[arg(value_name = "REF")]
    #[arg(add = completers::submissions(Submissions::Unfinished))]
    submissions: Vec<String>,
    /// The submissions in this file: each line is a REF; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    from: Option<String>,
    /// Only submissions to this model
    #[arg(long, short, value_name = "MODEL", add = completers::models())]
    model: Option<String>,
    #[command(flatten)]
    sent: Sent,
    /// All `unknown` submissions
    #[arg(long, conflicts_with_all = ["submissions", "from", "model"])]
    #[arg(conflicts_with_all = selection::SENT)]
    all: bool,
    /// Print how many would be dismissed, and what they may have cost; changes nothing
    #[arg(long)]
    dry_run: bool,
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
             dismiss @NUMBER...\nto dismiss many, pass --from, --model, --sent-after, \
             --sent-before or --all instead, and first --dry-run",
        );
    }
    list::print(&context.output, &found, &hints.join("\n"), &Clock::local())
}

/// Marks submissions as dismissed. Dismisses none of them if one that the user named is finished,
/// unknown to the history, or in use by another command.
pub async fn dismiss(context: &Context, options: &Dismiss) -> Result<(), Failure> {
    let (process, output) = (context.process(), &context.output);
    let found = options.entries(process)?;
    let prices = Prices::for_unknown(process, &found);
    if !options.dry_run {
        let history = History::open(output, Vec::new())?;
        for entry in &found {
            history.dismiss(entry).await?;
        }
    }
    let costs = found.iter().map(|entry| entry.cost().or_else(|| prices.expected(entry)));
    let expected = Expected::sum(costs);
    let numbers: Vec<_> = found.iter().map(|entry| entry.number).collect();
    output.result(
        || {
            let would = if options.dry_run { " would be" } else { "" };
            let submissions = counted(numbers.len() as u64, "submission");
            let price = expected.text("submission");
            format!("{submissions}{would} dismissed; expected price: {price}")
        },
        || {
            json!({
                "event": "dismissed",
                "dry_run": options.dry_run,
                "submissions": numbers.len(),
                "cost": expected.credits,
                "without_price": expected.without_price,
                "numbers": numbers,
            })
        },
    )
}

impl Dismiss {
    /// Returns the submissions to dismiss, without duplicates.
    fn entries(&self, process: &Process) -> Result<Vec<Entry>, Failure> {
        let Self { submissions, from, model, sent, all, .. } = self;
        let in_file = from.as_ref().map(|path| selection::lines(process, path)).transpose()?;
        let is_named = in_file.is_some() || !submissions.is_empty();
        if !is_named && !all && model.is_none() && !sent.is_given() {
            return Err(Failure::usage("no submissions are given").advise(
                "nothing was changed; pass @ and a number, --from, --model, --sent-after or \
                 --sent-before, or --all for all unknown ones",
            ));
        }
        let mut found: Vec<Entry> = if is_named {
            let given = submissions.iter().cloned().chain(in_file.into_iter().flatten());
            given.map(|given| unfinished(process, &given)).collect::<Result<_, _>>()?
        } else {
            history::unfinished(process)?.flatten().filter(Entry::is_unknown).collect()
        };
        let mut seen = HashSet::new();
        found.retain(|entry| {
            model.as_ref().is_none_or(|model| find::is_of_model(entry, model))
                && sent.contains(entry.at())
                && seen.insert(entry.number)
        });
        Ok(found)
    }
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

/// Records the task of a submission whose response was lost, after a poll has found the task.
pub async fn resolve(context: &Context, options: Resolve) -> Result<(), Failure> {
    let (given, id) = (options.submission.trim(), options.id.trim());
    let entry = unknown(context.process(), given)?;
    let number = entry.number;
    if id.is_empty() {
        return Err(Failure::usage("the id is empty").advise("pass the id of the task"));
    }
    // Two tasks of different regions or services may have the same id, so only tasks of the same
    // place count.
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
    // Shows the status, and records it if it is final.
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

/// Returns the service and the region of a submission.
fn place_of(entry: &Entry) -> (Option<&str>, Option<Region>) {
    let intent = entry.record.intent();
    let region = find_operation(intent.operation()).map(|operation| operation.region);
    (intent.service(), region)
}

/// Returns an unfinished submission. Fails if it has a task.
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
