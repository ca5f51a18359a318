//! Reads the schemas of responses. The SDK reads responses leniently, so there are fewer rules than
//! for requests. A keyword without an effect is still a fault.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    DocumentNode, Faults, IN_PROGRESS, STATUS, all, all_responses, is_camel_case, variant,
};

/// The schemas of the responses.
#[derive(Default)]
struct Responses {
    /// The names of the schemas that were read.
    schemas: BTreeSet<String>,
    /// The schemas that are being read.
    open: Vec<String>,
    has_validity: bool,
}

const OBJECT: [&str; 8] = [
    "type",
    "description",
    "required",
    "not",
    "properties",
    "additionalProperties",
    "x-not-shown",
    "x-correction",
];

/// The member of each type for the fields that the contract does not list.
const EXTRA: &str = "extra";

const FIELD: [&str; 5] = ["type", "nullable", "description", "x-not-shown", "x-correction"];

/// Checks the schemas of all responses.
pub fn check(root: &DocumentNode) -> Result<(), Faults> {
    let mut responses = Responses::default();
    let schemas = all_responses(root)?.into_iter().map(|response| {
        let Some(content) = response.get("content") else { return Ok(()) };
        responses.read_reference(&content.need("application/json")?.need("schema")?)
    });
    let schemas: Vec<_> = schemas.collect();
    all(schemas.into_iter().chain([check_roles(root, &responses)])).map(drop)
}

/// A schema of a request has a request type for each operation, so it cannot be in a response.
fn check_roles(root: &DocumentNode, responses: &Responses) -> Result<(), Faults> {
    for (_, item) in root.need("paths")?.members()? {
        for (_, operation) in item.members()? {
            let Some(body) = operation.get("requestBody") else { continue };
            let schema = body.need("content")?.need("application/json")?.need("schema")?;
            if responses.schemas.contains(schema.component("schemas")?) {
                let schema = schema.resolved()?;
                return Err(schema.fault("a request and a response cannot share a schema"));
            }
        }
    }
    Ok(())
}

impl Responses {
    /// Reads a schema that must be a component, once.
    fn read_reference(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        let name = place.component("schemas")?;
        let target = place.resolved()?;
        if !is_camel_case(name) {
            return Err(target.fault(format!("`{name}` is not a valid name of a Rust type")));
        }
        if self.open.iter().any(|open| open == name) {
            return Err(place.fault(format!("`{name}` contains itself")));
        }
        if !self.schemas.insert(name.to_owned()) {
            return Ok(());
        }
        self.open.push(name.to_owned());
        let read = self.read_schema(name, &target);
        self.open.pop();
        read
    }

    fn read_schema(&mut self, name: &str, target: &DocumentNode) -> Result<(), Faults> {
        target.need("description")?.text()?;
        if let Some(alternatives) = target.get("oneOf") {
            return self.read_alternatives(target, &alternatives.distinct_elements()?);
        }
        let declared = target.need("type")?;
        match declared.string()? {
            "object" => self.read_object(target),
            "string" => self.read_statuses(name, target),
            _ => Err(declared.fault("expected `object`, or `string` with `x-extensible-enum`")),
        }
    }

    /// Reads a choice of responses, which are references, or of types. No response may fit two, so
    /// each excludes a field that an earlier one requires.
    fn read_alternatives(
        &mut self,
        target: &DocumentNode,
        alternatives: &[DocumentNode],
    ) -> Result<(), Faults> {
        if alternatives.iter().all(|one| one.get("$ref").is_none()) {
            let known = ["description", "oneOf"];
            target.must_have_only("a choice of types", known)?;
            return alternatives.iter().try_for_each(read_scalar);
        }
        let known = ["description", "oneOf", "x-not-shown", "x-correction"];
        target.must_have_only("a choice of responses", known)?;
        let mut earlier: Vec<Vec<String>> = Vec::new();
        for one in alternatives {
            self.read_reference(one)?;
            let one = one.resolved()?;
            let excluded = one.get("not").map_or(Ok(Vec::new()), |not| required(&not))?;
            if !earlier.iter().all(|names| names.iter().any(|name| excluded.contains(name))) {
                let message = "a response could fit this one and an earlier one: exclude a field \
                               that the earlier one requires with `not`";
                return Err(one.fault(message));
            }
            earlier.push(required(&one)?);
        }
        Ok(())
    }

    fn read_object(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        place.must_have_only("the schema of a response", OBJECT)?;
        place.need("additionalProperties")?.must_be_true()?;
        let properties = place.need("properties")?;
        let required = place.get("required").map(|list| list.distinct_elements()).transpose()?;
        for element in required.unwrap_or_default() {
            let name = element.string()?;
            if properties.get(name).is_none() {
                return Err(element.fault(format!("`{name}` is required but is not a property")));
            }
        }
        if let Some(not) = place.get("not") {
            let [name] = not.need("required")?.distinct_elements()?[..] else {
                return Err(not.fault("expected one name in `required`"));
            };
            // Linters expect the name in `properties`.
            let expected =
                json!({ "required": [name.text()?], "properties": { name.text()?: {} } });
            if *not.value != expected {
                return Err(not.fault(format!("expected {expected}")));
            }
            if properties.get(name.text()?).is_some() {
                return Err(name.fault("the response has a field with this name"));
            }
        }
        if properties.members()?.is_empty() {
            return Err(properties.fault("this object is empty"));
        }
        let mut names = vec![EXTRA];
        let mut read = Vec::new();
        for (name, field) in properties.members()? {
            read.push(check_name(name, &field, &names));
            read.push(field.need("description").and_then(|text| text.text()).map(drop));
            read.push(self.read_field(&field));
            names.push(name);
        }
        all(read).map(drop)
    }

    fn read_field(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        let known = |kind: &str, further: &[&str]| {
            place.must_have_only(kind, FIELD.iter().chain(further).copied())
        };
        if let Some(nullable) = place.get("nullable") {
            nullable.must_be_true()?;
        }
        if let Some(all_of) = place.get("allOf") {
            let known = ["allOf", "description", "x-not-shown", "x-correction"];
            place.must_have_only("a field that refers to a schema", known)?;
            return match all_of.elements()?.as_slice() {
                [only] => self.read_reference(only),
                _ => Err(all_of.fault("expected one `$ref`")),
            };
        }
        if place.get("$ref").is_some() {
            return self.read_reference(place);
        }
        let declared = place.need("type")?;
        match declared.string()? {
            "integer" => {
                known("an integer in a response", &["format"])?;
                read_format(place, &["int64"])
            }
            "number" => {
                known("a number in a response", &["format"])?;
                read_format(place, &["double"])
            }
            "boolean" => known("a boolean in a response", &[]),
            "string" => self.read_text(place),
            "array" => {
                known("an array in a response", &["items"])?;
                self.read_field(&place.need("items")?)
            }
            "object" => self.read_object(place),
            other => Err(declared.fault(format!("unsupported type `{other}`"))),
        }
    }

    fn read_text(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        let known = FIELD.into_iter().chain(["format", "enum", "x-address", "x-valid-seconds"]);
        place.must_have_only("a string in a response", known)?;
        if let Some(list) = place.get("enum") {
            list.distinct_elements()?.iter().try_for_each(|value| value.text().map(|_| ()))?;
        }
        if let Some(address) = place.get("x-address") {
            address.must_be_true()?;
        }
        if let Some(seconds) = place.get("x-valid-seconds") {
            if place.get("x-address").is_none() {
                return Err(seconds.fault("only an address (`x-address`) can expire"));
            }
            seconds.count()?;
            if std::mem::replace(&mut self.has_validity, true) {
                return Err(seconds.fault("another field has a validity"));
            }
        }
        read_format(place, &["date", "date-time", "uri", "uuid"])
    }

    fn read_statuses(&mut self, name: &str, place: &DocumentNode) -> Result<(), Faults> {
        if name != STATUS {
            return Err(place.fault(format!("expected the name `{STATUS}`")));
        }
        let known = ["type", "description", "x-extensible-enum", "x-success", "x-not-shown"];
        place.must_have_only("the schema of a status", known)?;
        let listed = place.need("x-extensible-enum")?;
        let success = place.need("x-success")?.strings()?;
        if success.is_empty() {
            return Err(place.need("x-success")?.fault("this list is empty"));
        }
        for element in place.need("x-success")?.distinct_elements()? {
            if !listed.strings()?.iter().any(|status| status == element.value) {
                return Err(element.fault("this status is not in `x-extensible-enum`"));
            }
        }
        let mut names = vec![IN_PROGRESS.to_owned()];
        for element in listed.elements()? {
            let status = element.text()?.to_owned();
            let name = variant(&status);
            if !is_camel_case(&name) || names.contains(&name) {
                return Err(element.fault(format!(
                    "the status `{status}` cannot be an enum variant: `{name}` is not a name or \
                     is already used"
                )));
            }
            names.push(name);
        }
        Ok(())
    }
}

/// The names in `required`.
fn required(place: &DocumentNode) -> Result<Vec<String>, Faults> {
    place.get("required").map_or(Ok(Vec::new()), |names| names.strings())
}

fn read_scalar(place: &DocumentNode) -> Result<(), Faults> {
    place.must_have_only("one of several types", ["type"])?;
    let declared = place.need("type")?;
    match declared.string()? {
        "string" | "integer" | "number" | "boolean" => Ok(()),
        other => Err(declared.fault(format!("unsupported type `{other}`"))),
    }
}

fn read_format(place: &DocumentNode, known: &[&str]) -> Result<(), Faults> {
    match place.get("format") {
        Some(format) if !known.contains(&format.string()?) => {
            Err(format.fault(format!("expected one of {}", known.join(", "))))
        }
        _ => Ok(()),
    }
}

/// Checks the name of a field of a response with the members `names`.
fn check_name(name: &str, field: &DocumentNode, names: &[&str]) -> Result<(), Faults> {
    if !is_word(name) {
        return Err(field.fault(format!("`{name}` cannot be the name of a field")));
    }
    match names.iter().find(|other| have_one_member(name, other)) {
        Some(&EXTRA) => {
            Err(field.fault(format!("`{name}` would have the member for unlisted fields")))
        }
        Some(other) => {
            Err(field.fault(format!("`{name}` would have the same member as `{other}`")))
        }
        None => Ok(()),
    }
}

/// Whether this can be the name of a member that progenitor renames if Rust needs it.
fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether progenitor may use one name for the members of both fields of a response.
fn have_one_member(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.replace('_', "").to_lowercase();
    letters(one) == letters(other)
}
