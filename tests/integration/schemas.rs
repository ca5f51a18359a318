//! The JSON schemas of the types (feature `schemars`) match the names, types and required flags in
//! the contract.
#![allow(deprecated, reason = "deprecated operations still work and are tested, too")]

use std::collections::{BTreeMap, BTreeSet};

use schemars::schema_for;
use serde_json::Value;

use crate::responses::contract;
use imagekiln::{find_operation, types::*};

/// The types of the operations so far. A later one needs no row, because the generator treats all
/// alike.
fn requests() -> Vec<(&'static str, Value)> {
    [
        ("gen-2-pro", schema_for!(Gen2Pro)),
        ("gen-2-pro-preview", schema_for!(Gen2ProPreview)),
        ("gen-2-flex", schema_for!(Gen2Flex)),
        ("gen-2-klein-9b", schema_for!(Gen2Klein9b)),
        ("gen-2-klein-9b-preview", schema_for!(Gen2Klein9bPreview)),
        ("gen-2-klein-4b", schema_for!(Gen2Klein4b)),
        ("gen-kontext-pro", schema_for!(GenKontextPro)),
        ("gen-dev", schema_for!(GenDev)),
        ("gen-pro-1.1", schema_for!(GenPro11)),
        ("gen-pro-1.1-ultra", schema_for!(GenPro11Ultra)),
        ("gen-pro-1.1-ultra-finetuned", schema_for!(GenPro11UltraFinetuned)),
        ("gen-pro-1.0-fill", schema_for!(GenPro10Fill)),
        ("gen-pro-1.0-fill-finetuned", schema_for!(GenPro10FillFinetuned)),
        ("gen-pro-1.0-expand", schema_for!(GenPro10Expand)),
        ("gen-tools/deblur-v1", schema_for!(GenToolsDeblurV1)),
        ("gen-tools/erase-v1", schema_for!(GenToolsEraseV1)),
        ("gen-tools/vto-v1", schema_for!(GenToolsVtoV1)),
        ("gen-tools/vto-v2", schema_for!(GenToolsVtoV2)),
        ("gen-tools/outpainting-v1", schema_for!(GenToolsOutpaintingV1)),
        ("gen-3-video", schema_for!(Gen3Video)),
        ("{base_model}-finetuned", schema_for!(BaseModelFinetuned)),
        ("gen-pro-1.0", schema_for!(GenPro10)),
        ("gen-pro-1.0-depth", schema_for!(GenPro10Depth)),
        ("gen-pro-1.0-canny", schema_for!(GenPro10Canny)),
        ("finetune", schema_for!(Finetune)),
        ("gen-pro-finetuned", schema_for!(GenProFinetuned)),
        ("gen-pro-1.0-depth-finetuned", schema_for!(GenPro10DepthFinetuned)),
        ("gen-pro-1.0-canny-finetuned", schema_for!(GenPro10CannyFinetuned)),
    ]
    .map(|(name, schema)| (name, schema.to_value()))
    .into()
}

fn responses() -> Vec<(&'static str, Value)> {
    [
        ("AsyncResponse", schema_for!(AsyncResponse)),
        ("AsyncWebhookResponse", schema_for!(AsyncWebhookResponse)),
        ("PollResult", schema_for!(PollResult)),
        ("TaskResult", schema_for!(TaskResult)),
        ("HTTPValidationError", schema_for!(HttpValidationError)),
        ("ValidationError", schema_for!(imagekiln::Violation)),
    ]
    .map(|(name, schema)| (name, schema.to_value()))
    .into()
}

#[test]
fn request_schemas_have_the_fields_of_the_contract() {
    let document = contract();
    for (name, schema) in requests() {
        let operation = find_operation(name).unwrap();
        let post = &document["paths"][operation.path]["post"];
        let body = &post["requestBody"]["content"]["application/json"]["schema"];
        let mut expected = shape(&document, body);
        // Path parameters are fields of the type, because the caller sets them there.
        for parameter in operation.path_parameters {
            expected.fields.insert(parameter.name.to_owned(), "string".to_owned());
            expected.required.insert(parameter.name.to_owned());
        }
        assert_eq!(shape(&schema, &schema), expected, "{name}");
    }
}

#[test]
fn response_schemas_have_the_fields_of_the_contract() {
    let document = contract();
    for (name, schema) in responses() {
        let expected = shape(&document, &document["components"]["schemas"][name]);
        assert!(!expected.fields.is_empty());
        assert_eq!(shape(&schema, &schema), expected, "{name}");
    }
}

/// The comparable parts of two schemas.
#[derive(Debug, PartialEq)]
struct Shape {
    fields: BTreeMap<String, String>,
    required: BTreeSet<String>,
}

fn shape(root: &Value, schema: &Value) -> Shape {
    let schema = resolved(root, schema);
    let properties = schema["properties"].as_object();
    let fields = properties
        .into_iter()
        .flatten()
        .map(|(name, field)| (name.clone(), json_type(root, field)))
        .collect();
    let required = schema["required"].as_array().into_iter().flatten();
    Shape { fields, required: required.map(|name| name.as_str().unwrap().to_owned()).collect() }
}

/// Returns the JSON type after resolving references and combinations, without null.
fn json_type(root: &Value, schema: &Value) -> String {
    let mut types = json_types(root, schema);
    if types.is_empty() {
        return "anything".to_owned();
    }
    types.remove("null");
    types.into_iter().collect::<Vec<_>>().join("|")
}

fn json_types(root: &Value, schema: &Value) -> BTreeSet<String> {
    let schema = resolved(root, schema);
    match &schema["type"] {
        Value::String(name) => [name.clone()].into(),
        Value::Array(names) => names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        _ => {
            let parts = ["anyOf", "oneOf", "allOf"]
                .iter()
                .flat_map(|key| schema[*key].as_array())
                .flatten();
            parts.flat_map(|part| json_types(root, part)).collect()
        }
    }
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolved(root, root.pointer(reference.trim_start_matches('#')).unwrap()),
        None => schema,
    }
}
