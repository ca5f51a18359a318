//! Reads the paths of an OpenAPI document into a [`Service`].

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use super::{
    model::{Field, Operation, Service, Shape},
    schema::shape,
};
use crate::contract::{METHODS, Place};

/// Headers that OpenAPI does not allow as parameters.
const TRANSPORT_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// The headers of the document's API keys, in lower case.
pub fn credential_headers(document: &Value) -> BTreeSet<String> {
    let schemes = document.pointer("/components/securitySchemes").and_then(Value::as_object);
    let keys = schemes
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter(|scheme| scheme["in"] == "header");
    keys.filter_map(|scheme| scheme["name"].as_str()).map(str::to_lowercase).collect()
}

/// Reads a document. The headers in `credentials` are not parameters.
pub fn read(document: &Value, credentials: &BTreeSet<String>) -> anyhow::Result<Service> {
    let root = Place::root(document);
    root.object()?;
    let version = root.get("openapi").context("not an OpenAPI 3 document: `openapi` is missing")?;
    if !version.string()?.starts_with("3.") {
        return Err(version.fault(format!("expected OpenAPI 3, found {}", version.value)).into());
    }
    let mut service = Service::default();
    let paths = root.get("paths").context("`paths` is missing")?;
    for (path, item) in paths.members()? {
        if path.starts_with("x-") {
            continue;
        }
        let item = item.resolved()?;
        for method in METHODS {
            let Some(operation) = item.get(method) else {
                continue;
            };
            let method = method.to_uppercase();
            let key = format!("{method} {}", anonymous(path));
            let operation = Operation {
                name: format!("{method} {path}"),
                deprecated: operation.flag("deprecated")?,
                request: request(path, &item, &operation, credentials)?,
                responses: responses(&operation)?,
            };
            if let Some(other) = service.operations.insert(key, operation) {
                let message = format!("{} is defined more than once", other.name);
                return Err(item.fault(message).into());
            }
        }
    }
    Ok(service)
}

fn request(
    path: &str,
    item: &Place,
    operation: &Place,
    credentials: &BTreeSet<String>,
) -> anyhow::Result<BTreeMap<String, Field>> {
    let mut fields = BTreeMap::new();
    for parameter in
        item.elements_of("parameters")?.into_iter().chain(operation.elements_of("parameters")?)
    {
        let parameter = parameter.resolved()?;
        if let Some((name, field)) = read_parameter(path, &parameter, credentials)? {
            fields.insert(name, field);
        }
    }
    if let Some(body) = operation.get("requestBody") {
        let body = body.resolved()?;
        let required = body.flag("required")?;
        for (media_type, shape) in content(&body)? {
            fields.insert(named("body", &media_type), Field { required, shape });
        }
    }
    Ok(fields)
}

/// A parameter and its name; `None` for a header of the transport.
fn read_parameter(
    path: &str,
    parameter: &Place,
    credentials: &BTreeSet<String>,
) -> anyhow::Result<Option<(String, Field)>> {
    let (location, name) = (parameter.need("in")?.string()?, parameter.need("name")?.string()?);
    let name = match location {
        "header" => name.to_lowercase(),
        "path" => position(path, name),
        _ => name.to_owned(),
    };
    if location == "header"
        && (credentials.contains(&name) || TRANSPORT_HEADERS.contains(&name.as_str()))
    {
        return Ok(None);
    }
    let shape = match parameter.get("schema") {
        Some(schema) => shape(&schema)?,
        None => content(parameter)?.into_values().next().unwrap_or_default(),
    };
    let required = location == "path" || parameter.flag("required")?;
    Ok(Some((format!("{location} {name}"), Field { required, shape })))
}

fn responses(operation: &Place) -> anyhow::Result<BTreeMap<String, Shape>> {
    let mut responses = BTreeMap::new();
    for (status, response) in operation.members_of("responses")? {
        if status.starts_with("x-") {
            continue;
        }
        let content = content(&response.resolved()?)?;
        if content.is_empty() {
            responses.insert(status.to_owned(), Shape::default());
        }
        for (media_type, shape) in content {
            responses.insert(named(status, &media_type), shape);
        }
    }
    Ok(responses)
}

/// The shape of each media type.
fn content(holder: &Place) -> anyhow::Result<BTreeMap<String, Shape>> {
    let mut shapes = BTreeMap::new();
    for (media_type, described) in holder.members_of("content")? {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        let shape = described.get("schema").map(|schema| shape(&schema)).transpose()?;
        shapes.insert(essence, shape.unwrap_or_default());
    }
    Ok(shapes)
}

/// The name of a body, with its media type if it is not JSON.
fn named(what: &str, media_type: &str) -> String {
    if media_type == "application/json" {
        what.to_owned()
    } else {
        format!("{what} ({media_type})")
    }
}

/// The path without the names of its parameters, which may differ between documents.
fn anonymous(path: &str) -> String {
    let mut parts = path.split('{');
    let mut anonymous = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        anonymous.push_str("{}");
        anonymous.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    anonymous
}

/// Identifies a path parameter by its position.
fn position(path: &str, name: &str) -> String {
    let mut names = path.split('{').skip(1).map(|part| part.split('}').next().unwrap_or_default());
    names
        .position(|other| other == name)
        .map_or_else(|| name.to_owned(), |index| (index + 1).to_string())
}
