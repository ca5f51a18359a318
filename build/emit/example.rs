//! Generates the example of a request type from the example in the contract.

use serde_json::Value;

use super::{
    super::{
        contract::{Operation, Submission},
        field::{Field, Kind},
        name::member_name,
    },
    references,
};

/// Generates a code block that rustdoc runs as a test. It builds the request, and checks that it
/// equals the example in the contract.
pub fn example(operation: &Operation, submission: &Submission) -> String {
    let mut hidden = Vec::new();
    let request = constructed(submission, &mut hidden);
    let (name, type_name) = (&operation.name, &submission.type_name);
    let imports = if hidden.is_empty() {
        format!("types::{type_name}")
    } else {
        format!("{{ImageInput, types::{type_name}}}")
    };
    let lint = if operation.deprecated { "# #![allow(deprecated)]\n" } else { "" };
    let hidden: String = hidden.iter().map(|line| format!("# {line}\n")).collect();
    format!(
        "```\n\
         {lint}use imagekiln::{imports};\n\
         \n\
         {hidden}\
         let request = {request};\n\
         # let example = imagekiln::find_operation({name:?}).unwrap().example().unwrap();\n\
         # assert_eq!(imagekiln::Submit::into_request(request), example);\n\
         ```"
    )
}

/// Generates the constructor call and the setter calls. Adds lines to `hidden` that define the
/// base64 text of images.
fn constructed(submission: &Submission, hidden: &mut Vec<String>) -> String {
    let Submission { type_name, fields, example, .. } = submission;
    let parameters = submission.path_parameters.iter();
    let mut arguments: Vec<_> =
        parameters.map(|parameter| format!("{:?}", parameter.example)).collect();
    for field in fields.iter().filter(|field| field.required) {
        // The example may lack a required field. This is a fault that only `cargo xtask check`
        // reports.
        arguments.push(value_of(field, example.get(&field.name).unwrap_or(&Value::Null), hidden));
    }
    let mut code = format!("{type_name}::new({})", arguments.join(", "));
    let numbered = references::numbered(fields);
    let images: Vec<_> = numbered
        .iter()
        .filter_map(|field| Some(value_of(field, example.get(&field.name)?, hidden)))
        .collect();
    if !images.is_empty() {
        code += &format!("\n    .references([{}])", images.join(", "));
    }
    let is_set = |field: &&Field| {
        !field.required && !numbered.iter().any(|reference| reference.name == field.name)
    };
    for field in fields.iter().filter(is_set) {
        if let Some(value) = example.get(&field.name).filter(|value| has_type(value)) {
            let value = value_of(field, value, hidden);
            code += &format!("\n    .{}({value})", member_name(&field.name));
        }
    }
    for (name, value) in example {
        if !has_type(value) || !fields.iter().any(|field| &field.name == name) {
            code += &format!("\n    .extra({name:?}, {})", json(value));
        }
    }
    code
}

fn value_of(field: &Field, value: &Value, hidden: &mut Vec<String>) -> String {
    match (&field.kind, value) {
        (Kind::Image { .. }, Value::String(text)) if !text.starts_with("http") => {
            let name = &field.name;
            hidden.push(format!("let {name} = {text:?};"));
            format!("ImageInput::base64({name})")
        }
        (Kind::AspectRatio { .. }, Value::String(ratio)) => {
            format!("({})", ratio.replace(':', ", "))
        }
        (_, value) => json(value),
    }
}

/// Whether the type of the Rust expression for the value can be inferred.
fn has_type(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Converts a value to a Rust expression.
fn json(value: &Value) -> String {
    match value {
        Value::String(_) | Value::Bool(_) | Value::Number(_) => value.to_string(),
        other => format!("serde_json::json!({other})"),
    }
}
