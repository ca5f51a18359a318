//! Requests derived from the contract, so that new operations are tested without new code.

use serde_json::{Map, Value, json};

use super::bench::png;

pub struct Submission {
    /// With the parameters filled in.
    pub path: String,
    pub operation_id: String,
    pub regional: bool,
    schema: Value,
}

pub fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => value,
    }
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
                schema: resolve(&document, schema).clone(),
            });
        }
    }
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

    pub fn is_video(&self) -> bool {
        self.path.ends_with("-video")
    }

    /// Only the required fields.
    pub fn minimal(&self) -> Value {
        let required: Vec<_> = self.schema["required"].as_array().into_iter().flatten().collect();
        let fields =
            self.properties().filter(|(name, _)| required.iter().any(|field| *field == name));
        fields
            .map(|(name, schema)| (name.to_owned(), value(name, schema)))
            .collect::<Map<_, _>>()
            .into()
    }

    /// All listed fields, except those of the webhook.
    pub fn full(&self) -> Value {
        let fields = self.properties().filter(|(name, _)| !name.starts_with("webhook"));
        fields
            .map(|(name, schema)| (name.to_owned(), value(name, schema)))
            .collect::<Map<_, _>>()
            .into()
    }
}

fn value(name: &str, schema: &Value) -> Value {
    if schema.get("x-image").is_some() {
        return png(80, 72).into();
    }
    if schema.get("x-aspect-ratio").is_some() {
        return "3:2".into();
    }
    if let Some(choice) = schema["enum"].get(0) {
        return choice.clone();
    }
    let lowest = schema["minimum"].as_f64().unwrap_or(1.0);
    match (name, schema["type"].as_str()) {
        ("output_format", _) => "webp".into(),
        ("width" | "height", _) if lowest <= 64.0 => json!(96),
        ("finetune_id", _) => "fox-style".into(),
        ("reference_offset_x" | "reference_offset_y", _) => json!(8),
        ("webhook_url", _) => "https://example.com/hook".into(),
        (_, Some("string")) => format!("the {name} of a test").into(),
        (_, Some("integer")) => json!(lowest as i64),
        (_, Some("number")) => json!(lowest),
        (_, Some("boolean")) => json!(true),
        other => json!(format!("{other:?}")),
    }
}
