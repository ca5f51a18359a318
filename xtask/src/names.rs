//! A document with names that mean something else in Rust: keywords, the prelude, methods, derived
//! traits. Each is a fault with its place, or the code compiles.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::contract::{self, joined};

/// The list of names in the repository.
pub const PATH: &str = "xtask/exercise/names.txt";

/// What the name of a type can be given to, and the object of the document that has it.
const TYPES: [(Role, &str); 3] =
    [(Role::Operation, "/paths"), (Role::Enum, SCHEMAS), (Role::Response, SCHEMAS)];

/// The same for the name of a field.
const FIELDS: [(Role, &str); 3] = [
    (Role::Field, "/components/schemas/Names/properties"),
    (Role::RequiredField, "/components/schemas/Required/properties"),
    (Role::Field, "/components/schemas/PollResult/properties/names/properties"),
];

const SCHEMAS: &str = "/components/schemas";

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Operation,
    Enum,
    Response,
    Field,
    RequiredField,
}

/// A document in which each name of the list has its roles, unless it is a fault there, and the
/// faults. Names with a capital letter are names of types, which take turns in their roles, because
/// two types cannot have the same name. The others are names of fields.
pub fn document(contract: &Value, names: &str) -> Result<(Value, Vec<String>)> {
    let mut additions = Vec::new();
    for (index, name) in names.split_whitespace().enumerate() {
        let is_type = name.starts_with(|first: char| first.is_ascii_uppercase());
        let roles = if is_type { &TYPES[index % TYPES.len()..][..1] } else { &FIELDS };
        additions.extend(roles.iter().map(|&(role, holder)| Addition { role, holder, name }));
    }
    let base = base(contract);
    additions.retain(|addition| base.pointer(&addition.pointer()).is_none());
    let with = |additions: &[Addition]| {
        let mut document = base.clone();
        additions.iter().for_each(|addition| addition.apply(&mut document));
        document
    };
    let mut faults = Vec::new();
    // Two names may be a fault only together, so that the others are checked again.
    while let Err(found) = contract::check(&with(&additions)) {
        let count = additions.len();
        for fault in found.to_string().lines() {
            additions.retain(|addition| !addition.is_at(fault));
            faults.push(fault.to_owned());
        }
        ensure!(additions.len() < count, "a fault without the place of a name: {found}");
    }
    Ok((with(&additions), faults))
}

struct Addition<'a> {
    role: Role,
    /// The pointer to the object that has the name.
    holder: &'a str,
    name: &'a str,
}

impl Addition<'_> {
    fn apply(&self, document: &mut Value) {
        let name = self.key();
        let value = match self.role {
            Role::Operation => operation(document, self.name, "Small"),
            Role::Enum => {
                json!({ "type": "string", "description": "A choice.", "enum": [self.name] })
            }
            Role::Response => response(),
            Role::Field | Role::RequiredField => text(),
        };
        if self.holder == SCHEMAS
            && let Some((owner, field)) = self.reference().rsplit_once('/')
            && let Some(fields) = document.pointer_mut(owner)
        {
            let reference = json!([{ "$ref": format!("#{SCHEMAS}/{name}") }]);
            fields[field] = json!({ "allOf": reference, "description": "A reference." });
        }
        if self.role == Role::RequiredField {
            let required = &mut document["components"]["schemas"]["Required"]["required"];
            required.as_array_mut().into_iter().for_each(|list| list.push(name.as_str().into()));
            let body = &mut document["paths"]["/v1/gen-required"]["post"]["requestBody"]["content"];
            body["application/json"]["example"][&name] = "text".into();
        }
        if let Some(holder) = document.pointer_mut(self.holder) {
            holder[name] = value;
        }
    }

    /// The key in the holder.
    fn key(&self) -> String {
        match self.role {
            Role::Operation => {
                let (first, rest) = self.name.split_at(1);
                format!("/v1/{}{rest}", first.to_lowercase())
            }
            _ => self.name.to_owned(),
        }
    }

    fn pointer(&self) -> String {
        joined(self.holder, &self.key())
    }

    /// The pointer to the field that refers to a component with the name.
    fn reference(&self) -> String {
        let owner = if self.role == Role::Response { "PollResult" } else { "Names" };
        format!("{SCHEMAS}/{owner}/properties/of_{}", self.name.to_lowercase())
    }

    fn is_at(&self, fault: &str) -> bool {
        [self.pointer(), self.reference()].iter().any(|pointer| {
            fault.strip_prefix(pointer).is_some_and(|rest| rest.starts_with(['/', ':']))
        })
    }
}

/// The contract with the components and operations that get the names.
fn base(contract: &Value) -> Value {
    let mut document = contract.clone();
    for (path, schema) in
        [("gen-names", "Names"), ("gen-required", "Required"), ("gen-small", "Small")]
    {
        document["paths"][format!("/v1/{path}")] = operation(&document, path, schema);
        document["components"]["schemas"][schema] = object();
    }
    document["components"]["schemas"]["PollResult"]["properties"]["names"] = response();
    document
}

fn text() -> Value {
    json!({ "type": "string", "description": "Text." })
}

fn object() -> Value {
    let properties = json!({ "any": text() });
    json!({ "type": "object", "description": "Text.", "required": [], "properties": properties })
}

fn response() -> Value {
    let mut response = object();
    response["additionalProperties"] = true.into();
    response
}

/// An operation whose path is the name.
fn operation(document: &Value, name: &str, schema: &str) -> Value {
    let mut operation = document["paths"]["/v1/gen-2-pro"]["post"].clone();
    let reference = json!({ "$ref": format!("#{SCHEMAS}/{schema}") });
    operation["requestBody"]["content"]["application/json"] =
        json!({ "schema": reference, "example": {} });
    operation["operationId"] = name.to_lowercase().replace('-', "_").into();
    if let Some(members) = operation.as_object_mut() {
        members.retain(|key, _| !["callbacks", "x-max-reference-images"].contains(&key.as_str()));
    }
    json!({ "post": operation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository;

    /// `cargo xtask exercise` compiles the code.
    #[test]
    fn each_name_is_a_fault_with_its_place_or_in_the_generated_code() {
        let contract = contract::parse(contract::DOCUMENT).unwrap();
        let names = repository::read(PATH).unwrap();
        let (document, faults) = document(&contract, &names).unwrap();
        contract::generate(&document.to_string()).unwrap();
        insta::assert_snapshot!(faults.join("\n"));
    }
}
