//! Generates the example of a request type from the example in the contract.

use serde_json::{Map, Value};

use super::{
    super::{
        contract::{Operation, Submission},
        field::Field,
        kind::Kind,
    },
    references,
};

/// Generates a code block that rustdoc runs as a test. It builds the request, and checks that it
/// equals the example in the contract.
pub fn example(operation: &Operation, submission: &Submission) -> Option<String> {
    let mut code = Code { hidden: Vec::new(), needs_image_input: false };
    let values = submission.example.as_ref()?;
    let request = code.request(submission, values)?;
    let (name, type_name) = (&operation.name, &submission.type_name);
    let imports = match code.needs_image_input {
        true => format!("use imagekiln::{{ImageInput, types::{type_name}}};"),
        false => format!("use imagekiln::types::{type_name};"),
    };
    let lint = if operation.deprecated { "# #![allow(deprecated)]\n" } else { "" };
    let hidden: String = code.hidden.iter().map(|line| format!("# {line}\n")).collect();
    Some(format!(
        "```\n\
         {lint}{imports}\n\
         \n\
         {hidden}\
         let request = {request};\n\
         # let example = imagekiln::find_operation({name:?}).unwrap().example().unwrap();\n\
         # assert_eq!(imagekiln::Submit::into_request(request), example);\n\
         ```"
    ))
}

struct Code {
    /// Hidden lines with the bytes of images.
    hidden: Vec<String>,
    needs_image_input: bool,
}

impl Code {
    /// Generates the constructor call and the setters. `None` if the example lacks a required
    /// field.
    fn request(&mut self, submission: &Submission, values: &Map<String, Value>) -> Option<String> {
        let mut arguments = Vec::new();
        for parameter in &submission.path_parameters {
            arguments.push(format!("{:?}", parameter.example.as_ref()?));
        }
        for field in submission.fields.iter().filter(|field| field.required) {
            arguments.push(self.value(field, values.get(&field.name)?));
        }
        let mut code = format!("{}::new({})", submission.type_name, arguments.join(", "));
        let numbered = references::numbered(&submission.fields);
        let images: Vec<_> = numbered
            .iter()
            .filter_map(|field| Some(self.value(field, values.get(&field.name)?)))
            .collect();
        if !images.is_empty() {
            code += &format!("\n    .references([{}])", images.join(", "));
        }
        let is_set = |field: &&Field| {
            !field.required && !numbered.iter().any(|reference| reference.name == field.name)
        };
        for field in submission.fields.iter().filter(is_set) {
            if let Some(value) = values.get(&field.name) {
                code += &format!("\n    .{}({})", field.name, self.value(field, value));
            }
        }
        for (name, value) in values {
            if !submission.fields.iter().any(|field| &field.name == name) {
                code += &format!("\n    .extra({name:?}, {})", json(value));
            }
        }
        Some(code)
    }

    fn value(&mut self, field: &Field, value: &Value) -> String {
        match (&field.kind, value) {
            (Kind::Image { .. }, Value::String(text)) if !text.starts_with("http") => {
                self.needs_image_input = true;
                self.hidden.push(format!("let {} = {text:?};", field.name));
                format!("ImageInput::base64({})", field.name)
            }
            (Kind::AspectRatio { .. }, Value::String(ratio)) => {
                format!("({})", ratio.replace(':', ", "))
            }
            (_, value) => json(value),
        }
    }
}

/// Converts a value to a Rust expression.
fn json(value: &Value) -> String {
    match value {
        Value::String(_) | Value::Bool(_) | Value::Number(_) => value.to_string(),
        other => format!("serde_json::json!({other})"),
    }
}
