//! From a request to a saved picture: what `run`, `generate` and `edit` have in common.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, value_parser};
use imagekiln::{FieldKind, OutputFormat, Request};
use serde_json::{Value, json};

use crate::{
    args::request,
    context::Context,
    failure::Failure,
    interrupt::Interrupts,
    session::Session,
    submission::submit,
    target::{Arrived, Target},
    voice::task_json,
    waiting::wait,
};

/// `--output FILE`
pub fn output_arg() -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(OsString))
        .help("Where to save the picture; a file there is replaced, `-` is standard output [default: MODEL-TASK.ENDING]")
        .help_heading("Output")
}

/// Where `--output` says.
pub fn target(matches: &ArgMatches) -> (Target, Option<String>) {
    let output = matches.get_one::<OsString>("output");
    (
        Target::of(output.map(OsString::as_os_str)),
        output.map(|output| output.to_string_lossy().into_owned()),
    )
}

/// Submits, waits, saves.
pub async fn make(
    context: &Context,
    request: Request,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let (target, output) = target(matches);
    target.check(context.voice.json)?;
    let request = with_format(context, request, matches, &target);
    let session = Session::open(&context.globals).await?;
    let interrupts = Interrupts::listen()?;
    let paid = async {
        let task = submit(context, &session, request, &interrupts).await?;
        let picture = wait(context, &task, &interrupts).await?;
        let arrived = receive(context, &target, &picture, &interrupts).await?;
        Ok((task, arrived))
    };
    let (task, arrived) =
        paid.await.map_err(|failure| context.with_take_up(failure, output.as_deref()))?;
    tell(context, &arrived, task_json(&task))
}

/// Tells where the picture is; on standard output nothing stands beside a picture.
pub fn tell(context: &Context, arrived: &Arrived, task: Value) -> Result<(), Failure> {
    let Some(path) = &arrived.path else { return Ok(()) };
    context.voice.result(
        || path.display().to_string(),
        || {
            json!({
                "task": task,
                "path": path.to_string_lossy(),
                "kind": arrived.kind.map(|kind| kind.to_string().to_lowercase()),
                "bytes": arrived.bytes,
            })
        },
    )
}

/// Fetches the picture to its place, unless the user interrupts.
pub async fn receive(
    context: &Context,
    target: &Target,
    picture: &imagekiln::Picture,
    interrupts: &Interrupts,
) -> Result<Arrived, Failure> {
    let spinner = context.voice.spin("saving the picture");
    let arrived = tokio::select! {
        biased;
        () = interrupts.first() => return Err(Failure::interrupted(picture.task())),
        outcome = target.receive(picture) => outcome?,
    };
    drop(spinner);
    if let (Some(wanted), Some(kind)) = (target.wanted_format(), arrived.kind)
        && OutputFormat::from_extension(kind.extension()) != Some(wanted)
    {
        context.voice.warning(&format!("the file's ending does not fit: what came is {kind}"));
    }
    Ok(arrived)
}

/// Where no format was given, the file's ending gives it, if the model has such a field and takes
/// that value.
fn with_format(
    context: &Context,
    request: Request,
    matches: &ArgMatches,
    target: &Target,
) -> Request {
    const FIELD: &str = "output_format";
    let Some(wanted) = target.wanted_format() else { return request };
    if let Some(given) = request::text(matches, FIELD) {
        if given != wanted.as_str() {
            context.voice.warning(&format!(
                "the file's ending asks for {wanted}, and --output-format for {given}"
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
