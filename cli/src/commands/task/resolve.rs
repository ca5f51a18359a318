//! `kiln task resolve @NUMBER ID`: records the task of a submission whose response was lost.

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use super::unfinished;
use crate::{
    args::{
        completers::{self, Submissions},
        options,
    },
    context::Context,
    failure::Failure,
    history::{self, Entry, History},
    service::session::Session,
    text::sanitize::one_line,
};
use imagekiln::{ErrorKind, Operation, Region, find_operation};

pub const NAME: &str = "resolve";

const ID: &str = "id";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Add the task that you found to an `unknown` submission, after a poll")
        .args([
            Arg::new("ref")
                .value_name("REF")
                .required(true)
                .add(completers::submissions(Submissions::Unfinished))
                .help("@last, or @ and a number of `kiln task list`"),
            Arg::new(ID)
                .value_name("ID")
                .required(true)
                .help("The id of the task, from your usage with the service"),
        ])
        .args(options::shared(options::RESOLVING))
        .after_help(
            "`kiln resume` and `kiln task save` then continue the task. Its id is polled first: \
             one that the service does not know, or that another submission has, is refused.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let text = |name| matches.get_one::<String>(name).map(|text| text.trim()).unwrap_or_default();
    let (given, id) = (text("ref"), text(ID));
    let entries = history::read(context.process())?;
    let entry = unknown(&entries, given)?;
    let number = entry.number;
    if id.is_empty() {
        return Err(Failure::usage("the id is empty").advise("pass the id of the task"));
    }
    // Tasks of two regions may have the same id.
    let region = region(&entry);
    let has_task = |other: &&Entry| {
        other.record.task().is_some_and(|task| task.id() == id) && self::region(other) == region
    };
    if let Some(Entry { number: other, .. }) = entries.iter().find(has_task) {
        return Err(Failure::usage(format!("submission @{other} has the task {}", one_line(id)))
            .advise(format!("nothing was changed; pass the id of the task of @{number}")));
    }
    let history = History::open(&context.output, Vec::new())?;
    history.include(&entry).await?;
    let session = Session::recorded(context, Some(history)).await?;
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

fn region(entry: &Entry) -> Option<Region> {
    find_operation(entry.record.intent().operation()).map(Operation::region)
}

/// The submission, which must have no task.
fn unknown(entries: &[Entry], given: &str) -> Result<Entry, Failure> {
    let entry = unfinished::unfinished(entries, given)?;
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
