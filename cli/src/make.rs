//! From a request to a saved picture: the common part of the commands that make one.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use serde_json::{Value, json};

use crate::{
    args::request,
    context::Context,
    failure::Failure,
    history::{Destination, End, Record, destination::absolute},
    interrupt::Interrupts,
    output::task_json,
    plausible, preview,
    session::Session,
    submission::submit,
    target::{Saved, Target},
    wait::wait,
    webhook_secret,
};
use imagekiln::{FieldKind, Request, Task};

pub const OUTPUT: &str = "output";
const OVERWRITE: &str = "overwrite";
const MKDIR: &str = "mkdir";

/// The options that decide where the picture is saved.
pub fn output_args() -> [Arg; 3] {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    [
        output_arg(),
        flag(OVERWRITE).help("Replace an existing file [default: save as FILE-2 or FILE-3]"),
        flag(MKDIR).hide_short_help(true).help("Create the directories of FILE that do not exist"),
    ]
}

fn output_arg() -> Arg {
    Arg::new(OUTPUT)
        .long(OUTPUT)
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(OsString))
        .help(
            "Where to save the picture: a file, whose ending selects the format, a directory, or \
             `-` for standard output [default: MODEL-TASK.EXTENSION]",
        )
}

/// The target that `--output` names, or else the settings.
pub fn target(context: &Context, matches: &ArgMatches) -> Target {
    let output = matches.get_one::<OsString>(OUTPUT).cloned();
    let output = output.or_else(|| context.settings.output());
    Target::of(output.as_deref(), flag(matches, OVERWRITE), flag(matches, MKDIR))
}

/// The options of the target, for another command line.
pub fn target_words(matches: &ArgMatches) -> Vec<String> {
    let output = matches.get_one::<OsString>(OUTPUT);
    let output = output.map(|output| ["--output".to_owned(), output.to_string_lossy().into()]);
    let flags = [OVERWRITE, MKDIR].into_iter().filter(|name| flag(matches, name));
    let flags = flags.map(|name| format!("--{name}"));
    output.into_iter().flatten().chain(flags).collect()
}

/// Whether a flag is given to a command that has it.
fn flag(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or_default()
}

/// Where the picture goes, for the history.
pub fn destination(context: &Context, matches: &ArgMatches) -> Destination {
    Destination::of(&target(context, matches))
}

/// Submits, waits, saves.
pub async fn make(
    context: &Context,
    request: Request,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let target = target(context, matches);
    let request = webhook_secret::set(context, request, matches)?;
    let request = context.settings.with_size(request);
    let request = with_format(context, request, matches, &target)?;
    plausible::check(&request)?;
    if preview::is_wanted(matches) {
        return preview::print(context, request);
    }
    // After the dry run, because it can create directories.
    target.check(context.output.json)?;
    let recorder = context.recorder(&request, destination(context, matches))?;
    let session = Session::recorded(context, recorder).await?;
    let interrupts = Interrupts::listen()?;
    let task = submit(context, &session, request, &interrupts).await?;
    let mut record = session.take_record();
    let saved = finish(context, &task, &target, record.as_mut(), &interrupts).await;
    let saved = saved.map_err(|failure| {
        context.with_resume_command(failure, &target_words(matches), record.as_ref())
    })?;
    print(context, &saved, task_json(&task))
}

/// Waits for the picture, saves it, and records the end in the history.
pub async fn finish(
    context: &Context,
    task: &Task,
    target: &Target,
    record: Option<&mut Record>,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let saved = async {
        let picture = wait(context, task, interrupts).await?;
        receive(context, target, &picture, interrupts).await
    };
    let saved = saved.await;
    let end = match &saved {
        Ok(saved) => Some(End::Saved { path: saved.path.as_deref().map(absolute) }),
        Err(failure) => End::of_failure(failure.kind),
    };
    if let (Some(record), Some(end)) = (record, end) {
        record.end(end);
    }
    saved
}

/// Prints where the picture was saved. Prints nothing if the picture itself went to standard
/// output.
pub fn print(context: &Context, saved: &Saved, task: Value) -> Result<(), Failure> {
    let Some(path) = &saved.path else { return Ok(()) };
    context.output.result(
        || path.display().to_string(),
        || {
            json!({
                "task": task,
                "path": path.to_string_lossy(),
                "kind": saved.kind.map(|kind| kind.to_string().to_lowercase()),
                "bytes": saved.bytes,
            })
        },
    )
}

/// Downloads the picture to its target, unless the user interrupts.
async fn receive(
    context: &Context,
    target: &Target,
    picture: &imagekiln::Picture,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let spinner = context.output.spin("saving the picture");
    let saved = tokio::select! {
        biased;
        () = interrupts.first() => return Err(Failure::interrupted(picture.task())),
        outcome = target.receive(picture) => outcome?,
    };
    drop(spinner);
    for note in &saved.notes {
        context.output.warning(note);
    }
    Ok(saved)
}

/// If no format was given, sets it from the file extension, if the model has such a field and
/// accepts the value. Refuses extensions that no model can produce.
pub fn with_format(
    context: &Context,
    request: Request,
    matches: &ArgMatches,
    target: &Target,
) -> Result<Request, Failure> {
    const FIELD: &str = "output_format";
    let given = request::text(matches, FIELD);
    if given.is_none() {
        target.check_ending()?;
    }
    let Some(wanted) = target.wanted_format() else { return Ok(request) };
    if let Some(given) = given {
        if given != wanted.as_str() {
            context.output.warning(&format!(
                "the file extension asks for {wanted}, but --output-format for {given}"
            ));
        }
        return Ok(request);
    }
    let offered = request.operation().field(FIELD).is_some_and(|field| match field.kind {
        FieldKind::Choice { values, .. } => values.contains(&wanted.as_str()),
        _ => false,
    });
    Ok(if offered { request.field(FIELD, wanted.as_str()) } else { request })
}
