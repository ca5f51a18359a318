//! `kiln show PICTURE`: shows a picture and everything that is known about it, or opens it.

use std::{path::Path, time::SystemTime};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::{
    args::completers::{self, Submissions},
    context::Context,
    failure::Failure,
    history::{
        Entry,
        find::{self, Made},
        list::{relative_to, seconds, time_of},
        prices::Prices,
        request,
    },
    process::Process,
    seeing,
    text::{json, sanitize::printable, table::Table},
};
use imagekiln::{
    TaskRef,
    journal::{Key, State},
    text::Credits,
};
use imagekiln_label::Description;

/// Show a picture, and everything that is known about it
#[derive(Args)]
pub struct Options {
    #[arg(value_name = "PICTURE", help = find::PICTURE_HELP)]
    #[arg(add = completers::submissions(Submissions::Any))]
    picture: String,

    /// Show only what is known, and not the picture
    #[arg(long)]
    info: bool,

    /// Open the picture with the desktop's program for it
    #[arg(long)]
    open: bool,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let made = Made::find(context.process(), &options.picture)?;
    let fields = made.request().map(request::fields);
    let facts = match &made {
        Made::Recorded(entry) => of_entry(entry, context.process()),
        Made::Described(path, description) => of_description(path, description),
    };
    let Process { stdout, directory, .. } = &**context.process();
    if let Some(path) = made.path().filter(|_| !options.info && stdout.is_terminal) {
        seeing::show(context, path).await;
    }
    context.output.result(
        || for_people(&facts, fields.as_ref(), directory, (stdout.columns)()),
        || json::with(facts.clone(), [("fields", fields.clone().into())]),
    )?;
    if options.open { open(&made).await } else { Ok(()) }
}

/// Opens the picture with the desktop's program for it.
async fn open(made: &Made) -> Result<(), Failure> {
    let name = made.name();
    let Some(path) = made.path() else {
        let saved = format!("`kiln task save {name}` saves it if its task continues");
        return Err(Failure::usage(format!("the picture {name} is not saved in a file"))
            .advise(format!("{saved}, and `kiln again {name}` makes another one")));
    };
    if !path.exists() {
        let problem = format!("{} no longer exists", path.display());
        return Err(Failure::usage(problem).advise(format!(
            "`kiln again {name}` makes the picture again, and pays for it again"
        )));
    }
    seeing::opened(path)
        .await
        .map_err(|why| Failure::usage(format!("could not open {}: {why}", path.display())))
}

fn of_entry(entry: &Entry, process: &Process) -> Value {
    let record = &entry.record;
    let task = record.task();
    let (bytes, sha256) = match record.state() {
        State::Saved { bytes, sha256, .. } => (Some(*bytes), sha256.clone()),
        _ => (None, None),
    };
    let at = |time: Option<SystemTime>| time.map(seconds);
    json!({
        "number": entry.number,
        "state": entry.state(),
        "details": record.details(),
        "damaged": record.damaged().map(Path::to_string_lossy),
        "path": entry.saved_path().map(Path::to_string_lossy),
        "output": entry.kept.destination.output().map(|path| path.to_string_lossy().into_owned()),
        "bytes": bytes,
        "sha256": sha256,
        "model": entry.model(),
        "seed": entry.seed(),
        "cost": task.and_then(TaskRef::cost),
        "expected_cost": Prices::for_unknown(process, [entry]).expected(entry),
        "submitted_at": seconds(record.intent().at()),
        "accepted_at": at(task.and_then(TaskRef::submitted_at)),
        "ready_at": at(record.ready_at()),
        "id": task.map(TaskRef::id),
        "key": record.intent().key().map(Key::name),
        "attempt": record.intent().key().map(Key::number),
        "prompt": entry.prompt(),
    })
}

fn of_description(path: &Path, description: &Description) -> Value {
    let Description { job, model, task_id, seed, credits, times, picture, request, .. } =
        description;
    json!({
        "job": job,
        "path": path.to_string_lossy(),
        "bytes": picture.bytes,
        "sha256": picture.sha256,
        "model": model,
        "seed": seed,
        "cost": credits,
        "submitted_at": times.submitted,
        "ready_at": times.ready,
        "id": task_id,
        "prompt": request::field(request, "prompt"),
    })
}

/// A line for each fact.
fn for_people(
    facts: &Value,
    fields: Option<&Map<String, Value>>,
    here: &Path,
    width: Option<usize>,
) -> String {
    let is_saved = facts.get("path").is_some_and(Value::is_string);
    let facts = facts.as_object().into_iter().flatten();
    let shown = facts.filter_map(|(name, value)| {
        let text = match (name.as_str(), value) {
            (_, Value::Null) => return None,
            ("output", _) if is_saved => return None,
            ("number", number) => format!("@{number}"),
            ("path" | "output", Value::String(path)) => relative_to(Path::new(path), here),
            (name, Value::Number(at)) if name.ends_with("_at") => {
                time_of(at.as_u64().unwrap_or_default())
            }
            ("cost", Value::Number(credits)) => {
                Credits(credits.as_f64().unwrap_or_default()).to_string()
            }
            (_, value) => text_of(value),
        };
        Some([name.trim_end_matches("_at").to_owned(), text])
    });
    let others = fields.into_iter().flatten();
    let others = others.filter(|(name, _)| !["prompt", "seed"].contains(&name.as_str()));
    let others = others.map(|(name, value)| [name.clone(), text_of(value)]);
    let rows: Vec<[String; 2]> = shown.chain(others).collect();
    let rows: Vec<_> = rows.into_iter().map(|row| row.map(|cell| printable(&cell))).collect();
    let facts = Table::new(rows).wrapped(&[1]).text(width);
    match fields {
        Some(_) => facts,
        None => facts + "\nthe history could not keep the other fields",
    }
}

/// Text without quotes, images by their files or digests, and other values as JSON.
fn text_of(value: &Value) -> String {
    let member = |name| value.get(name).and_then(Value::as_str);
    match (value, member("path"), member("sha256")) {
        (Value::String(text), ..) => text.clone(),
        (Value::Number(number), ..) if number.is_f64() => {
            number.as_f64().unwrap_or_default().to_string()
        }
        (_, Some(path), Some(sha256)) => format!("{path} (SHA-256 {sha256})"),
        (_, Some(path), None) => path.to_owned(),
        _ => value.to_string(),
    }
}
