//! `kiln task resolve @NUMBER ID`: hands in the task of a submission whose response was lost.

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use super::{end_of, record_end, unfinished};
use crate::{
    completion::values::{self, Submissions},
    context::Context,
    failure::Failure,
    history::{Record, Store, find},
    sanitize::one_line,
    session::Session,
};
use imagekiln::{Region, Task, TaskStatus, find_operation};

pub const NAME: &str = "resolve";

const ID: &str = "id";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Add the task that you found to an `unknown` submission, after a poll")
        .args([
            Arg::new("ref")
                .value_name("REF")
                .required(true)
                .add(values::submissions(Submissions::Unfinished))
                .help("@last, or @ and a number of `kiln task list`"),
            Arg::new(ID)
                .value_name("ID")
                .required(true)
                .help("The id of the task, from your usage with the service"),
        ])
        .after_help(
            "`kiln resume` and `kiln task save` then continue the task. Its id is polled first: \
             one that the service does not know, or that another submission has, is refused.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let text = |name| matches.get_one::<String>(name).map(|text| text.trim()).unwrap_or_default();
    let (given, id) = (text("ref"), text(ID));
    let store = Store::locate()?;
    let mut record = unknown(context, &store, given)?;
    let number = record.number;
    if id.is_empty() {
        return Err(Failure::usage("the id is empty").advise("pass the id of the task"));
    }
    if let Some((other, _)) = find::by_id(&store, id) {
        return Err(Failure::usage(format!("submission @{other} has the task {}", one_line(id)))
            .advise(format!("nothing was changed; pass the id of the task of @{number}")));
    }
    let task = found(&Session::open(context).await?, &record, id)?;
    let update = task.poll().await?;
    let id = one_line(id);
    if *update.status() == TaskStatus::TaskNotFound {
        return Err(Failure::unknown_task(&id).advise(format!(
            "nothing was changed; check the id and the profile, or run `kiln task dismiss \
             @{number}`"
        )));
    }
    record.accept(task.reference());
    if !record.is_written() {
        let failure = Failure::not_recorded(number).about(task.reference());
        return Err(context.with_resume_command(failure, None, Some(&record)));
    }
    record_end(Some(record), end_of(update.status()));
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

/// The submission, which must have no task.
fn unknown(context: &Context, store: &Store, given: &str) -> Result<Record, Failure> {
    let record = unfinished::unfinished(context, store, given)?;
    match &record.entry.task {
        None => Ok(record),
        Some(task) => {
            let (number, id) = (record.number, one_line(task.id()));
            Err(Failure::usage(format!("submission @{number} has a task: {id}")).advise(format!(
                "nothing was changed; `kiln task save @{number}` saves its picture"
            )))
        }
    }
}

/// The task with this id, as a task of the submission's model.
fn found(session: &Session, record: &Record, id: &str) -> Result<Task, Failure> {
    let client = &session.client;
    Ok(match find_operation(record.entry.intent.operation()) {
        Some(operation) => client.task_by_id(operation, id)?,
        None => client.task_in(Region::Global, id)?,
    })
}
