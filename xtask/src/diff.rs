//! `cargo xtask diff OTHER`: compares our document with another listing of the service.
//!
//! Both documents, OpenAPI 3.0 or 3.1 in JSON or YAML, are read into facts about each place of each
//! operation ([`shape`]), and the facts are compared. So different notations of the same thing are
//! equal: `nullable: true`, `anyOf` with a `null` branch and `type: [.., "null"]`; `const` and an
//! `enum` of one value; `exclusiveMinimum` as a flag and as a number; `format` and
//! `contentEncoding`; an inlined schema and a component of any name; security schemes of any name;
//! `default` and `x-default`, which our document uses for a default outside its own bounds.
//!
//! `--prefix` maps the model names of the other listing to ours ([`prefix`]). These are ignored:
//! texts, examples, tags, `operationId`, names of components, callbacks, webhooks, extensions,
//! `uniqueItems`, `not`, `if`, `then`, the schema of `additionalProperties`, defaults in a
//! response, and the format of a number in a request.
//!
//! # Breaking changes
//!
//! `breaking` means that if the other document is correct, a caller of ours may fail, or get
//! something else. All other differences are `compatible`. Two rules decide it:
//!
//! * **Request.** The service must still accept what callers may send, so *narrower* is breaking
//!   and wider is compatible.
//! * **Response.** Callers must expect everything that the service may return, so *wider* is
//!   breaking and narrower is compatible.
//!
//! What is neither narrower nor wider, but replaced, is breaking.
//!
//! | difference, from ours to the other | in a request | in a response |
//! |---|---|---|
//! | operation removed | breaking | |
//! | operation added | compatible | |
//! | operation, field or parameter deprecated, or no longer | compatible | compatible |
//! | credentials: alternatives removed or replaced | breaking | |
//! | server removed | breaking | |
//! | server added, or servers stated in only one document | compatible | |
//! | field, parameter or body removed | breaking | breaking |
//! | required field, parameter or body added | breaking | compatible |
//! | optional field, parameter or body added | compatible | compatible |
//! | optional becomes required: narrower | breaking | compatible |
//! | bound, `pattern`, `format`, `enum` or types: narrower or wider | by the rule | by the rule |
//! | name added to an open enum (`anyOf` of a string and an `enum`) | compatible | compatible |
//! | name removed from an open enum | breaking | compatible |
//! | object added to the alternatives: wider | compatible | breaking |
//! | object removed from the alternatives: narrower | breaking | compatible |
//! | unknown fields no longer allowed: narrower | breaking | compatible |
//! | default changed or dropped: callers that omit the field get something else | breaking | |
//! | default stated where none was: nothing was promised | compatible | |
//! | status code 2xx added or removed | | breaking |
//! | other status code added or removed: callers must handle unknown failures | | compatible |
//!
//! A document without `servers`, or with the relative URL `/`, states no servers. Neither does a
//! document such as ours, with placeholders in the reserved top-level domain `.invalid`.
//!
//! Alternatives (`anyOf`, `oneOf`) are read as the narrowest shape that covers them, and so are the
//! items of a tuple. Different objects among them are compared one by one: those that are equal, or
//! else have the same name, or else the same position. A recursive schema is expanded once.
//!
//! The same change at the same place is reported once, with all operations that have it
//! ([`report`]): a change of a shared component is one line.
//!
//! The exit code is 0 if nothing differs, 1 if something does, and 2 if a document could not be
//! read.

mod compare;
mod load;
mod prefix;
mod report;
mod schema;
mod service;
mod shape;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

use self::{
    compare::{Comparison, compare},
    load::{Listing, load, of_revision},
    prefix::Prefix,
    report::Report,
};
use crate::repository::{self, CONTRACT};

/// Compares openapi.json with another listing of the service
///
/// Every change is reported once, with its effect on callers of the service (breaking or
/// compatible).
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes:
  0  No differences
  1  Differences
  2  The arguments are wrong, or a document could not be read

Examples:
  cargo xtask diff provider.yaml --prefix xyz=gen --only-common
  cargo xtask diff --against v0.1.0")]
pub struct Arguments {
    /// The other listing: an OpenAPI 3.0 or 3.1 document in JSON or YAML; `-` for standard input
    #[arg(required_unless_present = "against")]
    other: Option<PathBuf>,
    /// Compare openapi.json as of this git revision with the one in the working tree
    #[arg(long, value_name = "REV", conflicts_with_all = ["other", "prefix"])]
    against: Option<String>,
    /// Read model names with the prefix THEIRS, such as xyz-2-pro, as ours, such as gen-2-pro
    #[arg(long, value_name = "THEIRS=OURS")]
    prefix: Option<Prefix>,
    /// Compare only the operations that both documents have, and count the others
    #[arg(long)]
    only_common: bool,
}

/// Prints the differences. The exit code reports whether there are any.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let ours = Listing { name: CONTRACT.to_owned(), ..load(&repository::root()?.join(CONTRACT))? };
    let (report, is_different) = examine(arguments, &ours)?;
    print!("{report}");
    Ok(ExitCode::from(u8::from(is_different)))
}

/// The report, and whether anything differs.
fn examine(arguments: &Arguments, ours: &Listing) -> Result<(String, bool)> {
    let Arguments { other, against, prefix, only_common } = arguments;
    let other = match (other, against) {
        (Some(path), _) => load(path)?,
        (None, revision) => of_revision(revision.as_deref().unwrap_or("HEAD"))?,
    };
    // A revision is the earlier document, and another listing what ours may become.
    let (from, to) = if against.is_some() { (&other, ours) } else { (ours, &other) };
    let comparison = differences(from, to, prefix.as_ref(), *only_common)?;
    let (from, to) = (&from.name, &to.name);
    let report = Report { from, to, comparison: &comparison, only_common: *only_common };
    Ok((report.to_string(), !comparison.differences.is_empty()))
}

fn differences(
    from: &Listing,
    to: &Listing,
    prefix: Option<&Prefix>,
    only_common: bool,
) -> Result<Comparison> {
    // A header that either document uses for the key is authentication in both, not a parameter.
    let mut keys = service::key_headers(&from.document);
    keys.append(&mut service::key_headers(&to.document));
    let read = |listing: &Listing, prefix| {
        service::read(&listing.document, &keys, prefix).with_context(|| listing.name.clone())
    };
    let (first, second) = (read(from, None)?, read(to, prefix)?);
    if let Some(prefix) = prefix
        && !prefix.occurs_in(&to.document)
    {
        bail!("{}: no path starts with /v1/{}-: check --prefix", to.name, prefix.theirs);
    }
    let comparison = compare(&first, &second, only_common);
    if only_common && comparison.common.is_empty() {
        bail!(
            "{} and {} have no operation in common: use --prefix if the model names differ",
            from.name,
            to.name
        );
    }
    Ok(comparison)
}
