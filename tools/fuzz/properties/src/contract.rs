//! The documents from which the types and the client are generated.

use serde_json::Value;

/// The SDK's own generator, from the same source files.
#[path = "../../../../build/mod.rs"]
mod generator;

use self::generator::{Faults, Options};

/// A document becomes valid Rust, or errors that name places in it. `cargo xtask check` finds more
/// than the generator.
pub fn contract(data: &[u8]) {
    let Ok(document) = serde_json::from_slice(data) else { return };
    if let Err(faults) = generator::check(&document) {
        assert_named(&faults, &document);
    }
    match generator::generate(&document, &Options { json_schema: false }) {
        Ok(code) => drop(syn::parse_file(&code).expect("the generated code is Rust")),
        Err(faults) => assert_named(&faults, &document),
    }
}

/// Each error begins with a pointer to a value of the document, or is about all of it.
fn assert_named(faults: &Faults, document: &Value) {
    for text in faults.to_string().lines() {
        assert!(!text.trim().is_empty());
        let mut ends = text.match_indices(": ").map(|(end, _)| &text[..end]);
        let is_place = |pointer: &str| document.pointer(pointer).is_some();
        assert!(!text.starts_with('/') || ends.any(is_place), "{text}");
    }
}
