//! `cargo xtask diff OTHER.json`: compares our document with another listing of the service.
//!
//! Both documents, OpenAPI 3.0 or 3.1, are read into the same small model ([`model`]), and the
//! models are compared. So different notations of the same thing are equal: `nullable: true`,
//! `anyOf` with a `null` branch and `type: [.., "null"]`; `const` and an `enum` of one value;
//! `exclusiveMinimum` as a flag and as a number; an inlined schema and a component of any name.
//! Descriptions, titles, examples, tags, `operationId` and extensions are ignored (except
//! `x-default`, which our document uses for a default outside its own bounds), and so are
//! authentication, `uniqueItems`, `not`, `if`/`then`, and the schema of `additionalProperties`.
//!
//! # What is breaking
//!
//! `breaking` means that if the *other* listing is correct, a caller of *our* document may fail, or
//! get something else. All other differences are `compatible`. Two rules decide it:
//!
//! * **Request.** The service must still accept what our callers may send, so *narrower* is
//!   breaking and wider is compatible.
//! * **Response.** Our callers must expect everything that the service may return, so *wider* is
//!   breaking and narrower is compatible.
//!
//! | difference, from ours to the other | in a request | in a response |
//! |---|---|---|
//! | operation removed / added | breaking / compatible | |
//! | operation deprecated, or not any more | compatible | |
//! | field, parameter or body removed | breaking | breaking |
//! | field, parameter or body added | breaking if required, else compatible | compatible |
//! | optional becomes required / the reverse | breaking / compatible | compatible / breaking |
//! | bound, `pattern`, `format` or `enum` narrowed or added | breaking | compatible |
//! | bound, `pattern`, `format` or `enum` widened or dropped | compatible | breaking |
//! | type or null no longer allowed / newly allowed | breaking / compatible | compatible / breaking |
//! | any of these replaced by something neither narrower nor wider | breaking | breaking |
//! | unknown fields no longer / newly allowed | breaking / compatible | compatible / breaking |
//! | default changed or dropped | breaking: callers that omit the field get something else | not compared |
//! | default stated where none was | compatible: nothing was promised before | not compared |
//! | status code 2xx added or removed | | breaking |
//! | other status code added or removed | | compatible: failures with an unknown body are handled |
//!
//! Alternatives (`anyOf`, `oneOf`) are read as the narrowest shape that covers all of them: a field
//! is required if every alternative requires it. A recursive schema is expanded once.
//!
//! The exit code is 0 if nothing differs, 1 if something does, and 2 if a document could not be
//! read.

mod algebra;
mod compare;
mod describe;
mod model;
mod report;
mod schema;
mod service;
#[cfg(test)]
mod tests;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use serde_json::Value;

use crate::repository::{self, CONTRACT};

/// Compares openapi.json with another listing of the service
#[derive(clap::Args)]
pub struct Arguments {
    /// The other listing: an OpenAPI 3.0 or 3.1 document in JSON
    other: PathBuf,
    /// Print the differences as JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Prints the differences. The exit code reports whether there are any.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (report, code) = examine(arguments)?;
    std::io::stdout().write_all(report.as_bytes()).context("could not write the report")?;
    Ok(code)
}

fn examine(arguments: &Arguments) -> anyhow::Result<(String, ExitCode)> {
    let ours = load(&repository::root()?.join(CONTRACT))?;
    let theirs = load(&arguments.other)?;
    let found = differences(&ours, &theirs)?;
    let report = if arguments.json { report::json(&found)? } else { report::text(&found) };
    Ok((report, if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

/// A document, and its name for messages.
struct Listing {
    name: String,
    document: Value,
}

fn load(path: &Path) -> anyhow::Result<Listing> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {name}"))?;
    let document =
        serde_json::from_str(&text).with_context(|| format!("could not parse {name}"))?;
    Ok(Listing { name, document })
}

fn differences(ours: &Listing, theirs: &Listing) -> anyhow::Result<Vec<compare::Difference>> {
    // A header that either document uses for the key is authentication in both, not a parameter.
    let mut credentials = service::credential_headers(&ours.document);
    credentials.append(&mut service::credential_headers(&theirs.document));
    let read = |listing: &Listing| {
        service::read(&listing.document, &credentials).with_context(|| listing.name.clone())
    };
    Ok(compare::differences(&read(ours)?, &read(theirs)?))
}
