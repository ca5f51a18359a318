//! Reads the paths of an OpenAPI document into a [`Node`] for each operation.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use super::{
    access,
    node::{Fact, Kind, Node},
    prefix::Prefix,
    schema,
};
use crate::contract::{DocumentNode, Fault, METHODS};

/// Headers that OpenAPI does not allow as parameters.
const TRANSPORT_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// The operations of a service, by method and path without the names of path parameters.
pub type Service = BTreeMap<String, Operation>;

/// An operation.
pub struct Operation {
    /// Method and path, as in the document.
    pub name: String,
    pub node: Node,
}

/// Reads a document.
///
/// The headers in `credentials` are authentication, not parameters. Model names are mapped by
/// `prefix`.
pub fn read(
    document: &Value,
    credentials: &BTreeSet<String>,
    prefix: Option<&Prefix>,
) -> anyhow::Result<Service> {
    let root = DocumentNode::root(document);
    root.object()?;
    let version = root.get("openapi").context("not an OpenAPI 3 document: `openapi` is missing")?;
    if !version.string()?.starts_with("3.") {
        return Err(version.fault(format!("expected OpenAPI 3, found {}", version.value)).into());
    }
    let paths = root.get("paths").context("`paths` is missing")?;
    let mut reader = Reader { root, credentials, prefix, schemas: schema::Reader::default() };
    let mut service = Service::new();
    for (path, item) in paths.members()? {
        if path.starts_with("x-") {
            continue;
        }
        let item = item.resolved()?;
        let path = prefix.map_or_else(|| path.to_owned(), |prefix| prefix.path(path));
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let node = reader.operation(&path, &item, &operation)?;
            let method = method.to_uppercase();
            let operation = Operation { name: format!("{method} {path}"), node };
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
    credentials: &'a BTreeSet<String>,
    prefix: Option<&'a Prefix>,
    schemas: schema::Reader<'a>,
}

impl<'a> Reader<'a> {
    fn operation(
        &mut self,
        path: &str,
        item: &DocumentNode<'a>,
        operation: &DocumentNode<'a>,
    ) -> Result<Node, Fault> {
        let mut node = Node { kind: Kind::Operation, ..Node::default() };
        if operation.flag("deprecated")? {
            node.facts.insert("deprecated", Fact::Flag);
        }
        let mut headers = BTreeSet::new();
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
            if location == "header" && self.credentials.contains(&name) {
                headers.extend(is_required.then_some(name));
            } else if location != "header" || !TRANSPORT_HEADERS.contains(&name.as_str()) {
                let mut field = self.field(&parameter, is_required)?;
                if let ("path", Some(prefix)) = (location, self.prefix) {
                    map_names(&mut field, prefix);
                }
                node.parts.insert(format!("{location} {name}"), field);
            }
        }
        node.facts.extend(access::credentials(&self.root, operation, &headers)?);
        node.facts.extend(access::servers(&self.root, item, operation)?);
        if let Some(body) = operation.get("requestBody") {
            let body = body.resolved()?;
            for (media_type, mut field) in self.content(&body)? {
                if body.flag("required")? {
                    field.facts.insert("required", Fact::Flag);
                }
                node.parts.insert(format!("body{media_type}"), field);
            }
        }
        for (status, response) in operation.members_of("responses")? {
            if !status.starts_with("x-") {
                self.response(status, &response.resolved()?, &mut node)?;
            }
        }
        Ok(node)
    }

    fn response(
        &mut self,
        status: &str,
        response: &DocumentNode<'a>,
        operation: &mut Node,
    ) -> Result<(), Fault> {
        let mut bodies = self.content(response)?;
        if bodies.is_empty() {
            bodies.push((String::new(), Node::default()));
        }
        let named = |(media_type, node)| {
            (format!("{status}{media_type}"), Node { kind: Kind::Response, ..node })
        };
        operation.parts.extend(bodies.into_iter().map(named));
        let mut headers = Node { kind: Kind::Headers, ..Node::default() };
        for (name, header) in response.members_of("headers")? {
            let (name, header) = (name.to_lowercase(), header.resolved()?);
            if name != "content-type" {
                let field = self.field(&header, header.flag("required")?)?;
                headers.parts.insert(name, field);
            }
        }
        operation.parts.insert(format!("{status} header "), headers);
        Ok(())
    }

    /// A parameter or a header, which have their schema in the same places.
    fn field(&mut self, place: &DocumentNode<'a>, is_required: bool) -> Result<Node, Fault> {
        let mut node = match place.get("schema") {
            Some(schema) => self.schemas.read(&schema)?,
            None => {
                self.content(place)?.into_iter().next().map(|(_, node)| node).unwrap_or_default()
            }
        };
        let flags = [("required", is_required), ("deprecated", place.flag("deprecated")?)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        node.facts.extend(flags.map(|(name, _)| (name, Fact::Flag)));
        Ok(node)
    }

    /// The schema of each media type, which is in parentheses if it is not JSON.
    fn content(&mut self, holder: &DocumentNode<'a>) -> Result<Vec<(String, Node)>, Fault> {
        let mut nodes = Vec::new();
        for (media_type, described) in holder.members_of("content")? {
            let essence = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
            let schema = described.get("schema");
            let node = schema.map(|schema| self.schemas.read(&schema)).transpose()?;
            let name = match essence.as_str() {
                "application/json" => String::new(),
                essence => format!(" ({essence})"),
            };
            nodes.push((name, node.unwrap_or_default()));
        }
        Ok(nodes)
    }
}

/// Maps the model names among the values of a path parameter, which are JSON.
fn map_names(parameter: &mut Node, prefix: &Prefix) {
    let map = |value: &String| {
        let name = value.strip_prefix('"').and_then(|name| prefix.name(name));
        name.map_or_else(|| value.clone(), |name| format!("\"{name}"))
    };
    for fact in parameter.facts.values_mut() {
        match fact {
            Fact::Any(values) => *values = values.iter().map(map).collect(),
            Fact::Default(value) => *value = map(value),
            _ => {}
        }
    }
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
    let mut names = path.split('{').skip(1).map(|part| part.split('}').next().unwrap_or_default());
    names
        .position(|other| other == name)
        .map_or_else(|| name.to_owned(), |index| (index + 1).to_string())
}
