//! Describes parts of the model in words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::model::{Field, Limit, Types};

pub fn field(field: &Field) -> String {
    let required = if field.required { "required" } else { "optional" };
    format!("{required}, {}", types(&field.shape.types))
}

pub fn types(types: &Types) -> String {
    match &types.0 {
        None => "any type".into(),
        Some(names) if names.is_empty() => "no type".into(),
        Some(names) => names.iter().cloned().collect::<Vec<_>>().join(" or "),
    }
}

pub fn choices(choices: Option<&BTreeSet<String>>) -> String {
    choices.map_or_else(
        || "none".into(),
        |values| values.iter().cloned().collect::<Vec<_>>().join(", "),
    )
}

pub fn limit(limit: Option<&Limit>) -> String {
    match limit {
        None => "none".into(),
        Some(Limit::Lower { value, exclusive: true }) => format!("above {value}"),
        Some(Limit::Upper { value, exclusive: true }) => format!("below {value}"),
        Some(Limit::Lower { value, .. } | Limit::Upper { value, .. } | Limit::Multiple(value)) => {
            value.to_string()
        }
        Some(Limit::Exact(text)) => text.clone(),
    }
}

pub fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".into(), Value::to_string)
}
