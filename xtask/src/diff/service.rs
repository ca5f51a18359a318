//! Reads the paths of an OpenAPI document into a [`Service`].

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use super::{
    access::{self, Authentication},
    model::{Field, Operation, Service, Shape},
    prefix::Prefix,
    schema::{Budget, shape},
};
use crate::contract::{METHODS, Place};

/// Headers that OpenAPI does not allow as parameters.
const TRANSPORT_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Reads a document.
///
/// The headers in `credentials` are authentication, not parameters. Model names are mapped by
/// `prefix`.
pub fn read(
    document: &Value,
    credentials: &BTreeSet<String>,
    prefix: Option<&Prefix>,
) -> anyhow::Result<Service> {
    let root = Place::root(document);
    root.object()?;
    let version = root.get("openapi").context("not an OpenAPI 3 document: `openapi` is missing")?;
    if !version.string()?.starts_with("3.") {
        return Err(version.fault(format!("expected OpenAPI 3, found {}", version.value)).into());
    }
    let paths = root.get("paths").context("`paths` is missing")?;
    let reader = Reader { root, credentials, prefix, budget: Budget::default() };
    let mut service = Service::default();
    for (path, item) in paths.members()? {
        if !path.starts_with("x-") {
            reader.path(path, &item.resolved()?, &mut service)?;
        }
    }
    Ok(service)
}

struct Reader<'a> {
    root: Place<'a>,
    credentials: &'a BTreeSet<String>,
    prefix: Option<&'a Prefix>,
    budget: Budget,
}

impl Reader<'_> {
    fn path(&self, path: &str, item: &Place, service: &mut Service) -> anyhow::Result<()> {
        let path = self.prefix.map_or_else(|| path.to_owned(), |prefix| prefix.path(path));
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let method = method.to_uppercase();
            let key = format!("{method} {}", anonymous(&path));
            let operation = self.operation(format!("{method} {path}"), &path, item, &operation)?;
            if let Some(other) = service.operations.insert(key, operation) {
                let message = format!("{} is defined more than once", other.name);
                return Err(item.fault(message).into());
            }
        }
        Ok(())
    }

    fn operation(
        &self,
        name: String,
        path: &str,
        item: &Place,
        operation: &Place,
    ) -> anyhow::Result<Operation> {
        let (request, authentication) = self.request(path, item, operation)?;
        let servers = access::servers(&self.root, item, operation)?;
        let deprecated = operation.flag("deprecated")?;
        let (mut responses, mut headers) = (BTreeMap::new(), BTreeMap::new());
        for (status, response) in operation.members_of("responses")? {
            if !status.starts_with("x-") {
                let response = response.resolved()?;
                responses.append(&mut self.bodies(status, &response)?);
                headers.insert(status.to_owned(), self.headers(&response)?);
            }
        }
        Ok(Operation { name, deprecated, authentication, servers, request, responses, headers })
    }

    /// The parameters and bodies, and the authentication, which may be among the parameters.
    fn request(
        &self,
        path: &str,
        item: &Place,
        operation: &Place,
    ) -> anyhow::Result<(BTreeMap<String, Field>, Authentication)> {
        let mut authentication = Authentication::read(&self.root, operation)?;
        let mut request = BTreeMap::new();
        let shared = item.elements_of("parameters")?.into_iter();
        for parameter in shared.chain(operation.elements_of("parameters")?) {
            match self.parameter(path, &parameter.resolved()?)? {
                Parameter::Field(name, field) => {
                    request.insert(name, *field);
                }
                Parameter::Credential(name) => authentication = authentication.with_header(&name),
                Parameter::Ignored => {}
            }
        }
        if let Some(body) = operation.get("requestBody") {
            let body = body.resolved()?;
            let required = body.flag("required")?;
            for (media_type, shape) in self.content(&body)? {
                request.insert(named("body", &media_type), Field { required, shape });
            }
        }
        Ok((request, authentication))
    }

    fn parameter(&self, path: &str, parameter: &Place) -> anyhow::Result<Parameter> {
        let location = parameter.need("in")?.string()?;
        let name = parameter.need("name")?.string()?;
        let name = match location {
            "header" => name.to_lowercase(),
            "path" => position(path, name),
            _ => name.to_owned(),
        };
        let required = location == "path" || parameter.flag("required")?;
        if location == "header" && self.credentials.contains(&name) {
            return Ok(if required { Parameter::Credential(name) } else { Parameter::Ignored });
        }
        if location == "header" && TRANSPORT_HEADERS.contains(&name.as_str()) {
            return Ok(Parameter::Ignored);
        }
        let mut field = self.described(parameter, required)?;
        if let ("path", Some(prefix)) = (location, self.prefix) {
            map_names(&mut field.shape, prefix);
        }
        Ok(Parameter::Field(format!("{location} {name}"), Box::new(field)))
    }

    /// A parameter or a header, which have their schema in the same places.
    fn described(&self, place: &Place, required: bool) -> anyhow::Result<Field> {
        let mut shape = match place.get("schema") {
            Some(schema) => shape(&schema, &self.budget)?,
            None => self.content(place)?.into_values().next().unwrap_or_default(),
        };
        shape.deprecated |= place.flag("deprecated")?;
        Ok(Field { required, shape })
    }

    /// The bodies of a response, or one without restrictions if it describes none.
    fn bodies(&self, status: &str, response: &Place) -> anyhow::Result<BTreeMap<String, Shape>> {
        let content = self.content(response)?;
        if content.is_empty() {
            return Ok(BTreeMap::from([(status.to_owned(), Shape::default())]));
        }
        let bodies = content.into_iter();
        Ok(bodies.map(|(media_type, shape)| (named(status, &media_type), shape)).collect())
    }

    fn headers(&self, response: &Place) -> anyhow::Result<BTreeMap<String, Field>> {
        let mut headers = BTreeMap::new();
        for (name, header) in response.members_of("headers")? {
            let (name, header) = (name.to_lowercase(), header.resolved()?);
            if name != "content-type" {
                headers.insert(name, self.described(&header, header.flag("required")?)?);
            }
        }
        Ok(headers)
    }

    /// The shape of each media type.
    fn content(&self, holder: &Place) -> anyhow::Result<BTreeMap<String, Shape>> {
        let mut shapes = BTreeMap::new();
        for (media_type, described) in holder.members_of("content")? {
            let essence = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
            let schema = described.get("schema");
            let shape = schema.map(|schema| shape(&schema, &self.budget)).transpose()?;
            shapes.insert(essence, shape.unwrap_or_default());
        }
        Ok(shapes)
    }
}

enum Parameter {
    Field(String, Box<Field>),
    /// A required header for the API key.
    Credential(String),
    /// A header of the transport, or an optional one for the API key.
    Ignored,
}

/// Maps the model names among the values of a path parameter.
fn map_names(shape: &mut Shape, prefix: &Prefix) {
    let map = |text: &Value| text.as_str().and_then(|name| prefix.name(name)).map(Value::from);
    if let Some(default) = shape.default.as_ref().and_then(map) {
        shape.default = Some(default);
    }
    if let Some(choices) = shape.choices.take() {
        let choices = choices.into_iter().map(|choice| {
            let value = serde_json::from_str(&choice).ok().as_ref().and_then(map);
            value.map_or(choice, |name| name.to_string())
        });
        shape.choices = Some(choices.collect());
    }
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
