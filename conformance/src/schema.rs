//! A schema of the contract.

use std::sync::Arc;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use crate::shape::{Shape, walk};

/// A schema, or several of which one has to fit.
#[derive(Debug)]
pub struct Schema {
    document: Arc<Value>,
    alternatives: Vec<Alternative>,
}

#[derive(Debug)]
struct Alternative {
    schema: Value,
    validator: Validator,
}

/// A value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The JSON pointer of the value.
    pub pointer: String,
    /// What was expected.
    pub expected: String,
}

impl Problem {
    /// A problem of a whole body, or of something else than a body.
    pub fn of_whole(expected: &str) -> Self {
        Self { pointer: String::new(), expected: expected.to_owned() }
    }
}

impl Schema {
    pub fn new(document: &Arc<Value>, schema: &Value) -> Result<Self, String> {
        let resolved = resolve(document, schema);
        // Each alternative on its own says what does not fit, and all of them together do not.
        let alternatives = match resolved["anyOf"].as_array().or(resolved["oneOf"].as_array()) {
            Some(alternatives) => alternatives.iter().collect(),
            None => vec![schema],
        };
        let alternatives = alternatives.into_iter().map(|schema| {
            let validator = imagekiln_simulator::schema_validator(document, schema)?;
            Ok(Alternative { schema: schema.clone(), validator })
        });
        let alternatives = alternatives.collect::<Result<_, String>>()?;
        Ok(Self { document: Arc::clone(document), alternatives })
    }

    /// Compares a value with the alternative that it fits best.
    pub fn check(&self, value: &Value) -> Shape {
        let checked = self.alternatives.iter().map(|alternative| {
            let mut shape = Shape::default();
            walk(&self.document, &[&alternative.schema], value, "", &mut shape);
            for error in alternative.validator.iter_errors(value) {
                let (pointer, expected) = (error.instance_path().to_string(), expected(&error));
                shape.invalid.push(Problem { pointer, expected });
            }
            shape
        });
        let fit = |shape: &Shape| (shape.invalid.len(), shape.unlisted.len());
        checked.min_by_key(fit).unwrap_or_default()
    }
}

/// Describes what was expected, without the value.
fn expected(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } => {
            let errors = context.iter().flatten().map(|error| error.masked().to_string());
            errors.collect::<Vec<_>>().join(", and ")
        }
        _ => error.masked().to_string(),
    }
}

/// Follows `$ref` within the document. A dangling reference yields `null`.
pub fn resolve<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..16 {
        let Some(reference) = value["$ref"].as_str() else { return value };
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        value = target.unwrap_or(&Value::Null);
    }
    &Value::Null
}
