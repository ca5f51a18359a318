//! `kiln show PICTURE`: shows a picture and everything that is known about it, or opens it.

use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};

use super::batch::ledgers;
use crate::{
    args::completers::{self, Submissions},
    context::Context,
    failure::Failure,
    history::{
        Made, Prices, find,
        list::{self, relative_to},
        request,
    },
    process::Process,
    seeing::{self, Cell},
    text::{Clock, Table, json, printable, time_at},
};
use imagekiln::text::Credits;
use imagekiln_label::Description;

/// Show pictures, and everything that is known about them
#[derive(Args)]
pub struct Options {
    #[arg(value_name = "PICTURE", help = find::PICTURE_HELP, required = true)]
    #[arg(add = completers::submissions(Submissions::Any))]
    pictures: Vec<String>,

    /// Show only what is known, and not the pictures
    #[arg(long)]
    info: bool,

    /// Open the pictures with the desktop's program for them
    #[arg(long)]
    open: bool,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let process = context.process();
    let find = |picture: &String| Made::find(process, picture, ledgers::described);
    let found: Vec<Made> = options.pictures.iter().map(find).collect::<Result<_, _>>()?;
    let Process { stdout, directory, .. } = &**process;
    if !options.info && stdout.is_terminal {
        let cell = |made: &Made| Some(Cell { path: made.path()?.to_owned(), label: made.name() });
        seeing::show(context, found.iter().filter_map(cell).collect()).await;
    }
    for (at, made) in found.iter().enumerate() {
        if let Some(how) = made.how_to_restore(process) {
            let name = made.name();
            context.output.note(&format!("the file of {name} was deleted or moved: {how}"));
        }
        let fields = made.request().map(request::fields);
        let facts = match made {
            Made::Recorded(entry) => list::facts(entry, &Prices::for_unknown(process, [&**entry])),
            Made::Described(path, description) => of_description(path, description),
        };
        let blank = if at > 0 { "\n" } else { "" };
        context.output.result(
            || {
                let facts = for_people(&facts, fields.as_ref(), directory, (stdout.columns)());
                format!("{blank}{facts}")
            },
            || json::with(facts.clone(), [("fields", fields.clone().into())]),
        )?;
    }
    for made in found.iter().filter(|_| options.open) {
        open(process, made).await?;
    }
    Ok(())
}

/// Opens the picture with the desktop's program for it.
async fn open(process: &Process, made: &Made) -> Result<(), Failure> {
    let name = made.name();
    let Some(path) = made.path() else {
        let saved = format!("`kiln task save {name}` saves it if its task continues");
        return Err(Failure::usage(format!("the picture {name} is not saved in a file"))
            .advise(format!("{saved}, and `kiln again {name}` makes another one")));
    };
    if !path.exists() {
        let problem = format!("{} was deleted or moved", path.display());
        let again = format!("`kiln again {name}` makes the picture again, and pays for it again");
        return Err(Failure::usage(problem).advise(made.how_to_restore(process).unwrap_or(again)));
    }
    seeing::opened(path)
        .await
        .map_err(|why| Failure::usage(format!("could not open {}: {why}", path.display())))
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

/// Returns a line for each fact and for each other field of the request.
fn for_people(
    facts: &Value,
    fields: Option<&Map<String, Value>>,
    here: &Path,
    width: Option<usize>,
) -> String {
    let rows = rows(facts, fields, here);
    let rows: Vec<_> = rows.into_iter().map(|row| row.map(|cell| printable(&cell))).collect();
    let facts = Table::new(rows).wrapped(&[1]).text(width);
    match fields {
        Some(_) => facts,
        None => facts + "\nthe history could not keep the other fields",
    }
}

/// Returns the names of the facts and of the other fields of the request, with their values as
/// text.
pub fn rows(facts: &Value, fields: Option<&Map<String, Value>>, here: &Path) -> Vec<[String; 2]> {
    let is_saved = facts.get("path").is_some_and(Value::is_string);
    let clock = Clock::local();
    let facts = facts.as_object().into_iter().flatten();
    let shown = facts.filter_map(|(name, value)| {
        let text = match (name.as_str(), value) {
            (_, Value::Null) | ("fields" | "group" | "index", _) => return None,
            ("output", _) if is_saved => return None,
            ("number" | "again_of", number) => format!("@{number}"),
            ("made_from", Value::Array(numbers)) if numbers.is_empty() => return None,
            ("made_from", Value::Array(numbers)) => {
                let names = numbers.iter().map(|number| format!("@{number}"));
                names.collect::<Vec<_>>().join(", ")
            }
            ("path" | "output", Value::String(path)) => relative_to(Path::new(path), here),
            (name, Value::Number(at)) if name.ends_with("_at") => {
                clock.minute(time_at(at.as_u64().unwrap_or_default()))
            }
            ("cost", Value::Number(credits)) => {
                Credits(credits.as_f64().unwrap_or_default()).to_string()
            }
            (_, value) => text_of(value),
        };
        Some([name.trim_end_matches("_at").replace('_', " "), text])
    });
    let others = fields.into_iter().flatten();
    let others = others.filter(|(name, _)| !["prompt", "seed"].contains(&name.as_str()));
    shown.chain(others.map(|(name, value)| [name.clone(), text_of(value)])).collect()
}

/// Returns a value as text: strings without quotes, images as their path, with the digest if it is
/// known, and other values as JSON.
pub fn text_of(value: &Value) -> String {
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
