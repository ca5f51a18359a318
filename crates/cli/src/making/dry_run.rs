//! `--dry-run`: prints the requests of a command and their prices. Needs neither a key nor the
//! network.

use std::{collections::BTreeSet, fmt::Write as _};

use clap::Args;
use serde_json::{Value, json};

use super::{
    costs::{self, Expected},
    identical::Paid,
    plan::Planned,
};
use crate::{context::Context, failure::Failure, text::printable};
use imagekiln::{Client, Preview, text::Credits};

const MOST_LISTED: usize = 10;

#[derive(Args)]
pub struct DryRun {
    /// Check and show the request and its price, if known; send nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn print(context: &Context, planned: &[Planned], paid: &[Option<Paid>]) -> Result<(), Failure> {
    let simulated = context.shared.simulate;
    let count = if context.output.json { planned.len() } else { 1 };
    let expected = costs::expected(context, planned);
    let each = planned.iter().zip(paid).zip(&expected).take(count);
    for ((Planned { request, .. }, entry), price) in each {
        let builder = if simulated { Client::builder() } else { context.settings.unsent()? };
        let operation = request.operation();
        let preview = builder.preview(request.clone())?;
        context.output.result(
            || {
                let text = for_people(&preview, planned, &expected, simulated);
                let names = paid.iter().flatten();
                names.fold(text, |text, (_, name)| format!("{text}\n{name}"))
            },
            || {
                json!({
                    "event": "dry_run",
                    "operation": operation.name,
                    "method": "POST",
                    "path": preview.path,
                    "body": preview.body,
                    "already_paid": entry.as_ref().map(|(number, _)| number),
                    "price": if simulated { json!(0) } else { json!(price.map(|it| it.credits)) },
                    "price_of": price.and_then(|price| price.as_number),
                })
            },
        )?;
    }
    Ok(())
}

/// Shows the first request, and how the others differ from it.
fn for_people(
    preview: &Preview,
    planned: &[Planned],
    expected: &[Option<Expected>],
    simulated: bool,
) -> String {
    let mut text = format!("POST {}", printable(&preview.path));
    for (name, value) in &preview.body {
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n  {}: {}", printable(name), printable(&shown(value)));
    }
    if planned.len() > 1 {
        text += &others(planned);
    }
    text += &match costs::sum(expected) {
        _ if simulated => "\nprice: none; the simulator charges nothing".to_owned(),
        Some(sum) => {
            let first = expected.iter().flatten().next();
            let each = first.map(|first| first.shown()).unwrap_or_default();
            let all = format!("; {:.2} credits for {}", Credits(sum), expected.len());
            format!("\nprice: {each}{}", if expected.len() > 1 { &all } else { "" })
        }
        None => "\nprice: not known before the service has accepted the request".to_owned(),
    };
    let drawn: BTreeSet<i64> = planned.iter().filter_map(|planned| planned.drawn).collect();
    if !drawn.is_empty() {
        let seeds: Vec<_> = drawn.iter().map(i64::to_string).collect();
        let (seeds, place) =
            (seeds.join(","), if seeds.len() > 1 { " in place of -n" } else { "" });
        text += &format!("\ndrawn now: --seed {seeds}{place} makes the same");
    }
    text + "\nnothing was sent"
}

/// Lists the seeds, prompts and names of several pictures.
fn others(planned: &[Planned]) -> String {
    let mut text = format!("\n{} pictures:", planned.len());
    for planned in planned.iter().take(MOST_LISTED) {
        let facts = [
            planned.label.clone(),
            planned.seed().map(|seed| format!("seed {seed}")),
            planned.target.shown(),
            planned.prompt().map(str::to_owned),
        ];
        let facts = facts.iter().flatten().map(|fact| printable(fact));
        text += &format!("\n  {}", facts.collect::<Vec<_>>().join(", "));
    }
    match planned.len().saturating_sub(MOST_LISTED) {
        0 => text,
        more => text + &format!("\n  and {more} more"),
    }
}

/// Shows a value on one line. An image is shown with its format, its size and its origin.
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
        if let Some(orientation) = image.get("orientation") {
            shown += &format!(" as stored (EXIF orientation {orientation})");
        }
    }
    shown += &format!(", {bytes} bytes");
    match text("file") {
        Some(file) => shown + &format!(", {file}"),
        None => shown,
    }
}
