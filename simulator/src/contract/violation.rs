//! Violations, in the format and wording of a 422 response.

use jsonschema::{error::ValidationErrorKind as Kind, paths::LocationSegment};
use serde::Serialize;
use serde_json::Value;

use super::integer;
use crate::values::names;

/// The maximum number of violations to report.
pub(crate) const MAX_VIOLATIONS: usize = 100;

/// A violation of the contract.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Violation {
    pub(crate) loc: Vec<Step>,
    pub(crate) msg: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

/// A step on the path to the invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl Violation {
    pub(crate) fn new(
        loc: impl IntoIterator<Item = impl Into<Step>>,
        kind: &'static str,
        msg: impl Into<String>,
    ) -> Self {
        Self { loc: loc.into_iter().map(Into::into).collect(), msg: msg.into(), kind }
    }

    /// Bounds the names on its path, and replaces characters that cannot be printed.
    pub(crate) fn make_printable(&mut self) {
        for step in &mut self.loc {
            if let Step::Name(name) = step {
                *name = names::printable(name);
            }
        }
    }

    /// A violation by a value of the right type.
    pub(crate) fn value(loc: Vec<Step>, reason: impl AsRef<str>) -> Self {
        Self { loc, msg: format!("Value error, {}", reason.as_ref()), kind: "value_error" }
    }
}

/// The first violations of a schema.
pub(crate) fn of_schema(validator: &jsonschema::Validator, body: &Value) -> Vec<Violation> {
    let mut violations: Vec<Violation> = Vec::new();
    for error in validator.iter_errors(body) {
        // Each one is compared with all others.
        if violations.len() >= MAX_VIOLATIONS {
            break;
        }
        for violation in translate(&error) {
            let known = violations
                .iter()
                .any(|known| known.loc == violation.loc && known.kind == violation.kind);
            if !known {
                violations.push(violation);
            }
        }
    }
    // A value that is not an allowed choice needs no violation of its type in addition, and a
    // number with a fraction instead of an integer none of its limits.
    for only in ["enum", integer::FRACTIONAL.0] {
        let with = violations.iter().filter(|violation| violation.kind == only);
        let locs: Vec<_> = with.map(|violation| violation.loc.clone()).collect();
        violations.retain(|violation| violation.kind == only || !locs.contains(&violation.loc));
    }
    violations
}

fn translate(error: &jsonschema::ValidationError<'_>) -> Vec<Violation> {
    let mut loc = vec![Step::from("body")];
    loc.extend(error.instance_path().iter().map(|segment| match segment {
        LocationSegment::Property(name) => Step::Name(name.into_owned()),
        LocationSegment::Index(index) => Step::Index(index),
    }));
    let at = |name: &str| {
        let mut loc = loc.clone();
        loc.push(name.into());
        loc
    };
    let (kind, msg) = match error.kind() {
        Kind::Required { property } => {
            return vec![Violation::new(
                at(property.as_str().unwrap_or_default()),
                "missing",
                "Field required",
            )];
        }
        Kind::AdditionalProperties { unexpected } => {
            let extra = |name: &String| {
                Violation::new(at(name), "extra_forbidden", "Extra inputs are not permitted")
            };
            return unexpected.iter().map(extra).collect();
        }
        Kind::Type { .. } => wrong_type(error),
        Kind::Enum { options } => ("enum", format!("Input should be {}", alternatives(options))),
        Kind::Minimum { limit } => integer::too_small(limit),
        Kind::Custom { keyword, .. } if keyword == integer::INT64 => integer::too_small(i64::MIN),
        Kind::ExclusiveMinimum { limit } => {
            ("greater_than", format!("Input should be greater than {limit}"))
        }
        Kind::Maximum { limit } => integer::too_large(limit),
        Kind::ExclusiveMaximum { limit } => {
            ("less_than", format!("Input should be less than {limit}"))
        }
        Kind::MultipleOf { multiple_of } => {
            ("multiple_of", format!("Input should be a multiple of {multiple_of}"))
        }
        Kind::MinLength { limit } => {
            ("string_too_short", format!("String should have at least {}", characters(*limit)))
        }
        Kind::MaxLength { limit } => {
            ("string_too_long", format!("String should have at most {}", characters(*limit)))
        }
        Kind::Pattern { pattern } => {
            ("string_pattern_mismatch", format!("String should match pattern '{pattern}'"))
        }
        Kind::Format { format } if format == "uri" => {
            ("url_parsing", "Input should be a valid URL".to_owned())
        }
        Kind::MinItems { limit } => {
            ("too_short", format!("List should have at least {limit} items"))
        }
        Kind::MaxItems { limit } => ("too_long", format!("List should have at most {limit} items")),
        other => (
            "value_error",
            format!("Value error, the input does not satisfy `{}`", other.keyword()),
        ),
    };
    vec![Violation { loc, msg, kind }]
}

fn characters(limit: u64) -> String {
    format!("{limit} character{}", if limit == 1 { "" } else { "s" })
}

fn wrong_type(error: &jsonschema::ValidationError<'_>) -> (&'static str, String) {
    let Kind::Type { kind } = error.kind() else {
        return ("value_error", "Value error".to_owned());
    };
    let expected = match kind {
        jsonschema::error::TypeKind::Single(expected) => expected.to_string(),
        jsonschema::error::TypeKind::Multiple(_) => String::new(),
    };
    let top = error.instance_path().is_empty();
    let (kind, msg) = match (expected.as_str(), error.instance().as_ref()) {
        ("integer", Value::String(_)) => integer::UNPARSED,
        ("integer", Value::Number(_)) => integer::FRACTIONAL,
        ("integer", _) => integer::WRONG_TYPE,
        ("number", Value::String(_)) => {
            ("float_parsing", "Input should be a valid number, unable to parse string as a number")
        }
        ("number", _) => ("float_type", "Input should be a valid number"),
        ("boolean", Value::String(_)) => {
            ("bool_parsing", "Input should be a valid boolean, unable to interpret input")
        }
        ("boolean", _) => ("bool_type", "Input should be a valid boolean"),
        ("string", _) => ("string_type", "Input should be a valid string"),
        ("array", _) => ("list_type", "Input should be a valid list"),
        ("object", _) if top => (
            "model_attributes_type",
            "Input should be a valid dictionary or object to extract fields from",
        ),
        ("object", _) => ("dict_type", "Input should be a valid dictionary"),
        _ => ("value_error", "Value error, the input is of a wrong type"),
    };
    (kind, msg.to_owned())
}

/// `'a', 'b' or 'c'`
fn alternatives(options: &Value) -> String {
    let quoted: Vec<_> = options
        .as_array()
        .into_iter()
        .flatten()
        .map(|option| match option {
            Value::String(text) => format!("'{text}'"),
            other => other.to_string(),
        })
        .collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(schema: Value, body: Value) -> Vec<(Value, String, &'static str)> {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let found = of_schema(&validator, &body).into_iter();
        found.map(|violation| (json!(violation.loc), violation.msg, violation.kind)).collect()
    }

    #[test]
    fn all_violations_are_reported_with_their_locations() {
        let schema = json!({ "type": "object", "required": ["prompt"], "properties": {
            "width": { "type": "integer", "minimum": 64, "multipleOf": 32 },
            "sides": { "type": "array", "items": { "type": "integer" } },
        } });
        let mut found = violations(schema, json!({ "width": 33, "sides": [1, "2"] }));
        found.sort_by_key(|(loc, _, kind)| (loc.to_string(), *kind));
        assert_eq!(
            found,
            [
                (json!(["body", "prompt"]), "Field required".to_owned(), "missing"),
                (
                    json!(["body", "sides", 1]),
                    "Input should be a valid integer, unable to parse string as an integer"
                        .to_owned(),
                    "int_parsing"
                ),
                (
                    json!(["body", "width"]),
                    "Input should be greater than or equal to 64".to_owned(),
                    "greater_than_equal"
                ),
                (
                    json!(["body", "width"]),
                    "Input should be a multiple of 32".to_owned(),
                    "multiple_of"
                ),
            ]
        );
    }

    #[test]
    fn a_fraction_instead_of_an_integer_is_one_violation() {
        let schema = json!({ "type": "integer", "minimum": 64, "multipleOf": 32 });
        let found = violations(schema, json!(7.5));
        let kinds: Vec<_> = found.into_iter().map(|(_, _, kind)| kind).collect();
        assert_eq!(kinds, ["int_from_float"]);
    }

    #[test]
    fn an_invalid_choice_is_one_violation() {
        let choice = json!({ "type": "string", "enum": ["jpeg", "png", "webp"] });
        let schema = json!({ "type": "string", "allOf": [choice] });
        for wrong in [json!("gif"), json!(7)] {
            assert_eq!(
                violations(schema.clone(), wrong),
                [(json!(["body"]), "Input should be 'jpeg', 'png' or 'webp'".to_owned(), "enum")]
            );
        }
    }
}
