//! Reads the operations of the document into the same form as the lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::facts::{Cell, Facts, NOTHING, Row, alternatives, json};
use crate::contract::{DocumentNode, Faults, METHODS, joined};

/// The keywords of a schema, with their places.
pub type Schema<'a> = BTreeMap<&'a str, DocumentNode<'a>>;

/// Returns the method, the path and the operation of every operation.
pub fn each_operation<'a>(
    root: &DocumentNode<'a>,
) -> Result<Vec<(String, &'a str, DocumentNode<'a>)>, Faults> {
    let mut found = Vec::new();
    for (path, item) in root.members_of("paths")? {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                found.push((method.to_uppercase(), path, operation));
            }
        }
    }
    Ok(found)
}

pub fn request_schema<'a>(operation: &DocumentNode<'a>) -> Option<DocumentNode<'a>> {
    operation.get("requestBody")?.get("content")?.get("application/json")?.get("schema")
}

/// Merges a schema with the schemas that it refers to (`$ref`, `allOf`). Its own keywords take
/// precedence.
pub fn flattened<'a>(schema: &DocumentNode<'a>) -> Result<Schema<'a>, Faults> {
    schema.must_not_recur()?;
    let mut flat: Schema = schema.members()?.into_iter().collect();
    for part in schema.elements_of("allOf")?.into_iter().chain(schema.referred()?) {
        for (keyword, value) in flattened(&part)? {
            flat.entry(keyword).or_insert(value);
        }
    }
    Ok(flat)
}

pub fn operations<'a>(root: &DocumentNode<'a>) -> Result<Facts<'a>, Faults> {
    let mut facts = Facts::new();
    let mut kinds = BTreeSet::new();
    for (method, path, operation) in each_operation(root)? {
        // The first model of a kind is the default of its command.
        let kind = operation.value["x-kind"].as_str();
        let is_live = !operation.flag("deprecated")?;
        let is_first = is_live && kind.is_some_and(|kind| kinds.insert(kind));
        let owner = match request_schema(&operation) {
            Some(schema) => schema.resolved()?,
            None => operation,
        };
        let schema = flattened(&owner)?;
        let responses = operation.need("responses")?;
        let statuses = responses.members()?.iter().map(status).collect();
        let cell = |text: String, keyword: &str| at(&operation, keyword, text);
        let is_open = schema.get("additionalProperties");
        let row = Row::at(
            operation,
            [
                ("kind", cell(kind.unwrap_or(NOTHING).to_owned(), "x-kind")),
                ("first_of_kind", cell(yes_no(is_first), "x-kind")),
                ("needs", cell(needs(&operation)?, "x-needs")),
                ("input_megapixels", cell(megapixels(&operation), "x-max-input-megapixels")),
                ("deprecated", cell(yes_no(operation.flag("deprecated")?), "deprecated")),
                ("regional", cell(yes_no(operation.get("x-region").is_some()), "x-region")),
                (
                    "max_reference_images",
                    cell(
                        value(operation.get("x-max-reference-images").as_ref()),
                        "x-max-reference-images",
                    ),
                ),
                (
                    "not_accepted",
                    cell(alternatives(texts(&operation, "x-not-accepted")?), "x-not-accepted"),
                ),
                ("parameters", cell(parameters(&operation)?, "parameters")),
                ("success", success(&responses)?),
                ("statuses", cell(alternatives(statuses), "responses")),
                ("migrate_to", cell(migrations(root, &operation)?, "x-migrate-to")),
                (
                    "open",
                    keyword_cell(
                        &schema,
                        &owner,
                        "additionalProperties",
                        yes_no(is_open.is_some()),
                    ),
                ),
            ],
        );
        facts.insert(format!("{method} {path}"), row);
    }
    Ok(facts)
}

/// The status code and the name of its response, if it has one: `403=Forbidden`.
fn status((status, response): &(&str, DocumentNode)) -> String {
    match response.get("$ref") {
        Some(_) => format!("{status}={}", name_of(response)),
        None => (*status).to_owned(),
    }
}

fn texts(operation: &DocumentNode, keyword: &str) -> Result<Vec<String>, Faults> {
    operation.get(keyword).map_or(Ok(Vec::new()), |list| list.strings())
}

fn parameters(operation: &DocumentNode) -> Result<String, Faults> {
    let mut names = Vec::new();
    for parameter in operation.elements_of("parameters")? {
        let part = |name: &str| parameter.need(name)?.string();
        let pattern = parameter.need("schema")?.get("pattern");
        let pattern = pattern.map(|pattern| pattern.string()).transpose()?;
        let pattern = pattern.map(|pattern| format!(":{pattern}")).unwrap_or_default();
        names.push(format!("{}:{}{pattern}", part("in")?, part("name")?));
    }
    Ok(alternatives(names))
}

/// The names of the schemas of a successful response.
fn success<'a>(responses: &DocumentNode<'a>) -> Result<Cell<'a>, Faults> {
    let response = responses.need("200")?.resolved()?;
    let schema = response.need("content")?.need("application/json")?.need("schema")?;
    let target = schema.resolved()?;
    let alternatives_of = target.elements_of("oneOf")?;
    let names = if alternatives_of.is_empty() {
        vec![name_of(&schema)]
    } else {
        alternatives_of.iter().map(name_of).collect()
    };
    let place = if alternatives_of.is_empty() { schema } else { target };
    Ok(Cell { text: alternatives(names), place: Some(place) })
}

/// The needs: `2 images`, `prompt/image_prompt`, or `mask unless alpha in image`.
fn needs(operation: &DocumentNode) -> Result<String, Faults> {
    let mut needs = Vec::new();
    for need in operation.elements_of("x-needs")? {
        let mut text =
            need.get("any-of").map_or(Ok(Vec::new()), |names| names.strings())?.join("/");
        if let Some(count) = need.get("images") {
            text += &format!("{} images", count.value);
        }
        if let Some(image) = need.get("unless-alpha-in") {
            text += &format!(" unless alpha in {}", image.string()?);
        }
        needs.push(text);
    }
    Ok(alternatives(needs))
}

/// The largest image, and the size to which larger ones are scaled: `2, scaled to 1`.
fn megapixels(operation: &DocumentNode) -> String {
    let text = value(operation.get("x-max-input-megapixels").as_ref());
    match operation.get("x-scaled-to-megapixels") {
        Some(scaled) => format!("{text}, scaled to {}", scaled.value),
        None => text,
    }
}

fn migrations(root: &DocumentNode, operation: &DocumentNode) -> Result<String, Faults> {
    let mut names = Vec::new();
    let operations = each_operation(root)?;
    for target in operation.elements_of("x-migrate-to")? {
        let found =
            operations.iter().find(|(_, _, other)| other.value["operationId"] == *target.value);
        let path = found.map_or("?", |(_, path, _)| path);
        names.push(path.trim_start_matches("/v1/").into());
    }
    Ok(alternatives(names))
}

/// The values at the pointers.
pub fn service<'a>(
    root: &DocumentNode<'a>,
    pointers: impl Iterator<Item = impl AsRef<str>>,
) -> Facts<'a> {
    let mut facts = Facts::new();
    for pointer in pointers {
        let pointer = pointer.as_ref();
        if let Some(place) = root.at(pointer) {
            let cell = Cell { text: json(place.value), place: Some(place) };
            facts.insert(pointer.to_owned(), Row::at(place, [("value", cell)]));
        }
    }
    facts
}

/// Returns the JSON pointer to where the fact `place` of a list would be in the document.
pub fn holder(root: &DocumentNode, place: &str) -> String {
    let (owner, field) = place.split_once(' ').unwrap_or((place, ""));
    let paths = || each_operation(root).unwrap_or_default();
    if METHODS.iter().any(|method| method.to_uppercase() == owner) {
        return joined("/paths", field);
    }
    let schema = match paths().iter().find(|(_, path, _)| *path == owner) {
        Some((_, _, operation)) => {
            request_schema(operation).and_then(|schema| schema.resolved().ok())
        }
        None => root.get("components").and_then(|all| all.get("schemas")?.get(owner)),
    };
    match schema {
        Some(schema) => schema.pointer(),
        // A pointer of `service.tsv` is a place itself.
        None if owner.starts_with("/v1/") => joined("/paths", owner),
        None => owner.to_owned(),
    }
}

/// The cell of a keyword: at the keyword if it is set, else at `owner`.
pub fn keyword_cell<'a>(
    schema: &Schema<'a>,
    owner: &DocumentNode<'a>,
    keyword: &str,
    text: String,
) -> Cell<'a> {
    Cell { text, place: Some(schema.get(keyword).copied().unwrap_or(*owner)) }
}

fn at<'a>(owner: &DocumentNode<'a>, keyword: &str, text: String) -> Cell<'a> {
    Cell { text, place: Some(owner.get(keyword).unwrap_or(*owner)) }
}

/// The name of the type that the schema describes, or refers to.
pub fn name_of(schema: &DocumentNode) -> String {
    match schema.value["$ref"].as_str() {
        Some(reference) => reference.rsplit('/').next().unwrap_or(reference).into(),
        None => schema.value["type"].as_str().unwrap_or("not-shown").into(),
    }
}

pub fn value(place: Option<&DocumentNode>) -> String {
    place.map_or_else(|| NOTHING.into(), |place| json(place.value))
}

pub fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.into()
}

/// Joins the keywords without a column: `image=base64;mask-of=image`.
pub fn note(schema: &Schema, keywords: &[(&str, &str)]) -> String {
    let notes = keywords.iter().filter_map(|(keyword, name)| {
        let value = schema.get(*keyword)?.value;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Object(range) => {
                let ends: Vec<_> = range.values().filter_map(Value::as_str).collect();
                ends.join("..")
            }
            other => other.to_string(),
        };
        Some(format!("{name}={text}"))
    });
    let notes: Vec<_> = notes.collect();
    if notes.is_empty() { NOTHING.into() } else { notes.join(";") }
}
