//! Reads the paths of an OpenAPI document into a [`Node`] for each operation.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use super::{
    access,
    keyword::{state, state_others},
    node::{Fact, Kind, Node},
    prefix::Prefix,
    schema,
};
use crate::contract::{DocumentNode, Fault, METHODS};

/// Headers that OpenAPI does not allow as parameters.
const TRANSPORT_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// The operations of a service, by method and path without the names of path parameters. If both
/// documents are ours, [`DOCUMENT`] is one of them.
pub type Service = BTreeMap<String, Operation>;

/// The name of an operation for what the document says about none.
pub const DOCUMENT: &str = "document";

/// An operation.
pub struct Operation {
    /// Method and path, as in the document.
    pub name: String,
    pub node: Node,
}

/// Reads a document.
///
/// The headers in `credentials` are authentication, not parameters. Model names are mapped by
/// `prefix`. If both documents are ours, everything that they say is read.
pub fn read(
    document: &Value,
    credentials: &BTreeSet<String>,
    prefix: Option<&Prefix>,
    is_ours: bool,
) -> anyhow::Result<Service> {
    let root = DocumentNode::root(document);
    root.object()?;
    let version = root.get("openapi").context("not an OpenAPI 3 document: `openapi` is missing")?;
    if !version.string()?.starts_with("3.") {
        return Err(version.fault(format!("expected OpenAPI 3, found {}", version.value)).into());
    }
    let paths = root.get("paths").context("`paths` is missing")?;
    let mut reader = Reader { root, credentials, schemas: schema::Reader::new(is_ours) };
    let mut service = Service::new();
    let mut others = Node { kind: Kind::Operation, ..Node::default() };
    for (path, item) in paths.members()? {
        if path.starts_with("x-") {
            state(&mut others.facts, path, item.value);
            continue;
        }
        let (place, item) = (item, reader.schemas.resolved(&item)?);
        let path = prefix.map_or_else(|| path.to_owned(), |prefix| prefix.path(path));
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let mut node = reader.operation(&path, &item, &operation)?;
            let read = [&METHODS[..], &["parameters", "servers"]].concat();
            reader.state(&mut node, &place, &read);
            let method = method.to_uppercase();
            let operation = Operation { name: format!("{method} {path}"), node };
            let key = format!("{method} {}", anonymous(&path));
            if let Some(other) = service.insert(key, operation) {
                let message = format!("{} is defined more than once", other.name);
                return Err(item.fault(message).into());
            }
        }
    }
    if is_ours {
        reader.document(&mut others);
        service.insert(DOCUMENT.into(), Operation { name: DOCUMENT.into(), node: others });
    }
    Ok(service)
}

struct Reader<'a> {
    root: DocumentNode<'a>,
    credentials: &'a BTreeSet<String>,
    schemas: schema::Reader<'a>,
}

impl<'a> Reader<'a> {
    /// Adds what the document says outside of its operations and of the components in use.
    fn document(&self, node: &mut Node) {
        state_others(&mut node.facts, &self.root, &["paths", "components"]);
        let groups = self.root.value["components"].as_object().into_iter().flatten();
        for (group, components) in groups {
            for (name, component) in components.as_object().into_iter().flatten() {
                let reference = Value::from(format!("#/components/{group}/{name}"));
                if !self.schemas.used.contains(&reference.to_string()) {
                    state(&mut node.facts, &format!("{group}.{name}"), component);
                }
            }
        }
    }

    /// Adds facts for the keywords that are not `read`, if both documents are ours.
    fn state(&self, node: &mut Node, place: &DocumentNode, read: &[&str]) {
        if self.schemas.is_ours {
            state_others(&mut node.facts, place, read);
            if let Ok(target) = place.resolved() {
                state_others(&mut node.facts, &target, read);
            }
        }
    }

    fn operation(
        &mut self,
        path: &str,
        item: &DocumentNode<'a>,
        operation: &DocumentNode<'a>,
    ) -> Result<Node, Fault> {
        let mut node = Node { kind: Kind::Operation, ..Node::default() };
        let read = ["deprecated", "parameters", "security", "servers", "requestBody", "responses"];
        self.state(&mut node, operation, &read);
        if operation.flag("deprecated")? {
            node.facts.insert("deprecated".into(), Fact::Flag);
        }
        let mut headers = BTreeSet::new();
        let shared = item.elements_of("parameters")?.into_iter();
        for place in shared.chain(operation.elements_of("parameters")?) {
            let parameter = self.schemas.resolved(&place)?;
            let location = parameter.need("in")?.string()?;
            let name = parameter.need("name")?.string()?;
            let name = match location {
                "header" => name.to_lowercase(),
                "path" => position(path, name),
                _ => name.to_owned(),
            };
            let is_required = location == "path" || parameter.flag("required")?;
            let is_header = location == "header";
            let is_credential = is_header && self.credentials.contains(&name);
            headers.extend((is_credential && is_required).then(|| name.clone()));
            let is_transport = is_header && TRANSPORT_HEADERS.contains(&name.as_str());
            if self.schemas.is_ours || !(is_credential || is_transport) {
                let field = self.field(&place, is_required)?;
                node.parts.insert(format!("{location} {name}"), field);
            }
        }
        let credentials = access::credentials(&self.root, operation, &headers)?;
        node.facts.extend(credentials.map(|fact| ("authentication".into(), fact)));
        let servers = access::servers(&self.root, item, operation)?;
        node.facts.extend(servers.map(|fact| ("servers".into(), fact)));
        if let Some(body) = operation.get("requestBody") {
            let (place, body) = (body, self.schemas.resolved(&body)?);
            for (media_type, mut field) in self.content(&body)? {
                self.state(&mut field, &place, &["required", "content"]);
                if body.flag("required")? {
                    field.facts.insert("required".into(), Fact::Flag);
                }
                node.parts.insert(format!("body{media_type}"), field);
            }
        }
        for (status, response) in operation.members_of("responses")? {
            if !status.starts_with("x-") {
                self.response(status, &response, &mut node)?;
            } else if self.schemas.is_ours {
                state(&mut node.facts, status, response.value);
            }
        }
        Ok(node)
    }

    fn response(
        &mut self,
        status: &str,
        place: &DocumentNode<'a>,
        operation: &mut Node,
    ) -> Result<(), Fault> {
        let response = self.schemas.resolved(place)?;
        let mut bodies = self.content(&response)?;
        if bodies.is_empty() {
            bodies.push((String::new(), Node::default()));
        }
        for (media_type, mut node) in bodies {
            node.kind = Kind::Response;
            self.state(&mut node, place, &["content", "headers"]);
            operation.parts.insert(format!("{status}{media_type}"), node);
        }
        for (name, header) in response.members_of("headers")? {
            let name = name.to_lowercase();
            if name != "content-type" || self.schemas.is_ours {
                let is_required = self.schemas.resolved(&header)?.flag("required")?;
                let field = Node { kind: Kind::Header, ..self.field(&header, is_required)? };
                operation.parts.insert(format!("{status} header {name}"), field);
            }
        }
        Ok(())
    }

    /// A parameter or a header, which have their schema in the same places.
    fn field(&mut self, place: &DocumentNode<'a>, is_required: bool) -> Result<Node, Fault> {
        let field = self.schemas.resolved(place)?;
        let mut node = match field.get("schema") {
            Some(schema) => self.schemas.read(&schema)?,
            None => {
                self.content(&field)?.into_iter().next().map(|(_, node)| node).unwrap_or_default()
            }
        };
        self.state(&mut node, place, &["in", "required", "deprecated", "schema", "content"]);
        let flags = [("required", is_required), ("deprecated", field.flag("deprecated")?)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        node.facts.extend(flags.map(|(name, _)| (name.to_owned(), Fact::Flag)));
        Ok(node)
    }

    /// The schema of each media type, which is in parentheses if it is not JSON.
    fn content(&mut self, holder: &DocumentNode<'a>) -> Result<Vec<(String, Node)>, Fault> {
        let mut nodes = Vec::new();
        for (media_type, described) in holder.members_of("content")? {
            let essence = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
            let schema = described.get("schema");
            let node = schema.map(|schema| self.schemas.read(&schema)).transpose()?;
            let mut node = node.unwrap_or_default();
            self.state(&mut node, &described, &["schema"]);
            let name = match essence.as_str() {
                "application/json" => String::new(),
                essence => format!(" ({essence})"),
            };
            nodes.push((name, node));
        }
        Ok(nodes)
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
    let before = path.split(&format!("{{{name}}}")).next().unwrap_or_default();
    (before.matches('{').count() + 1).to_string()
}
