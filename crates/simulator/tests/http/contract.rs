//! Requests derived from the contract, so that new operations are tested without new code.

use serde_json::{Map, Value, json};

use super::bench::png;

pub struct Submission {
    /// With the parameters filled in.
    pub path: String,
    pub operation_id: String,
    pub regional: bool,
    pub is_video: bool,
    schema: Value,
}

pub fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Replaces references by what they refer to.
fn expanded(document: &Value, schema: &Value) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    let mut expanded_members = Map::new();
    for (name, member) in members {
        match (name.as_str(), member) {
            ("$ref", reference) => {
                let target = document.pointer(&reference.as_str().unwrap()[1..]).unwrap();
                return expanded(document, target);
            }
            ("allOf", Value::Array(parts)) => {
                for part in parts {
                    let part = expanded(document, part);
                    expanded_members.extend(part.as_object().unwrap().clone());
                }
            }
            _ => {
                expanded_members.insert(name.clone(), expanded(document, member));
            }
        }
    }
    expanded_members.into()
}

/// The operations of the document that take a submission.
pub fn submissions() -> Vec<Submission> {
    let document = document();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if let Some(operation) = item.get("post") {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            found.push(Submission {
                path: path.replace("{base_model}", "gen-2-klein-9b-kv"),
                operation_id: operation["operationId"].as_str().unwrap().to_owned(),
                regional: operation["x-region"] == "regional",
                is_video: operation["x-kind"] == "video",
                schema: expanded(&document, schema),
            });
        }
    }
    assert!(!found.is_empty());
    found
}

impl Submission {
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        properties.map(|(name, schema)| (name.as_str(), schema))
    }

    /// The format of the picture if the request sets none.
    pub fn default_format(&self) -> String {
        let default = &self.schema["properties"]["output_format"]["default"];
        default.as_str().unwrap_or("jpeg").to_owned()
    }

    /// Only the required fields.
    pub fn minimal(&self) -> Value {
        let required: Vec<_> = self.schema["required"].as_array().into_iter().flatten().collect();
        object(&self.schema, |name| required.iter().any(|field| *field == name))
    }

    /// All listed fields, except those of the webhook.
    pub fn full(&self) -> Value {
        object(&self.schema, |name| !name.starts_with("webhook"))
    }
}

fn object(schema: &Value, is_set: impl Fn(&str) -> bool) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let set = properties.filter(|(name, _)| is_set(name));
    set.map(|(name, schema)| (name.clone(), value(name, schema))).collect()
}

fn value(name: &str, schema: &Value) -> Value {
    if schema.get("x-image").is_some() {
        return png(80, 72).into();
    }
    if schema.get("x-aspect-ratio").is_some() {
        return "3:2".into();
    }
    if let Some(choices) = schema["enum"].as_array() {
        return choices.iter().rfind(|choice| choice.is_string()).unwrap().clone();
    }
    let lowest = schema["minimum"].as_f64().unwrap_or(1.0);
    match (name, schema["type"].as_str()) {
        ("width" | "height", _) if lowest <= 64.0 => json!(96),
        ("finetune_id", _) => "fox-style".into(),
        ("reference_offset_x" | "reference_offset_y", _) => json!(8),
        ("webhook_url", _) => "https://example.com/hook".into(),
        (_, Some("string")) => match schema["minLength"].as_u64() {
            Some(length) => "a".repeat(length as usize).into(),
            None => format!("the {name} of a test").into(),
        },
        (_, Some("array")) => {
            let count = schema["minItems"].as_u64().unwrap_or(1) as usize;
            vec![value(name, &schema["items"]); count].into()
        }
        (_, Some("object")) => object(schema, |_| true),
        (_, Some("integer")) => json!(lowest as i64),
        (_, Some("number")) => json!(lowest),
        (_, Some("boolean")) => json!(true),
        other => json!(format!("{other:?}")),
    }
}
