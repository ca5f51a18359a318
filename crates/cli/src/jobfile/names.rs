//! The names of jobs for which the file sets no name.
//!
//! A name depends only on the request (the model and the fields) and on how often the same request
//! occurred before. Users can add, remove and sort lines: every unchanged line keeps its name, so
//! its job is not paid for again. A changed line is a new job.
//!
//! Names must not change between versions of `kiln`, because users would pay for all their jobs
//! again.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::models::PROMPT;
use imagekiln::Operation;
use imagekiln_label::sha256;

/// The maximum length of the part of a name that is made from the prompt.
const LONGEST_SLUG: usize = 32;

/// This field decides where notifications are sent, and does not change the picture. If only this
/// field changes, the job keeps its name, and the ledger reports that the request of the job has
/// changed.
const NOT_IN_NAMES: &str = "webhook_url";

/// Creates the name of a request. `counts` says how often each name was created. `written` contains
/// the fields as the user wrote them, with relative paths, so that the name does not depend on the
/// current directory.
pub fn create(
    counts: &mut HashMap<String, u64>,
    operation: &Operation,
    written: &BTreeMap<&str, Value>,
) -> String {
    let base = base(operation, written);
    let count = counts.entry(base.clone()).or_default();
    *count += 1;
    match *count {
        1 => base,
        count => format!("{base}-{count}"),
    }
}

fn base(operation: &Operation, written: &BTreeMap<&str, Value>) -> String {
    let mut hashed = operation.name.to_owned();
    for (name, value) in written.iter().filter(|(name, _)| **name != NOT_IN_NAMES) {
        let mut value = value.clone();
        value.sort_all_objects();
        // Newlines separate the parts unambiguously, because no name and no JSON text contains one.
        hashed += &format!("\n{}\n{value}", Value::from(*name));
    }
    let mut digest = sha256(hashed.as_bytes());
    digest.truncate(16);
    match slug(written.get(PROMPT).and_then(Value::as_str).unwrap_or_default()) {
        slug if slug.is_empty() => digest,
        slug => format!("{slug}-{digest}"),
    }
}

/// The first words of a prompt, in lower case.
fn slug(prompt: &str) -> String {
    let mut slug = String::new();
    for c in prompt.chars() {
        if slug.len() == LONGEST_SLUG {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

#[cfg(test)]
mod tests {
    use imagekiln::find_model;
    use serde_json::json;

    use super::*;

    fn name(fields: Value) -> String {
        let operation = find_model("gen-2-pro").unwrap();
        let fields = fields.as_object().unwrap();
        let written = fields.iter().map(|(name, value)| (name.as_str(), value.clone()));
        create(&mut HashMap::new(), operation, &written.collect())
    }

    /// If this test fails, users will pay for their jobs again.
    #[test]
    fn names_do_not_change_between_versions() {
        assert_eq!(name(json!({ "prompt": "A red fox" })), "a-red-fox-6ceb338f4cb40dec");
        assert_eq!(
            name(json!({ "prompt": "狐", "seed": 7, "input_image": "cat.png", "raw": true })),
            "2d6721aa88a46add"
        );
        assert_eq!(name(json!({ "extra": { "b": [1, 2.5, null], "a": "x" } })), "ad45fd0f0bdefd66");
    }

    #[test]
    fn a_name_depends_on_every_field_but_the_webhook_url() {
        let fox = name(json!({ "prompt": "fox" }));
        assert_ne!(fox, name(json!({ "prompt": "fox", "seed": 7 })));
        assert_ne!(fox, name(json!({ "prompt": "fox " })));
        assert_eq!(fox, name(json!({ "prompt": "fox", "webhook_url": "https://example.com" })));
        assert_eq!(
            name(json!({ "seed": 7, "prompt": { "a": 1, "b": 2 } })),
            name(json!({ "prompt": { "b": 2, "a": 1 }, "seed": 7 }))
        );
    }

    #[test]
    fn a_slug_has_the_first_words_of_the_prompt() {
        assert_eq!(slug("  A red fox, in the -- snow!"), "a-red-fox-in-the-snow");
        assert_eq!(slug(&"x".repeat(100)), "x".repeat(32));
        assert_eq!(slug(&format!("{} y", "x".repeat(31))), "x".repeat(31));
        assert_eq!(slug("Füchse 狐"), "f-chse");
    }
}
