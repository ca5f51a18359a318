//! `kiln task status|wait|save REF`: resumes a task that was submitted before, here or elsewhere.

use std::{
    fs,
    io::{self, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use crate::{
    context::Context, failure::Failure, interrupt::Interrupts, make, output::reference_json,
    session::Session, wait::wait,
};
use imagekiln::{Region, Task, TaskRef};

pub const NAME: &str = "task";

const WHAT_TO_PASS: &str =
    "pass a file with the output of `kiln submit`, `-` for standard input, or the task's id";

pub fn command() -> Command {
    let reference = || {
        Arg::new("ref").value_name("REF").required(true).help(
            "A file with the output of `kiln submit`, `-` for standard input, the JSON itself, or \
             an id (polled at IMAGEKILN_BASE_URL)",
        )
    };
    Command::new(NAME)
        .about("Resume a task: show its status, wait for it, save its picture")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([
            Command::new("status")
                .about("Poll once and print the status; the exit code is 0 for every status")
                .arg(reference()),
            Command::new("wait").about("Wait for the final status").arg(reference()),
            Command::new("save")
                .about("Wait and save the picture")
                .arg(reference())
                .arg(make::output_arg()),
        ])
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (action, matches) = matches
        .subcommand()
        .ok_or_else(|| Failure::usage("use `kiln task status`, `wait` or `save`"))?;
    if context.globals.simulate {
        let problem = "an in-process simulator has no tasks of earlier commands";
        return Err(Failure::usage(problem).advise(
            "run `kiln simulate` in another terminal and use its settings for `kiln submit` and \
             `kiln task`",
        ));
    }
    let given = matches.get_one::<String>("ref").map(String::as_str).unwrap_or_default();
    let reference = read_reference(given)?;
    let session = Session::open(context).await?;
    let task = match reference {
        Reference::Whole(reference) => session.client.task(reference),
        Reference::Id(id) => session.client.task_in(Region::Global, id)?,
    };
    match action {
        "status" => status(context, &task).await,
        "wait" => wait_for(context, &task).await,
        _ => save(context, &task, matches).await,
    }
}

async fn status(context: &Context, task: &Task) -> Result<(), Failure> {
    let update = task.poll().await?;
    let status = update.status();
    context.output.result(
        || format!("{}: {status}", task.id()),
        || json!({ "id": task.id(), "status": status.as_str(), "final": status.is_final() }),
    )
}

async fn wait_for(context: &Context, task: &Task) -> Result<(), Failure> {
    let interrupts = Interrupts::listen()?;
    let picture = wait(context, task, &interrupts)
        .await
        .map_err(|failure| context.with_resume_command(failure, None))?;
    let expires_at =
        picture.expires_at().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).ok();
    context.output.result(
        || format!("{}: Ready; run `kiln task save` within ten minutes to save it", task.id()),
        || {
            json!({
                "task": reference_json(task.reference()),
                "status": "Ready",
                "expires_at": expires_at,
            })
        },
    )
}

async fn save(context: &Context, task: &Task, matches: &ArgMatches) -> Result<(), Failure> {
    let (target, output) = make::target(matches);
    target.check(context.output.json)?;
    let interrupts = Interrupts::listen()?;
    let saved = async {
        let picture = wait(context, task, &interrupts).await?;
        make::receive(context, &target, &picture, &interrupts).await
    };
    let saved =
        saved.await.map_err(|failure| context.with_resume_command(failure, output.as_deref()))?;
    make::print(context, &saved, reference_json(task.reference()))
}

enum Reference {
    Whole(TaskRef),
    Id(String),
}

fn read_reference(given: &str) -> Result<Reference, Failure> {
    let text = match given {
        blank if blank.trim().is_empty() => {
            return Err(Failure::usage("the task is empty").advise(WHAT_TO_PASS));
        }
        "-" => {
            let mut text = String::new();
            io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|error| Failure::file("could not read standard input", error))?;
            text
        }
        json if json.trim_start().starts_with('{') => json.to_owned(),
        path if Path::new(path).exists() || looks_like_a_path(path) => fs::read_to_string(path)
            .map_err(|error| {
                Failure::file(format!("could not read {path}"), error).advise(WHAT_TO_PASS)
            })?,
        id => return Ok(Reference::Id(id.to_owned())),
    };
    let text = text.trim();
    match serde_json::from_str(text) {
        Ok(reference) => Ok(Reference::Whole(reference)),
        // A file or a pipe may also contain a bare id.
        Err(_) if is_bare_id(text) => Ok(Reference::Id(text.to_owned())),
        Err(error) => {
            let problem = format!("could not parse the task: {error}");
            Err(Failure::usage(problem).advise(WHAT_TO_PASS))
        }
    }
}

fn looks_like_a_path(text: &str) -> bool {
    text.contains(['/', '\\']) || text.ends_with(".json")
}

fn is_bare_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
}
