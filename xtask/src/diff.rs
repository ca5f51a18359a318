//! `cargo xtask diff OTHER.json`: what another listing of the service says differently from our
//! document.
//!
//! Both documents, OpenAPI 3.0 or 3.1, are read into one small model ([`model`]), and the models
//! are compared. So notation makes no difference: `nullable: true`, `anyOf` with a `null` branch
//! and `type: [.., "null"]` are one thing, and so are `const` and an `enum` of one value,
//! `exclusiveMinimum` as a flag and as a number, an inlined schema and a component of whatever
//! name. Descriptions, titles, examples, tags, `operationId` and extensions do not count (but
//! `x-default`, where our document keeps a default that lies outside its own bounds, does), and
//! neither does authentication, `uniqueItems`, `not`, `if`/`then`, nor the schema of
//! `additionalProperties`.
//!
//! # What is breaking
//!
//! `breaking` means: a caller of *our* document may fail, or be served something else, where the
//! *other* listing is true. Everything else is `compatible`. One idea decides it:
//!
//! * **Request.** What our callers may send must still be accepted. So *narrower* is breaking,
//!   wider is compatible.
//! * **Answer.** What the service may answer must be something that our callers expect. So *wider*
//!   is breaking, narrower is compatible.
//!
//! | difference, seen from ours to the other | in a request | in an answer |
//! |---|---|---|
//! | operation removed / added | breaking / compatible | |
//! | operation deprecated, or no longer | compatible | |
//! | field, parameter or body removed | breaking | breaking |
//! | field, parameter or body added | breaking if required, else compatible | compatible |
//! | optional becomes required / the reverse | breaking / compatible | compatible / breaking |
//! | bound, `pattern`, `format` or `enum` narrowed or added | breaking | compatible |
//! | bound, `pattern`, `format` or `enum` widened or dropped | compatible | breaking |
//! | type or null no longer allowed / newly allowed | breaking / compatible | compatible / breaking |
//! | any of these replaced by what is neither narrower nor wider | breaking | breaking |
//! | unknown fields no longer / newly allowed | breaking / compatible | compatible / breaking |
//! | default changed or dropped | breaking: who leaves the field out gets something else | not compared |
//! | default stated where none was | compatible: nothing was promised before | not compared |
//! | status 2xx added or removed | | breaking |
//! | other status added or removed | | compatible: a failure without a body we know is handled |
//!
//! Alternatives (`anyOf`, `oneOf`) are read as the widest statement that covers all of them: a
//! field is required if every alternative requires it. A schema that contains itself is followed
//! once round.
//!
//! The exit code is 0 where nothing differs, 1 where something does, 2 where a document cannot be
//! read.

mod algebra;
mod compare;
mod model;
mod report;
mod schema;
mod service;
mod source;
#[cfg(test)]
mod tests;
mod told;

use anyhow::Context;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares openapi.json with another listing of the service.
#[derive(clap::Args)]
pub struct Arguments {
    /// The other listing: an OpenAPI 3.0 or 3.1 document in JSON
    other: PathBuf,
    /// Print the differences as JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Prints the differences; the exit code tells whether there are any.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (report, code) = examine(arguments)?;
    std::io::stdout().write_all(report.as_bytes()).context("writing the report")?;
    Ok(code)
}

fn examine(arguments: &Arguments) -> anyhow::Result<(String, ExitCode)> {
    let ours = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json"))?;
    let theirs = load(&arguments.other)?;
    let found = differences(&ours, &theirs)?;
    let report = if arguments.json { report::json(&found)? } else { report::text(&found) };
    Ok((report, if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

/// A document and the name under which messages speak of it.
struct Listing {
    name: String,
    document: Value,
}

fn load(path: &Path) -> anyhow::Result<Listing> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let document = serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?;
    Ok(Listing { name, document })
}

fn differences(ours: &Listing, theirs: &Listing) -> anyhow::Result<Vec<compare::Difference>> {
    // A header that either document knows as the key is authentication for both, not a parameter.
    let mut credentials = service::credential_headers(&ours.document);
    credentials.append(&mut service::credential_headers(&theirs.document));
    let read = |listing: &Listing| {
        service::read(&listing.document, &credentials).with_context(|| listing.name.clone())
    };
    Ok(compare::differences(&read(ours)?, &read(theirs)?))
}
