//! Entry points for the fuzz targets: parsers of files, and text that is safe for the terminal.
//!
//! Not part of the interface. Programs can't rely on anything here.

use std::path::Path;

use serde_json::Value;

use crate::{
    history,
    output::report,
    settings,
    terminal::paint::Paint,
    text::{json, sanitize},
};

/// Reads `config.toml`. The error is what `kiln` prints.
pub fn config(text: &str) -> Result<(), String> {
    settings::of_text(Path::new("config.toml"), text)
        .map(drop)
        .map_err(|failure| report::to_people(&failure, Paint::new(false)))
}

/// Reads a submission of the history. Returns its state, and its record as it is written.
pub fn history(file: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let entry = history::Entry::new(1, serde_json::from_slice(file).ok()?, false);
    entry.kept.destination.target(Path::new(""));
    Some((entry.state(), serde_json::to_vec(&entry.record).ok()?))
}

/// The first 100 characters of a text, without control characters.
pub fn one_line(text: &str) -> String {
    sanitize::one_line(text)
}

/// Complete JSON on one line.
pub fn json_line(value: &Value) -> String {
    json::json_line(value)
}
