//! A schema of the contract.

use std::sync::Arc;

use serde_json::Value;

use crate::shape::{Problem, Shape, resolve, walk};

/// A schema, or several of which one has to fit.
#[derive(Debug)]
pub struct Schema {
    document: Arc<Value>,
    /// Each with its rules, as the simulator checks them.
    alternatives: Vec<(Value, imagekiln_simulator::Schema)>,
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
            Ok((schema.clone(), imagekiln_simulator::Schema::new(document, schema)?))
        });
        let alternatives = alternatives.collect::<Result<_, String>>()?;
        Ok(Self { document: Arc::clone(document), alternatives })
    }

    /// Compares a value with the alternative that it fits best.
    pub fn check(&self, value: &Value) -> Shape {
        let checked = self.alternatives.iter().map(|(schema, rules)| {
            let mut shape = Shape::default();
            walk(&self.document, &[schema], value, "", &mut shape);
            let problems = rules.problems(value).into_iter();
            shape.invalid =
                problems.map(|(pointer, expected)| Problem { pointer, expected }).collect();
            shape
        });
        let fit = |shape: &Shape| (shape.invalid.len(), shape.unlisted.len());
        checked.min_by_key(fit).unwrap_or_default()
    }
}
