//! Keywords that OpenAPI's restrictions of values do not include: texts, and our extensions.
//!
//! They are compared if both documents are ours. Every keyword is a fact then, even an unknown one,
//! so no change is overlooked.

use std::collections::BTreeSet;

use serde_json::Value;

use super::node::{Fact, Facts, canonical};
use crate::contract::DocumentNode;

/// The meaning of a keyword. The comparison decides its effect in Rust.
#[derive(Clone, Copy)]
enum Meaning {
    /// Text for people, or a name that no request or response contains.
    Text,
    /// A lower value is narrower.
    Upper,
    /// A higher value is narrower.
    Lower,
    /// `true` is narrower.
    Flag,
    /// A choice: a list, or words with `-or-` between them.
    Any,
    /// A list of conditions that all hold. The reasons in `why` are texts.
    All,
    /// Any other value may break callers.
    Exact,
}

fn meaning(keyword: &str) -> Meaning {
    match keyword {
        "$ref" | "callbacks" | "description" | "example" | "examples" | "externalDocs" | "info"
        | "links" | "name" | "openapi" | "operationId" | "securitySchemes" | "servers"
        | "summary" | "tags" | "title" => Meaning::Text,
        // The last two select a type, but the service accepts and returns the same values.
        "x-correction" | "x-kind" | "x-migrate-to" | "x-not-shown" | "x-address" | "x-secret" => {
            Meaning::Text
        }
        "x-max-input-megapixels" | "x-max-megapixels" | "x-max-reference-images" => Meaning::Upper,
        // The address in a response is valid for at least this time.
        "x-valid-seconds" => Meaning::Lower,
        "x-same-size" => Meaning::Flag,
        "x-extensible-enum" | "x-image" => Meaning::Any,
        "x-needs" | "x-not-accepted" => Meaning::All,
        // `x-aspect-ratio`, `x-mask-of`, `x-region`, `x-scaled-to-megapixels`, `x-success`, and
        // every keyword that is not known here.
        _ => Meaning::Exact,
    }
}

/// Whether a document is ours. Only ours record conflicts between listings, and gaps in them.
pub fn is_ours(document: &Value) -> bool {
    let text = document.to_string();
    [r#""x-correction":"#, r#""x-not-shown":"#].iter().any(|keyword| text.contains(keyword))
}

/// Adds a fact for each member of the object that `known` does not have.
pub fn state_others(facts: &mut Facts, place: &DocumentNode, known: &[&str]) {
    let members = place.value.as_object().into_iter().flatten();
    let others = members.filter(|(name, _)| !known.contains(&name.as_str()));
    others.for_each(|(name, value)| state(facts, name, value));
}

/// Adds the facts of a keyword: for the members of an object, each has its own name.
pub fn state(facts: &mut Facts, name: &str, value: &Value) {
    let keyword = name.split('.').next().unwrap_or(name);
    let fact = match (meaning(keyword), value) {
        (_, Value::Object(members)) if !members.is_empty() => {
            return members.iter().for_each(|(key, member)| {
                state(facts, &format!("{name}.{key}"), member);
            });
        }
        (Meaning::Upper, Value::Number(limit)) => Fact::upper(limit.as_f64().unwrap_or_default()),
        (Meaning::Lower, Value::Number(limit)) => Fact::lower(limit.as_f64().unwrap_or_default()),
        (Meaning::Flag, Value::Bool(true)) => Fact::Flag,
        (Meaning::Any, Value::String(words)) => {
            Fact::Any(words.split("-or-").map(|word| canonical(&word.into())).collect())
        }
        (Meaning::Any, Value::Array(values)) => Fact::Any(values.iter().map(canonical).collect()),
        (Meaning::All, Value::Array(values)) => {
            let mut values = values.clone();
            let whys = values.iter_mut().filter_map(|value| value.as_object_mut()?.remove("why"));
            let whys: BTreeSet<_> = whys.map(|why| canonical(&why)).collect();
            if !whys.is_empty() {
                facts.insert(format!("{name}.why"), Fact::Text(whys));
            }
            Fact::All(values.iter().map(canonical).collect())
        }
        (Meaning::Text, _) => Fact::Text([value.to_string()].into()),
        _ => Fact::Exact([value.to_string()].into()),
    };
    let fact = match facts.remove(name) {
        // The object and what it contains may have the same keyword.
        Some(other) => other.and(fact),
        None => fact,
    };
    facts.insert(name.to_owned(), fact);
}
