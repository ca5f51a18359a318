//! The documents from which the types and the client are generated.

use serde_json::Value;

/// The SDK's own generator, from the same source files.
#[path = "../../../../build/mod.rs"]
mod generator;

use self::generator::{Fault, Options};

/// A document becomes valid Rust, or an error that names a place in it.
pub fn contract(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let document = match generator::parse(text) {
        Ok(document) => document,
        Err(fault) => return assert!(!fault.to_string().is_empty()),
    };
    for outcome in [generator::check(&document), generator::check_complete(&document)] {
        if let Err(fault) = outcome {
            assert_named(&fault, &document);
        }
    }
    match generator::generate(text, &Options { json_schema: false }) {
        Ok(code) => drop(syn::parse_file(&code).expect("the generated code is Rust")),
        Err(fault) => assert_named(&fault, &document),
    }
}

/// The error begins with a pointer to a value of the document, or is about all of it.
fn assert_named(fault: &Fault, document: &Value) {
    let text = fault.to_string();
    assert!(!text.trim().is_empty());
    let mut ends = text.match_indices(": ").map(|(end, _)| &text[..end]);
    let is_place = |pointer: &str| document.pointer(pointer).is_some();
    assert!(!text.starts_with('/') || ends.any(is_place), "{text}");
}
