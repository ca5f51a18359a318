//! From a request to a saved picture: the common part of `run`, `generate` and `edit`.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, value_parser};
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
};
use imagekiln::{FieldKind, OutputFormat, Request, Task};

/// The options that decide where the picture is saved.
pub fn output_args() -> [Arg; 1] {
    [output_arg()]
}

fn output_arg() -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(OsString))
        .help(
            "Where to save the picture; an existing file is replaced, `-` is standard output \
             [default: MODEL-TASK.EXTENSION]",
        )
        .help_heading("Output")
}

/// The target that `--output` names, and its text.
pub fn target(matches: &ArgMatches) -> (Target, Option<String>) {
    let output = matches.get_one::<OsString>("output");
    (
        Target::of(output.map(OsString::as_os_str)),
        output.map(|output| output.to_string_lossy().into_owned()),
    )
}

/// Where `--output` says that the picture goes, for the history.
pub fn destination(matches: &ArgMatches) -> Destination {
    Destination::of(matches.get_one::<OsString>("output").map(OsString::as_os_str))
}

/// Submits, waits, saves.
pub async fn make(
    context: &Context,
    request: Request,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let (target, output) = target(matches);
    target.check(context.output.json)?;
    let request = with_format(context, request, matches, &target);
    plausible::check(&request)?;
    if preview::is_wanted(matches) {
        return preview::print(context, request);
    }
    let recorder = context.recorder(&request, destination(matches))?;
    let session = Session::recorded(context, recorder).await?;
    let interrupts = Interrupts::listen()?;
    let task = submit(context, &session, request, &interrupts).await?;
    let mut record = session.take_record();
    let saved = finish(context, &task, &target, record.as_mut(), &interrupts).await;
    let saved = saved.map_err(|failure| {
        context.with_resume_command(failure, output.as_deref(), record.as_ref())
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
    if let (Some(wanted), Some(kind)) = (target.wanted_format(), saved.kind)
        && OutputFormat::from_extension(kind.extension()) != Some(wanted)
    {
        context
            .output
            .warning(&format!("the file extension does not match: the picture is {kind}"));
    }
    Ok(saved)
}

/// If no format was given, sets it from the file extension, if the model has such a field and
/// accepts the value.
pub fn with_format(
    context: &Context,
    request: Request,
    matches: &ArgMatches,
    target: &Target,
) -> Request {
    const FIELD: &str = "output_format";
    let Some(wanted) = target.wanted_format() else { return request };
    if let Some(given) = request::text(matches, FIELD) {
        if given != wanted.as_str() {
            context.output.warning(&format!(
                "the file extension asks for {wanted}, but --output-format for {given}"
            ));
        }
        return request;
    }
    let offered = request.operation().field(FIELD).is_some_and(|field| match field.kind {
        FieldKind::Choice { values, .. } => values.contains(&wanted.as_str()),
        _ => false,
    });
    if offered { request.field(FIELD, wanted.as_str()) } else { request }
}
