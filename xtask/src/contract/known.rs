//! Checks that each kind of object outside of requests has the keywords that the generator knows,
//! and only those. `known.json` has them, as a JSON Schema.

use std::sync::LazyLock;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

use super::{DocumentNode, Faults, all, joined};

static KNOWN: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("known.json")).expect("valid JSON"));

static DOCUMENT: LazyLock<Validator> = LazyLock::new(|| validator(&KNOWN));
static RESPONSE_SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    validator(&json!({ "$ref": "#/$defs/responseSchema", "$defs": KNOWN["$defs"] }))
});

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("a valid schema")
}

/// Checks all of the document except its schemas.
pub fn check_document(root: &DocumentNode) -> Result<(), Faults> {
    check(root, &DOCUMENT)
}

/// Checks a schema that a response refers to.
pub fn check_response_schema(schema: &DocumentNode) -> Result<(), Faults> {
    check(schema, &RESPONSE_SCHEMA)
}

fn check(place: &DocumentNode, validator: &Validator) -> Result<(), Faults> {
    let pointer = place.pointer();
    all(validator.iter_errors(place.value).map(|error| faults(&pointer, &error))).map(drop)
}

/// The faults of one error in the value at a pointer.
fn faults(pointer: &str, error: &ValidationError) -> Result<(), Faults> {
    let place = format!("{pointer}{}", error.instance_path());
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            all::<()>(unexpected.iter().map(|keyword| {
                let message = "add support for it to the generator, or remove it";
                let message = format!("unsupported keyword `{keyword}`: {message}");
                Err(Faults::new(joined(&place, keyword), message))
            }))
            .map(drop)
        }
        ValidationErrorKind::Required { property } => {
            Err(Faults::new(place, format!("{property} is missing").replace('"', "`")))
        }
        _ => Err(Faults::new(place, error.masked().to_string())),
    }
}
