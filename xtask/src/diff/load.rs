//! Loads a document from JSON or YAML.

use std::{fs, io, path::Path};

use anyhow::Context;
use serde_json::Value;

use crate::{
    process,
    repository::{self, CONTRACT},
};

/// A document, and its name for messages.
pub struct Listing {
    pub name: String,
    pub document: Value,
}

/// Loads a file, or standard input if the path is `-`.
pub fn load(path: &Path) -> anyhow::Result<Listing> {
    let (name, text) = if path == Path::new("-") {
        ("standard input".to_owned(), io::read_to_string(io::stdin()))
    } else {
        (path.display().to_string(), fs::read_to_string(path))
    };
    let text = text.with_context(|| format!("could not read {name}"))?;
    let document = parse(&text).with_context(|| format!("could not parse {name}"))?;
    Ok(Listing { name, document })
}

/// Loads our document as of a git revision.
pub fn of_revision(revision: &str) -> anyhow::Result<Listing> {
    let name = format!("{revision}:{CONTRACT}");
    let git = ["git", "show", "--end-of-options", &name];
    let text = process::output(&mut process::command(&repository::root()?, &git))?;
    let document = parse(&text).with_context(|| format!("could not parse {name}"))?;
    Ok(Listing { name, document })
}

/// Parses a document. A text that starts with `{` is JSON, because an OpenAPI document is an
/// object. Any other text is YAML.
pub fn parse(text: &str) -> anyhow::Result<Value> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        return Ok(serde_json::from_str(text)?);
    }
    let options = serde_saphyr::options! {
        // `yes` and `no` are text. Older rules of YAML read them as flags.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).context("not valid YAML")
}
