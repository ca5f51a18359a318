//! A document with names that mean something else in Rust: keywords, the prelude, methods, derived
//! traits. `cargo xtask exercise` compiles its code.

use serde_json::{Value, json};

/// The list of names in the repository: those of fields, operations, enums and responses.
pub const PATH: &str = "xtask/exercise/names.txt";

/// The contract with what has the names. A word with a colon says what those after it are.
pub fn document(contract: &Value, names: &str) -> Value {
    let mut document = contract.clone();
    for (path, schema) in
        [("gen-names", "Names"), ("gen-required", "Required"), ("gen-small", "Small")]
    {
        document["paths"][format!("/v1/{path}")] = operation(contract, path, schema);
        document["components"]["schemas"][schema] = object();
    }
    document["components"]["schemas"]["PollResult"]["properties"]["names"] = response();
    let mut role = "";
    for word in names.split_whitespace() {
        match word.strip_suffix(':') {
            Some(next) => role = next,
            None => add(&mut document, role, word),
        }
    }
    document
}

fn add(document: &mut Value, role: &str, name: &str) {
    let field = format!("of_{}", name.to_lowercase());
    let reference = json!([{ "$ref": format!("#/components/schemas/{name}") }]);
    let reference = json!({ "allOf": reference, "description": "A reference." });
    if role == "operations" {
        let (first, rest) = name.split_at(1);
        let path = format!("/v1/{}{rest}", first.to_lowercase());
        document["paths"][path] = operation(document, name, "Small");
        return;
    }
    if role == "fields" {
        let body = &mut document["paths"]["/v1/gen-required"]["post"]["requestBody"]["content"];
        body["application/json"]["example"][name] = "text".into();
    }
    let schemas = &mut document["components"]["schemas"];
    match role {
        "enums" => {
            let values = json!([name]);
            schemas[name] = json!({ "type": "string", "description": "A choice.", "enum": values });
            schemas["Names"]["properties"][field] = reference;
        }
        "responses" => {
            schemas[name] = response();
            schemas["PollResult"]["properties"][field] = reference;
        }
        _ => schemas["PollResult"]["properties"]["names"]["properties"][name] = text(),
    }
    if role == "fields" {
        schemas["Names"]["properties"][name] = text();
        schemas["Required"]["properties"][name] = text();
        let required = schemas["Required"]["required"].as_array_mut();
        required.into_iter().for_each(|list| list.push(name.into()));
    }
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
    let reference = json!({ "$ref": format!("#/components/schemas/{schema}") });
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
    use crate::{contract, repository};

    fn contract_with(names: &str) -> Value {
        document(&contract::parse(contract::DOCUMENT).unwrap(), names)
    }

    #[test]
    fn the_names_are_in_the_generated_code() {
        let document = contract_with(&repository::read(PATH).unwrap());
        contract::check(&document).unwrap();
        contract::generate(&document.to_string()).unwrap();
    }

    #[test]
    fn other_names_are_faults_with_their_places() {
        let fields = "\
            fields: static static_ self visit _ __ _a a_ a__b self_ extra new validate \
            into_request to_json from_json visit_ fooBar foo_bar _1 1a operations: Fn Self";
        let types = "\
            operations: None Err Clone Into TryInto Ord ImageInput Location \
            enums: Option Result Vec Box Copy Iterator From AsRef PartialEq Hash AspectRatio \
            responses: Some Ok String Default Drop IntoIterator TryFrom ToString Eq Debug Address \
            Secret";
        let faults = [fields, types]
            .map(|names| contract::check(&contract_with(names)).unwrap_err().to_string());
        insta::assert_snapshot!(faults.join("\n"));
    }
}
