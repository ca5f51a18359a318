//! Reads the paths of an OpenAPI document into a [`Shape`] for each operation.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use super::{
    prefix::Prefix,
    schema,
    shape::{Fact, Shape},
};
use crate::contract::{DocumentNode, Faults, METHODS};

/// Headers that OpenAPI does not allow as parameters.
const TRANSPORT_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// The operations of a service, by method and path without the names of path parameters.
pub type Service = BTreeMap<String, Operation>;

/// An operation.
pub struct Operation {
    /// Method and path, as in the document.
    pub name: String,
    pub shape: Shape,
}

/// Reads a document. The headers in `keys` are authentication, not parameters. Model names are
/// mapped by `prefix`.
pub fn read(
    document: &Value,
    keys: &BTreeSet<String>,
    prefix: Option<&Prefix>,
) -> anyhow::Result<Service> {
    let root = DocumentNode::root(document);
    root.object()?;
    let version = root.get("openapi").context("not an OpenAPI 3 document: `openapi` is missing")?;
    if !version.string()?.starts_with("3.") {
        return Err(version.fault(format!("expected OpenAPI 3, found {}", version.value)).into());
    }
    let paths = root.get("paths").context("`paths` is missing")?;
    let mut reader = Reader { root, keys, schemas: schema::Reader::default() };
    let mut service = Service::new();
    for (path, item) in paths.members()?.into_iter().filter(|(path, _)| !path.starts_with("x-")) {
        let item = item.resolved()?;
        let path = prefix.map_or_else(|| path.to_owned(), |prefix| prefix.path(path));
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let shape = reader.operation(&path, &item, &operation)?;
            let method = method.to_uppercase();
            let operation = Operation { name: format!("{method} {path}"), shape };
            let key = format!("{method} {}", anonymous(&path));
            if let Some(other) = service.insert(key, operation) {
                let message = format!("{} is defined more than once", other.name);
                return Err(item.fault(message).into());
            }
        }
    }
    Ok(service)
}

struct Reader<'a> {
    root: DocumentNode<'a>,
    keys: &'a BTreeSet<String>,
    schemas: schema::Reader<'a>,
}

impl<'a> Reader<'a> {
    fn operation(
        &mut self,
        path: &str,
        item: &DocumentNode<'a>,
        operation: &DocumentNode<'a>,
    ) -> Result<Shape, Faults> {
        let mut shape = Shape::default();
        let mut sent = BTreeSet::new();
        let shared = item.elements_of("parameters")?.into_iter();
        for parameter in shared.chain(operation.elements_of("parameters")?) {
            let parameter = parameter.resolved()?;
            let location = parameter.need("in")?.string()?;
            let name = parameter.need("name")?.string()?;
            let name = match location {
                "header" => name.to_lowercase(),
                "path" => position(path, name),
                _ => name.to_owned(),
            };
            let is_required = location == "path" || parameter.flag("required")?;
            if location == "header" && self.keys.contains(&name) {
                sent.extend(is_required.then(|| key(&name)));
            } else if location != "header" || !TRANSPORT_HEADERS.contains(&name.as_str()) {
                shape.add(&format!("{location} {name}"), self.field(&parameter, is_required)?);
            }
        }
        if let Some(body) = operation.get("requestBody") {
            let body = body.resolved()?;
            for (media_type, mut content) in self.content(&body)? {
                content.own().extend(body.flag("required")?.then_some(("required", Fact::Flag)));
                shape.add(&format!("body{media_type}"), content);
            }
        }
        for (status, response) in operation.members_of("responses")? {
            if !status.starts_with("x-") {
                self.response(status, &response.resolved()?, &mut shape)?;
            }
        }
        let credentials = self.credentials(operation, sent)?;
        let servers = self.servers([operation, item, &self.root])?;
        let facts = [("authentication", credentials), ("servers", servers)];
        let facts = facts.into_iter().filter(|(_, names)| !names.is_empty());
        shape.own().extend(facts.map(|(name, names)| (name, Fact::Any(names))));
        shape.own().extend(operation.flag("deprecated")?.then_some(("deprecated", Fact::Flag)));
        Ok(shape)
    }

    fn response(
        &mut self,
        status: &str,
        response: &DocumentNode<'a>,
        operation: &mut Shape,
    ) -> Result<(), Faults> {
        let mut bodies = self.content(response)?;
        if bodies.is_empty() {
            bodies.push((String::new(), Shape::default()));
        }
        for (media_type, shape) in bodies {
            operation.add(&format!("{status}{media_type}"), shape);
        }
        for (name, header) in response.members_of("headers")? {
            let (name, header) = (name.to_lowercase(), header.resolved()?);
            if name != "content-type" {
                let is_required = header.flag("required")?;
                let field = self.field(&header, is_required)?;
                operation.add(&format!("{status} header {name}"), field);
            }
        }
        Ok(())
    }

    /// A parameter or a header, which have their schema in the same places.
    fn field(&mut self, field: &DocumentNode<'a>, is_required: bool) -> Result<Shape, Faults> {
        let mut shape = match field.get("schema") {
            Some(schema) => self.schemas.read(&schema)?,
            None => self.content(field)?.into_iter().next().unwrap_or_default().1,
        };
        let flags = [("required", is_required), ("deprecated", field.flag("deprecated")?)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        shape.own().extend(flags.map(|(name, _)| (name, Fact::Flag)));
        Ok(shape)
    }

    /// The schema of each media type, which is in parentheses if it is not JSON.
    fn content(&mut self, holder: &DocumentNode<'a>) -> Result<Vec<(String, Shape)>, Faults> {
        let bodies = holder.members_of("content")?.into_iter().map(|(media_type, described)| {
            let essence = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
            let schema = described.get("schema");
            let shape = schema.map(|schema| self.schemas.read(&schema)).transpose()?;
            let is_json = essence == "application/json";
            let name = if is_json { String::new() } else { format!(" ({essence})") };
            Ok((name, shape.unwrap_or_default()))
        });
        bodies.collect()
    }

    /// The alternative credentials by `security` of the operation, or else of the document, each
    /// with the headers that every request must have. Empty if the operation needs none.
    fn credentials(
        &self,
        operation: &DocumentNode,
        sent: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, Faults> {
        let security = operation.get("security").or_else(|| self.root.get("security"));
        let requirements = security.map(|security| security.elements()).transpose()?;
        let mut alternatives = BTreeSet::new();
        for requirement in requirements.unwrap_or_default() {
            let mut needed = sent.clone();
            for (name, scopes) in requirement.members()? {
                let schemes = self.root.get("components").and_then(|it| it.get("securitySchemes"));
                let scheme = schemes.and_then(|schemes| schemes.get(name)).ok_or_else(|| {
                    requirement.fault(format!("`{name}` is not in `components.securitySchemes`"))
                })?;
                needed.insert(described(&scheme.resolved()?)?);
                needed.extend(scopes.strings()?.into_iter().map(|scope| format!("scope {scope}")));
            }
            alternatives.insert(needed);
        }
        if alternatives.is_empty() {
            alternatives.insert(sent);
        }
        if alternatives.contains(&BTreeSet::new()) {
            return Ok(BTreeSet::new());
        }
        let joined =
            |needed: BTreeSet<String>| needed.into_iter().collect::<Vec<_>>().join(" and ");
        Ok(alternatives.into_iter().map(joined).collect())
    }

    /// The URLs of the first of these objects that states servers. The URL `/` is only the host of
    /// the document itself, and the reserved domain `.invalid` a placeholder.
    fn servers(&self, holders: [&DocumentNode; 3]) -> Result<BTreeSet<String>, Faults> {
        let mut urls = BTreeSet::new();
        for holder in holders {
            let servers = holder.elements_of("servers")?;
            for server in &servers {
                let url = server.need("url")?.string()?.trim_end_matches('/');
                let is_stated = !url.is_empty() && !url.contains(".invalid");
                urls.extend(is_stated.then(|| url.to_owned()));
            }
            if !servers.is_empty() {
                break;
            }
        }
        Ok(urls)
    }
}

fn described(scheme: &DocumentNode) -> Result<String, Faults> {
    let text = |key: &str| scheme.need(key).and_then(|text| text.string());
    Ok(match text("type")? {
        "apiKey" if text("in")? == "header" => key(text("name")?),
        "apiKey" => format!("key in {} {}", text("in")?, text("name")?),
        "http" => format!("HTTP {}", text("scheme")?.to_lowercase()),
        other => other.to_owned(),
    })
}

fn key(header: &str) -> String {
    format!("key in header {}", header.to_lowercase())
}

/// The headers that a document uses for API keys, in lower case.
pub fn key_headers(document: &Value) -> BTreeSet<String> {
    let schemes = document.pointer("/components/securitySchemes").and_then(Value::as_object);
    let schemes = schemes.into_iter().flat_map(serde_json::Map::values);
    let keys = schemes.filter(|scheme| scheme["in"] == "header");
    keys.filter_map(|scheme| scheme["name"].as_str()).map(str::to_lowercase).collect()
}

/// The path without the names of its parameters, which may differ between documents.
fn anonymous(path: &str) -> String {
    let mut parts = path.split('{');
    let start = parts.next().unwrap_or_default().to_owned();
    let rests = parts.map(|part| part.split_once('}').map_or("", |(_, rest)| rest));
    rests.fold(start, |anonymous, rest| anonymous + "{}" + rest)
}

/// Identifies a path parameter by its position.
fn position(path: &str, name: &str) -> String {
    let before = path.split(&format!("{{{name}}}")).next().unwrap_or_default();
    (before.matches('{').count() + 1).to_string()
}
