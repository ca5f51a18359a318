//! Loads a document from JSON or YAML.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, bail};
use serde_json::Value;

/// The maximum size of a document in bytes. Listings of large services have a few megabytes.
const SIZE: u64 = 32 << 20;

/// A document, and its name for messages.
pub struct Listing {
    pub name: String,
    pub document: Value,
}

/// Loads a file, or standard input if the path is `-`.
pub fn load(path: &Path) -> anyhow::Result<Listing> {
    let (name, text) = if path == Path::new("-") {
        ("standard input".to_owned(), read(io::stdin().lock()))
    } else {
        (path.display().to_string(), File::open(path).map_err(Into::into).and_then(read))
    };
    let text = text.with_context(|| format!("could not read {name}"))?;
    let document = parse(&text).with_context(|| format!("could not parse {name}"))?;
    Ok(Listing { name, document })
}

fn read(source: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    source.take(SIZE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > SIZE {
        bail!("larger than {} MiB", SIZE >> 20);
    }
    Ok(text)
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
