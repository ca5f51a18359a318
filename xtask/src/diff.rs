//! `cargo xtask diff OTHER`: compares our document with another listing of the service.
//!
//! Both documents, OpenAPI 3.0 or 3.1 in JSON or YAML, are read into trees of restrictions
//! ([`node`]), and the trees are compared. So different notations of the same thing are equal:
//! `nullable: true`, `anyOf` with a `null` branch and `type: [.., "null"]`; `const` and an `enum`
//! of one value; `exclusiveMinimum` as a flag and as a number; `format` and `contentEncoding`; an
//! inlined schema and a component of any name; security schemes of any name. Ignored are
//! descriptions, titles, examples, tags, `operationId`, webhooks, `uniqueItems`, `not`, `if` and
//! `then`, the schema of `additionalProperties`, and extensions except `x-default`, which our
//! document uses for a default outside its own bounds.
//!
//! `--prefix` maps the model names of the other listing to ours ([`prefix`]).
//!
//! # Breaking changes
//!
//! `breaking` means that if the *second* document is correct, a caller of the *first* may fail, or
//! get something else. All other differences are `compatible`. The first document is ours, except
//! with `--released`. Two rules decide it:
//!
//! * **Request.** The service must still accept what callers may send, so *narrower* is breaking
//!   and wider is compatible.
//! * **Response.** Callers must expect everything that the service may return, so *wider* is
//!   breaking and narrower is compatible.
//!
//! The last column is the effect on the Rust API of the generated crate: `breaking` if code that
//! uses it may not compile, `additive` if the API grows or warns, and `none` if it stays the same.
//!
//! | difference, from the first to the second | in a request | in a response | in Rust |
//! |---|---|---|---|
//! | operation removed | breaking | | breaking |
//! | operation added | compatible | | additive |
//! | operation, field or parameter deprecated | compatible | compatible | additive |
//! | one of these no longer deprecated | compatible | compatible | none |
//! | other credentials demanded | breaking | | none |
//! | other credentials accepted, too | compatible | | none |
//! | server removed | breaking | | none |
//! | server added | compatible | | none |
//! | servers stated in only one document | compatible | | none |
//! | field, parameter or body removed | breaking | breaking | breaking |
//! | required field, parameter or body added | breaking | | breaking |
//! | required field added | | compatible | additive |
//! | optional field, parameter or body added | compatible | compatible | additive |
//! | optional becomes required | breaking | compatible | breaking (1) |
//! | required becomes optional | compatible | breaking | breaking (1) |
//! | bound or `pattern` narrowed or added | breaking | compatible | none |
//! | bound or `pattern` widened or dropped | compatible | breaking | none |
//! | `format` added | breaking | compatible | breaking (2) |
//! | `format` dropped | compatible | breaking | breaking (2) |
//! | value of an `enum` removed | breaking | compatible | breaking (2) |
//! | value of an `enum` added | compatible | breaking | additive (2) |
//! | `enum` added | breaking | compatible | breaking (2) |
//! | `enum` dropped | compatible | breaking | breaking (2) |
//! | type no longer allowed | breaking | compatible | breaking |
//! | type newly allowed | compatible | breaking | breaking |
//! | null no longer allowed | breaking | compatible | none (1) |
//! | null newly allowed | compatible | breaking | none (1) |
//! | any of these neither narrowed nor widened, but replaced | breaking | breaking | as above |
//! | unknown fields no longer allowed | breaking | compatible | none |
//! | unknown fields newly allowed | compatible | breaking | none |
//! | default changed or dropped (3) | breaking | | none |
//! | default stated where none was: nothing was promised | compatible | | none |
//! | status code 2xx removed | | breaking | breaking |
//! | status code 2xx added | | breaking | additive |
//! | other status code added or removed (4) | | compatible | none |
//!
//! (1) A required field of a request is an argument of `new`, and its type does not depend on null.
//! A field of a response is an `Option` if it is optional or nullable, so either change is breaking
//! if the field becomes an `Option` or is no longer one, and otherwise has no effect.
//!
//! (2) None for text in a response. The format of a number in a request is ignored: it restricts no
//! value and selects no type.
//!
//! (3) Callers that omit the field get something else.
//!
//! (4) Callers must handle failures with an unknown body anyway.
//!
//! The headers of a response follow the rules for its fields, but the crate has no types for them:
//! their effect in Rust is `none`. The crate takes some types from extensions and from the names of
//! components, which the comparison ignores. With `--released`, the generated types are compared as
//! well, and reported if their effect is greater than that of all other differences.
//!
//! A document without `servers`, or with the relative URL `/`, states no servers. Neither does a
//! document such as ours, with placeholders in the reserved top-level domain `.invalid`.
//!
//! Alternatives (`anyOf`, `oneOf`) are read as the narrowest shape that covers all of them: a field
//! is required if every alternative requires it. The same goes for the items of a tuple. A
//! recursive schema is expanded once.
//!
//! # The report
//!
//! The same change at the same place is reported once, with all operations that have it
//! ([`report`]): a change of a shared component is one line. The text joins places with the same
//! change and shortens lists, JSON does not.
//!
//! The exit code is 0 if nothing differs, 1 if something does, and 2 if a document could not be
//! read. With `--released`, it is 1 if the version of the workspace is lower than the changes since
//! that release demand ([`release`]), and otherwise 0.

mod access;
mod compare;
mod load;
mod node;
mod prefix;
mod release;
mod report;
mod schema;
mod service;
#[cfg(test)]
mod tests;

use std::{io::Write, path::PathBuf, process::ExitCode};

use anyhow::{Context, bail};
use semver::Version;

use self::{
    compare::{Comparison, compare},
    load::{Listing, load},
    prefix::Prefix,
    release::Release,
    report::Report,
};
use crate::repository::{self, CONTRACT};

/// Compares openapi.json with another listing of the service
///
/// Every change is reported once, with its effect on callers of the service (breaking or
/// compatible) and on users of the Rust crate (breaking, additive or none), and with the version
/// that a release with these changes demands.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes:
  0  No differences; with --released, the version of the workspace is high enough
  1  Differences; with --released, the version of the workspace is too low
  2  The arguments are wrong, or a document could not be read

Examples:
  cargo xtask diff provider.yaml --prefix xyz=gen --only-common
  git show v0.1.0:openapi.json | cargo xtask diff - --released 0.1.0")]
pub struct Arguments {
    /// The other listing: an OpenAPI 3.0 or 3.1 document in JSON or YAML; `-` for standard input
    other: PathBuf,
    /// Read model names with the prefix THEIRS, such as xyz-2-pro, as ours, such as gen-2-pro
    #[arg(long, value_name = "THEIRS=OURS")]
    prefix: Option<Prefix>,
    /// Compare only the operations that both documents have, and count the others
    #[arg(long)]
    only_common: bool,
    /// Check the version of the workspace before a release: OTHER is openapi.json as of the
    /// released VERSION, and the differences are the changes since then
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["prefix", "only_common"])]
    released: Option<Version>,
    /// Print the differences as JSON, for programs; nothing is shortened
    #[arg(long)]
    json: bool,
}

/// Prints the differences. The exit code reports whether there are any.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let ours = Listing { name: CONTRACT.to_owned(), ..load(&repository::root()?.join(CONTRACT))? };
    // All packages of the workspace have its version.
    let workspace = Version::parse(env!("CARGO_PKG_VERSION"))?;
    let (report, code) = examine(arguments, &ours, workspace)?;
    std::io::stdout().write_all(report.as_bytes()).context("could not write the report")?;
    Ok(code)
}

/// The report, and the exit code.
fn examine(
    arguments: &Arguments,
    ours: &Listing,
    workspace: Version,
) -> anyhow::Result<(String, ExitCode)> {
    let Arguments { prefix, only_common, released, .. } = arguments;
    let other = load(&arguments.other)?;
    let (from, to) = if released.is_some() { (&other, ours) } else { (ours, &other) };
    let mut comparison = differences(from, to, prefix.as_ref(), *only_common)?;
    if released.is_some() {
        let known = comparison.differences.iter().map(|difference| difference.finding.rust).max();
        let generated = release::generated(&from.document, &to.document).into_iter();
        // The others are consequences of differences between the documents.
        comparison.differences.extend(generated.filter(|one| Some(one.finding.rust) > known));
    }
    let release = match released {
        Some(version) => Release::new(version.clone(), Some(workspace), &comparison.differences),
        None => Release::new(workspace, None, &comparison.differences),
    };
    let report = Report {
        from: &from.name,
        to: &to.name,
        comparison: &comparison,
        only_common: *only_common,
        release: &release,
    };
    let text = if arguments.json { report.json()? } else { report.text() };
    let failed = match released {
        Some(_) => release.is_too_low(),
        None => !comparison.differences.is_empty(),
    };
    Ok((text, if failed { ExitCode::from(1) } else { ExitCode::SUCCESS }))
}

fn differences(
    from: &Listing,
    to: &Listing,
    prefix: Option<&Prefix>,
    only_common: bool,
) -> anyhow::Result<Comparison> {
    // A header that either document uses for the key is authentication in both, not a parameter.
    let mut credentials = access::credential_headers(&from.document);
    credentials.append(&mut access::credential_headers(&to.document));
    let read = |listing: &Listing, prefix| {
        service::read(&listing.document, &credentials, prefix).with_context(|| listing.name.clone())
    };
    let first = read(from, None)?;
    let second = read(to, prefix)?;
    if let Some(prefix) = prefix
        && !prefix.occurs_in(&to.document)
    {
        bail!("{}: no path starts with {}: check --prefix", to.name, prefix.start());
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
