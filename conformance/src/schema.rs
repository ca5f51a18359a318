//! A schema of the contract.

use std::sync::Arc;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use crate::shape::{Problem, Shape, resolve, walk};

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
