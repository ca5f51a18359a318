//! From a request to a saved picture: the common part of the commands that make one.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, ValueHint, value_parser};
use serde_json::json;

use crate::{
    args::request,
    context::Context,
    failure::Failure,
    interrupt::Interrupts,
    output::task_json,
    plan::{Planned, check_targets, plan},
    preview,
    seeing::Seeing,
    session::Session,
    several,
    submission::submit,
    target::{Saved, Target},
    wait::wait,
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
        .value_hint(ValueHint::AnyPath)
        .help(
            "Where to save the picture: a file, whose ending selects the format, a name with \
             fields such as 'fox-{seed}.{ext}', a directory, or `-` for standard output [default: \
             MODEL-TASK.EXTENSION]",
        )
}

/// The target that `--output` names, or else the settings.
pub fn target(context: &Context, matches: &ArgMatches) -> Result<Target, Failure> {
    let output = matches.get_one::<OsString>(OUTPUT).cloned();
    let output = output.or_else(|| context.settings.output());
    let [overwrite, mkdir] = flags(matches);
    Target::of(output.as_deref(), overwrite, mkdir)
}

/// Whether `--overwrite` and `--mkdir` are given.
pub fn flags(matches: &ArgMatches) -> [bool; 2] {
    [OVERWRITE, MKDIR].map(|name| flag(matches, name))
}

/// Whether a flag is given to a command that has it.
fn flag(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or_default()
}

/// Submits, waits, and saves a picture for each prompt and each seed. Without prompts, the request
/// is complete.
pub async fn make(
    context: &Context,
    request: Request,
    prompts: &[String],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let planned = plan(context, request, prompts, matches)?;
    if preview::is_wanted(matches) {
        return preview::print(context, &planned);
    }
    // After the dry run, because it can create directories.
    check_targets(context, &planned)?;
    let seeing = Seeing::of(context, matches, planned.first().map(|first| &first.target));
    let seeing = seeing.map_err(Failure::before_payment)?;
    let session = Session::recorded(context, context.history(&planned).await?).await?;
    let interrupts = Interrupts::listen(context.process())?;
    match <[Planned; 1]>::try_from(planned) {
        Ok([Planned { request, target, .. }]) => {
            let task = submit(context, &session, (0, request), &interrupts).await;
            let task =
                task.map_err(|failure| context.with_resume_command(failure, Some(&target), None))?;
            let saved = save(context, &session, (0, &task), &target, &interrupts).await?;
            seeing.present(context, &saved, &task, json!({ "task": task_json(&task) })).await
        }
        Err(planned) => several::make(context, session, planned, &seeing, &interrupts).await,
    }
}

/// Waits for the picture of a submission of this command, and saves it.
pub async fn save(
    context: &Context,
    session: &Session,
    (index, task): (usize, &Task),
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let saved = finish(context, session, task, target, interrupts).await;
    saved.map_err(|failure| {
        context.with_resume_command(failure, Some(target), session.submission(index).as_ref())
    })
}

/// Waits for the picture, saves it, and records that in the history.
pub async fn finish(
    context: &Context,
    session: &Session,
    task: &Task,
    target: &Target,
    interrupts: &Interrupts,
) -> Result<Saved, Failure> {
    let picture = wait(context, task, interrupts).await?;
    let saved = receive(context, target, &picture, interrupts).await?;
    if let Some(history) = &session.history {
        history.saved(task.reference(), &saved).await;
    }
    Ok(saved)
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
        outcome = target.receive(picture, &context.process().stdout) => outcome?,
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
