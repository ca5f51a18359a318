//! `cargo xtask diff OTHER`: compares our document with another listing of the service.
//!
//! Both documents, OpenAPI 3.0 or 3.1 in JSON or YAML, are read into trees of facts ([`node`]), and
//! the trees are compared. So different notations of the same thing are equal: `nullable: true`,
//! `anyOf` with a `null` branch and `type: [.., "null"]`; `const` and an `enum` of one value;
//! `exclusiveMinimum` as a flag and as a number; `format` and `contentEncoding`; an inlined schema
//! and a component of any name; security schemes of any name; `default` and `x-default`, which our
//! document uses for a default outside its own bounds.
//!
//! `--prefix` maps the model names of the other listing to ours ([`prefix`]).
//!
//! # Two documents of ours
//!
//! Only our documents have `x-correction` or `x-not-shown`. If both documents have one of them,
//! every keyword of every object is compared ([`keyword`]). Only equal notations, the order of
//! members and elements, and what occurs twice are not reported. The generated types are compared
//! as well, and reported if their effect is greater than that of all other differences.
//!
//! If one document is a provider's, these are ignored: texts, examples, tags, `operationId`, names
//! of components, callbacks, webhooks, extensions, `uniqueItems`, `not`, `if`, `then`, the schema
//! of `additionalProperties`, defaults in a response, and the format of a number in a request.
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
//! What is neither narrower nor wider, but replaced, is breaking. The last column is the effect on
//! the Rust API of the generated crate: `breaking` if code that uses it may not compile, `additive`
//! if the API grows or warns, and `none` if it stays the same.
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
//! | server added, or servers stated in only one document | compatible | | none |
//! | field, parameter or body removed | breaking | breaking | breaking |
//! | required field, parameter or body added | breaking | | breaking |
//! | required field added | | compatible | additive |
//! | optional field, parameter or body added | compatible | compatible | additive |
//! | optional becomes required: narrower | breaking | compatible | breaking (1) |
//! | one of several objects (`anyOf`, `oneOf`) removed: narrower | breaking | compatible | breaking |
//! | bound, `pattern` or null: narrower or wider | by the rule | by the rule | none (1) |
//! | `format` or a whole `enum`: stated is narrower | by the rule | by the rule | breaking (2) |
//! | value of an `enum` removed: narrower | breaking | compatible | breaking (2) |
//! | value of an `enum` added: wider | compatible | breaking | additive (2) |
//! | types: fewer are narrower | by the rule | by the rule | breaking |
//! | unknown fields no longer allowed: narrower | breaking | compatible | none |
//! | default changed or dropped: callers that omit the field get something else | breaking | compatible | none |
//! | default stated where none was: nothing was promised | compatible | compatible | none |
//! | status code 2xx removed | | breaking | breaking |
//! | status code 2xx added | | breaking | additive |
//! | other status code added or removed (3) | | compatible | none |
//!
//! (1) A required field of a request is an argument of `new`, and its type does not depend on null.
//! A field of a response is an `Option` if it is optional or nullable, so either change is breaking
//! if the field becomes an `Option` or is no longer one, and otherwise has no effect.
//!
//! (2) None for text in a response, and for the format of a number in a request, which restricts no
//! value. (3) Callers must handle failures with an unknown body anyway.
//!
//! The headers of a response follow the rules for its fields, but the crate has no types for them:
//! their effect in Rust is `none`.
//!
//! These are compared only between documents of ours:
//!
//! | difference | for callers | in Rust |
//! |---|---|---|
//! | `x-extensible-enum`: status added, a wider response | breaking | additive |
//! | `x-extensible-enum`: status removed, a narrower response | compatible | breaking |
//! | `x-success`, `x-region`, `x-mask-of`, `x-scaled-to-megapixels` | breaking | none |
//! | `x-aspect-ratio` | breaking | breaking (4) |
//! | `x-image`: encoding no longer accepted, a narrower request | breaking | breaking (4) |
//! | `x-max-reference-images` lower: narrower | breaking | none (5) |
//! | `x-max-megapixels`, `x-max-input-megapixels` lower: narrower | breaking | none |
//! | `x-needs`, `x-not-accepted`: condition added: narrower | breaking | none |
//! | `x-same-size` added: narrower | breaking | none |
//! | `x-valid-seconds` lower: the address in a response expires earlier | breaking | none |
//! | `x-secret`, `x-address` | compatible | breaking (4) |
//! | name of a component of `schemas` | compatible | breaking |
//! | texts: descriptions, examples, tags, `operationId`, `info`, callbacks, `x-kind`, ... | compatible | none |
//! | `minimum` or `maximum` that is no smaller than the range of `int64` | compatible | none |
//! | any other keyword, or a component that nothing refers to | breaking | none |
//!
//! (4) If it is stated in only one document, because it selects the type. Otherwise none. (5)
//! Additive if it is new, and breaking if it is dropped, because `references` is a setter.
//!
//! A document without `servers`, or with the relative URL `/`, states no servers. Neither does a
//! document such as ours, with placeholders in the reserved top-level domain `.invalid`.
//!
//! Of alternatives (`anyOf`, `oneOf`), objects are compared one by one: those that are equal, then
//! those of components with the same name, then the others in their order. All other alternatives
//! are read as the narrowest shape that covers them, and so are the items of a tuple. A recursive
//! schema is expanded once.
//!
//! # The report
//!
//! The same change at the same place is reported once, with all operations that have it
//! ([`report`]): a change of a shared component is one line. The text joins places with the same
//! change, shows only where texts differ, and shortens lists. JSON does not.
//!
//! The exit code is 0 if nothing differs, 1 if something does, and 2 if a document could not be
//! read. With `--released`, it is 1 if the version of the workspace is lower than the changes since
//! that release demand ([`release`]), and otherwise 0.

mod access;
mod compare;
mod keyword;
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
    // Most are consequences of differences between the documents.
    let known = comparison.differences.iter().map(|difference| difference.rust).max();
    let generated = release::generated(&from.document, &to.document).into_iter();
    comparison.differences.extend(generated.filter(|one| Some(one.rust) > known));
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
    let are_ours = [from, to].iter().all(|listing| keyword::is_ours(&listing.document));
    let read = |listing: &Listing, prefix| {
        service::read(&listing.document, &credentials, prefix, are_ours)
            .with_context(|| listing.name.clone())
    };
    let first = read(from, None)?;
    let second = read(to, prefix)?;
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
