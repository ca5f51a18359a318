//! Generates the example of a request type from the example in the contract.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

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
    let mut code = Code::default();
    let parameters = submission.path_parameters.iter();
    let arguments = parameters.map(|parameter| format!("{:?}", parameter.example)).collect();
    let request =
        code.value_of(&submission.type_name, arguments, &submission.fields, &submission.example);
    let name = &operation.name;
    let imports = code.imports();
    let lint = if operation.deprecated { "# #![allow(deprecated)]\n" } else { "" };
    let hidden: String = code.hidden.iter().map(|line| format!("# {line}\n")).collect();
    format!(
        "```\n\
         {lint}{imports}\n\
         \n\
         {hidden}\
         let request = {request};\n\
         # let example = imagekiln::find_operation({name:?}).unwrap().example().unwrap();\n\
         # assert_eq!(imagekiln::Submit::into_request(request), example);\n\
         ```"
    )
}

#[derive(Default)]
struct Code {
    /// Hidden lines with the bytes of images.
    hidden: Vec<String>,
    types: BTreeSet<String>,
}

impl Code {
    fn imports(&self) -> String {
        let names: Vec<&str> = self.types.iter().map(String::as_str).collect();
        let types = match names.as_slice() {
            [only] => format!("types::{only}"),
            names => format!("types::{{{}}}", names.join(", ")),
        };
        if self.hidden.is_empty() {
            format!("use imagekiln::{types};")
        } else {
            format!("use imagekiln::{{ImageInput, {types}}};")
        }
    }

    /// Generates the constructor call and the setters of a type with fields.
    fn value_of(
        &mut self,
        type_name: &str,
        mut arguments: Vec<String>,
        fields: &[Field],
        values: &Map<String, Value>,
    ) -> String {
        self.types.insert(type_name.to_owned());
        for field in fields.iter().filter(|field| field.required) {
            arguments.push(self.value(field, &field.name, &values[&field.name]));
        }
        let mut code = format!("{type_name}::new({})", arguments.join(", "));
        let numbered = references::numbered(fields);
        let images: Vec<_> = numbered
            .iter()
            .filter_map(|field| Some(self.value(field, &field.name, values.get(&field.name)?)))
            .collect();
        if !images.is_empty() {
            code += &format!("\n    .references([{}])", images.join(", "));
        }
        let is_set = |field: &&Field| {
            !field.required && !numbered.iter().any(|reference| reference.name == field.name)
        };
        for field in fields.iter().filter(is_set) {
            if let Some(value) = values.get(&field.name).filter(|value| has_type(value)) {
                let value = self.value(field, &field.name, value);
                code += &format!("\n    .{}({value})", member_name(&field.name));
            }
        }
        for (name, value) in values {
            if !has_type(value) || !fields.iter().any(|field| &field.name == name) {
                code += &format!("\n    .extra({name:?}, {})", json(value));
            }
        }
        code
    }

    /// Generates the value of a field, or of an item in the field `name`.
    fn value(&mut self, field: &Field, name: &str, value: &Value) -> String {
        match (&field.kind, value) {
            (Kind::Image { .. }, Value::String(text)) if !text.starts_with("http") => {
                let count = self.hidden.len();
                let variable = if self.hidden.iter().any(|line| line.contains(name)) {
                    format!("{name}_{count}")
                } else {
                    name.to_owned()
                };
                self.hidden.push(format!("let {variable} = {text:?};"));
                format!("ImageInput::base64({variable})")
            }
            (Kind::AspectRatio { .. }, Value::String(ratio)) => {
                format!("({})", ratio.replace(':', ", "))
            }
            // An array has one type of number.
            (Kind::Number, Value::Number(number)) => match number.as_f64() {
                Some(number) => format!("{number:?}"),
                None => number.to_string(),
            },
            (Kind::List(item), Value::Array(values)) => {
                let items: Vec<_> =
                    values.iter().map(|value| self.value(item, name, value)).collect();
                format!("[{}]", items.join(", "))
            }
            (Kind::Object(object), Value::Object(members)) => {
                self.value_of(&object.type_name, Vec::new(), &object.fields, members)
            }
            (_, value) => json(value),
        }
    }
}

/// Whether a setter can infer the type of the value.
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
