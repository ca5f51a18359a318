//! Reads the operations of the document.

use serde_json::{Map, Value};

use super::{
    document::DocumentNode,
    faults::{Faults, all},
    field::Field,
    name::{camel_case, is_camel_case, snake_case},
    need::{self, Need},
    request,
    response::Responses,
};

pub struct Contract {
    /// The name of the header that carries the key, in lower case.
    pub key_header: String,
    /// The path of the operation that polls a task.
    pub polling_path: String,
    pub operations: Vec<Operation>,
    pub responses: Responses,
}

pub struct Operation {
    pub id: String,
    /// The path as in the document, with the neutral prefix: `/v1/gen-2-pro`.
    pub path: String,
    /// The path after `/v1/`: `gen-2-pro`.
    pub name: String,
    pub summary: String,
    pub description: String,
    pub deprecated: bool,
    /// The ids of the operations that replace a deprecated one.
    pub migrate_to: Vec<String>,
    pub regional: bool,
    pub max_reference_images: Option<u64>,
    /// The maximum size of an input image that the service does not scale, in megapixels.
    pub max_input_megapixels: Option<u64>,
    /// The size to which the service scales larger images, in megapixels. `None` means that the
    /// service refuses larger images.
    pub scaled_to_megapixels: Option<u64>,
    /// The fields that the service refuses.
    pub not_accepted: Vec<String>,
    pub not_shown: Vec<String>,
    /// The POST of a submission. `None` for polling.
    pub submission: Option<Submission>,
}

pub struct Submission {
    /// The name of the request type, for example `GenPro11Ultra` for `gen-pro-1.1-ultra`.
    pub type_name: String,
    /// The name of the request schema in `components.schemas`. Operations may share a schema.
    pub schema: String,
    pub path_parameters: Vec<PathParameter>,
    /// What the operation does with images (`x-kind`).
    pub kind: String,
    pub fields: Vec<Field>,
    /// What the submission needs, although the schema leaves the fields optional (`x-needs`).
    pub needs: Vec<Need>,
    /// Whether the operation has fields that the contract does not show (`additionalProperties`).
    pub is_open: bool,
    /// The example body.
    pub example: Map<String, Value>,
}

pub struct PathParameter {
    pub name: String,
    pub description: String,
    /// The text with which every value starts, if the contract defines it.
    pub prefix: Option<String>,
    pub example: String,
}

pub fn read(document: &Value) -> Result<Contract, Faults> {
    let root = DocumentNode::root(document);
    let mut operations = Vec::new();
    for (path, item) in root.need("paths")?.members()? {
        for (method, place) in item.members()? {
            operations.push(read_operation(path, method, &place));
        }
    }
    let operations = all(operations)?;
    let responses = Responses::read(&root)?;
    let key_header = key_header(&root)?;
    let polling_path = polling_path(&root, &operations)?;
    Ok(Contract { key_header, polling_path, operations, responses })
}

/// Returns the name of the header in the only security scheme.
fn key_header(root: &DocumentNode) -> Result<String, Faults> {
    let schemes = root.need("components")?.need("securitySchemes")?;
    let mut members = schemes.members()?.into_iter();
    let (Some((_, scheme)), None) = (members.next(), members.next()) else {
        return Err(schemes.fault("expected one security scheme: the SDK has one key"));
    };
    let name = scheme.need("name")?;
    let text = name.string()?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if text.bytes().all(is_token) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(name.fault(format!("`{text}` is not the name of a header")))
    }
}

fn polling_path(root: &DocumentNode, operations: &[Operation]) -> Result<String, Faults> {
    let mut polling = operations.iter().filter(|operation| operation.submission.is_none());
    match (polling.next(), polling.next()) {
        (Some(operation), None) => Ok(operation.path.clone()),
        _ => {
            Err(root.need("paths")?.fault("expected one operation with `get`, which polls a task"))
        }
    }
}

pub fn read_operation(path: &str, method: &str, place: &DocumentNode) -> Result<Operation, Faults> {
    let name =
        path.strip_prefix("/v1/").ok_or_else(|| place.fault("a path must start with `/v1/`"))?;
    let submission = match method {
        "post" => Some(read_submission(name, place)?),
        "get" => None,
        other => {
            return Err(
                place.fault(format!("`{other}` is not supported: use post to submit, get to poll"))
            );
        }
    };
    let texts = |place: &DocumentNode, keyword: &str| {
        place.get(keyword).map_or(Ok(Vec::new()), |list| list.strings())
    };
    let mut not_shown = texts(place, "x-not-shown")?;
    if submission.is_some() {
        // The operation and its request schema may list the same fact that the contract does not
        // show.
        let gaps = texts(&request_schema(place)?.resolved()?, "x-not-shown")?;
        let further: Vec<_> = gaps.into_iter().filter(|gap| !not_shown.contains(gap)).collect();
        not_shown.extend(further);
    }
    let count = |keyword: &str| place.get(keyword).map(|count| count.count()).transpose();
    Ok(Operation {
        id: snake_case(name),
        path: path.to_owned(),
        name: name.to_owned(),
        summary: place.need("summary")?.string()?.to_owned(),
        description: place.need("description")?.string()?.to_owned(),
        deprecated: place.flag("deprecated")?,
        migrate_to: texts(place, "x-migrate-to")?,
        regional: place.get("x-region").is_some(),
        max_reference_images: count("x-max-reference-images")?,
        max_input_megapixels: count("x-max-input-megapixels")?,
        scaled_to_megapixels: count("x-scaled-to-megapixels")?,
        not_accepted: texts(place, "x-not-accepted")?,
        not_shown,
        submission,
    })
}

fn request_schema<'a>(operation: &DocumentNode<'a>) -> Result<DocumentNode<'a>, Faults> {
    json_body(operation)?.need("schema")
}

fn json_body<'a>(operation: &DocumentNode<'a>) -> Result<DocumentNode<'a>, Faults> {
    operation.need("requestBody")?.need("content")?.need("application/json")
}

fn read_submission(name: &str, place: &DocumentNode) -> Result<Submission, Faults> {
    let schema = request_schema(place)?;
    let schema_name = schema.component("schemas")?;
    let target = schema.resolved()?;
    let type_name = camel_case(name);
    for name in [schema_name, type_name.as_str()] {
        if !is_camel_case(name) {
            return Err(schema.fault(format!("`{name}` is not a valid name of a Rust type")));
        }
    }
    let path_parameters = place.elements_of("parameters")?;
    Ok(Submission {
        kind: place.need("x-kind")?.string()?.to_owned(),
        needs: need::read(place)?,
        type_name,
        schema: schema_name.to_owned(),
        path_parameters: all(path_parameters.iter().map(read_path_parameter))?,
        fields: request::read_fields(&target, schema_name)?,
        is_open: target.get("additionalProperties").is_some(),
        example: json_body(place)?.need("example")?.object()?.clone(),
    })
}

fn read_path_parameter(place: &DocumentNode) -> Result<PathParameter, Faults> {
    let text = |keyword: &str| Ok(place.need(keyword)?.string()?.to_owned());
    let prefix = place.need("schema")?.get("pattern").map(|pattern| read_prefix(&pattern));
    Ok(PathParameter {
        name: text("name")?,
        description: text("description")?,
        prefix: prefix.transpose()?.map(str::to_owned),
        example: text("example")?,
    })
}

/// Reads a pattern for the start of a value, such as `^gen-2-`. Other patterns are not supported,
/// because the SDK does not contain an engine for regular expressions.
fn read_prefix<'a>(pattern: &DocumentNode<'a>) -> Result<&'a str, Faults> {
    let is_literal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match pattern.string()?.strip_prefix('^') {
        Some(prefix) if !prefix.is_empty() && prefix.chars().all(is_literal) => Ok(prefix),
        _ => Err(pattern.fault(
            "the only supported pattern is `^` and the start of the value, for example `^gen-2-`",
        )),
    }
}
