//! `--dry-run`: shows the request, and sends nothing.

use std::fmt::Write;

use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};

use super::plan::Planned;
use crate::{context::Context, failure::Failure, text::sanitize::printable};
use imagekiln::{Client, Preview};

const DRY_RUN: &str = "dry-run";

/// The number of pictures that are listed.
const MOST_LISTED: usize = 10;

/// `--dry-run`
pub fn arg() -> Arg {
    Arg::new(DRY_RUN)
        .long(DRY_RUN)
        .action(ArgAction::SetTrue)
        .help("Check and show the request and its price, if known; send nothing")
}

/// Whether the command has `--dry-run`.
pub fn is_wanted(matches: &ArgMatches) -> bool {
    matches.get_flag(DRY_RUN)
}

/// Prints the requests. Needs neither a key nor the network.
pub fn print(context: &Context, planned: &[Planned]) -> Result<(), Failure> {
    let simulated = context.shared.simulate;
    let shown = planned.iter().take(if context.output.json { planned.len() } else { 1 });
    for Planned { request, .. } in shown {
        let builder = if simulated { Client::builder() } else { context.settings.unsent()? };
        let operation = request.operation();
        let preview = builder.preview(request.clone())?;
        context.output.result(
            || for_people(&preview, planned, simulated),
            || {
                json!({
                    "event": "dry_run",
                    "operation": operation.name,
                    "method": "POST",
                    "path": preview.path,
                    "body": preview.body,
                    "price": if simulated { json!(0) } else { Value::Null },
                })
            },
        )?;
    }
    Ok(())
}

/// The first request, and the differences of the others.
fn for_people(preview: &Preview, planned: &[Planned], simulated: bool) -> String {
    let mut text = format!("POST {}", printable(&preview.path));
    for (name, value) in &preview.body {
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n  {}: {}", printable(name), printable(&shown(value)));
    }
    if planned.len() > 1 {
        text += &others(planned);
    }
    text += if simulated {
        "\nprice: none; the simulator charges nothing"
    } else {
        "\nprice: not known before the service has accepted the request"
    };
    text + "\nnothing was sent"
}

/// The seeds, prompts and names of several pictures.
fn others(planned: &[Planned]) -> String {
    let mut text = format!("\n{} pictures:", planned.len());
    for planned in planned.iter().take(MOST_LISTED) {
        let seed = planned.seed().map_or("random seed".to_owned(), |seed| format!("seed {seed}"));
        let place = planned.target.shown().map(|path| format!(", {}", printable(&path)));
        let prompt = planned.prompt().map(|prompt| format!(", {}", printable(prompt)));
        text += &format!("\n  {seed}{}{}", place.unwrap_or_default(), prompt.unwrap_or_default());
    }
    match planned.len().saturating_sub(MOST_LISTED) {
        0 => text,
        more => text + &format!("\n  and {more} more"),
    }
}

/// A value on one line: an image with its format, its size and its origin.
fn shown(value: &Value) -> String {
    let Value::Object(image) = value else { return value.to_string() };
    if let (1, Some(Value::String(url))) = (image.len(), image.get("url")) {
        return format!("image at {url}");
    }
    let Some(bytes) = image.get("bytes").and_then(Value::as_u64) else { return value.to_string() };
    let text = |name| image.get(name).and_then(Value::as_str);
    let mut shown = text("format").unwrap_or("unknown format").to_owned();
    if let (Some(width), Some(height)) = (image.get("width"), image.get("height")) {
        shown += &format!(", {width} x {height} pixels");
    }
    shown += &format!(", {bytes} bytes");
    match text("file") {
        Some(file) => shown + &format!(", {file}"),
        None => shown,
    }
}
