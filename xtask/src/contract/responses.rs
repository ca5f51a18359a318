//! Checks the schemas of responses. The SDK reads responses leniently, so there are fewer rules
//! than for requests.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    DocumentNode, Faults, IN_PROGRESS, STATUS, all, all_responses, is_camel_case, known, read_texts,
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

/// The member of each type for the fields that the contract does not list.
const EXTRA: &str = "extra";

/// Checks the schemas of all responses.
pub fn check(root: &DocumentNode) -> Result<(), Faults> {
    let mut responses = Responses::default();
    let schemas = all_responses(root)?.into_iter().map(|response| {
        let Some(content) = response.get("content") else { return Ok(()) };
        responses.read(&content.need("application/json")?.need("schema")?)
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
    /// Reads a schema, and those that it refers to, each once.
    fn read(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        if let Some(target) = place.referred()? {
            let name = place.component("schemas")?;
            if self.open.iter().any(|open| open == name) {
                return Err(place.fault(format!("`{name}` contains itself")));
            }
            if !self.schemas.insert(name.to_owned()) {
                return Ok(());
            }
            self.open.push(name.to_owned());
            let read = all([check_component(name, &target), self.read(&target)]);
            self.open.pop();
            return read.map(drop);
        }
        if let Some(seconds) = place.get("x-valid-seconds") {
            if place.get("x-address").is_none() {
                return Err(seconds.fault("only an address (`x-address`) can expire"));
            }
            if std::mem::replace(&mut self.has_validity, true) {
                return Err(seconds.fault("another field has a validity"));
            }
        }
        if place.get("properties").is_some() {
            check_object(place)?;
        }
        let parts: Vec<_> = match place.value {
            Value::Object(_) => place.members()?.into_iter().map(|(_, part)| part).collect(),
            Value::Array(_) => place.elements()?,
            _ => Vec::new(),
        };
        all(parts.iter().map(|part| self.read(part))).map(drop)
    }
}

fn check_component(name: &str, target: &DocumentNode) -> Result<(), Faults> {
    if !is_camel_case(name) {
        return Err(target.fault(format!("`{name}` is not a valid name of a Rust type")));
    }
    known::check_response_schema(target)?;
    if target.get("x-extensible-enum").is_some() {
        return check_statuses(name, target);
    }
    let alternatives = target.elements_of("oneOf")?;
    check_alternatives(alternatives.iter().filter(|one| one.get("$ref").is_some()))
}

/// No response may fit two alternatives, so each excludes a field that an earlier one requires.
fn check_alternatives<'a>(
    alternatives: impl Iterator<Item = &'a DocumentNode<'a>>,
) -> Result<(), Faults> {
    let mut earlier: Vec<Vec<String>> = Vec::new();
    for one in alternatives {
        let one = one.resolved()?;
        let excluded = one.get("not").map_or(Ok(Vec::new()), |not| required(&not))?;
        if !earlier.iter().all(|names| names.iter().any(|name| excluded.contains(name))) {
            let message = "a response could fit this one and an earlier one: exclude a field that \
                           the earlier one requires with `not`";
            return Err(one.fault(message));
        }
        earlier.push(required(&one)?);
    }
    Ok(())
}

/// Checks that the names in an object agree.
fn check_object(place: &DocumentNode) -> Result<(), Faults> {
    let properties = place.need("properties")?;
    let mut results = Vec::new();
    for element in place.elements_of("required")? {
        let name = element.string()?;
        let message = format!("`{name}` is required but is not a property");
        results.push(properties.get(name).map(drop).ok_or_else(|| element.fault(message)));
    }
    if let Some(not) = place.get("not") {
        let name = not.need("required")?.strings()?.concat();
        // Linters expect the name in `properties`.
        let expected = json!({ "required": [name], "properties": { &name: {} } });
        if *not.value != expected {
            results.push(Err(not.fault(format!("expected {expected}"))));
        }
        if properties.get(&name).is_some() {
            let message = format!("the response has a field with the name `{name}`");
            results.push(Err(not.need("required")?.fault(message)));
        }
    }
    let mut names = vec![EXTRA];
    for (name, field) in properties.members()? {
        results.push(check_name(name, &field, &names));
        names.push(name);
    }
    all(results).map(drop)
}

fn check_statuses(name: &str, place: &DocumentNode) -> Result<(), Faults> {
    if name != STATUS {
        return Err(place.fault(format!("expected the name `{STATUS}`")));
    }
    let listed = place.need("x-extensible-enum")?;
    for element in place.need("x-success")?.elements()? {
        if !listed.strings()?.iter().any(|status| status == element.value) {
            return Err(element.fault("this status is not in `x-extensible-enum`"));
        }
    }
    read_texts(&listed.elements()?, IN_PROGRESS).map(drop)
}

/// The names in `required`.
fn required(place: &DocumentNode) -> Result<Vec<String>, Faults> {
    place.get("required").map_or(Ok(Vec::new()), |names| names.strings())
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
