//! Reads the operations of the document.

use serde_json::{Map, Value};

use super::{
    document::DocumentNode,
    fault::Fault,
    field::{Field, Kind},
    fit, frame,
    name::{camel_case, is_camel_case, is_field_name, is_snake_case, snake_case},
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
    /// The largest image that the service takes as it is, in megapixels.
    pub max_input_megapixels: Option<u64>,
    /// The size to which it scales larger ones. Without it, they are refused.
    pub scaled_to_megapixels: Option<u64>,
    /// The fields that the service refuses.
    pub not_accepted: Vec<String>,
    pub not_shown: Vec<String>,
    /// The POST of a submission. `None` for polling.
    pub submission: Option<Submission>,
}

pub struct Submission {
    /// For example `GenPro11Ultra` for `gen-pro-1.1-ultra`.
    pub type_name: String,
    /// The name in `components.schemas`. Operations may share a schema.
    pub schema: String,
    pub path_parameters: Vec<PathParameter>,
    /// What the operation does with images (`x-kind`).
    pub kind: String,
    pub fields: Vec<Field>,
    /// What it needs, although the fields are optional.
    pub needs: Vec<Need>,
    /// Whether the schema says that there are fields which are not shown
    /// (`additionalProperties`).
    pub is_open: bool,
    /// The example body.
    pub example: Map<String, Value>,
}

pub struct PathParameter {
    pub name: String,
    pub description: String,
    /// The start of every value.
    pub prefix: Option<String>,
    pub example: String,
}

pub fn read(document: &Value) -> Result<Contract, Fault> {
    let root = DocumentNode::root(document);
    let version = root.need("openapi")?;
    if !version.string()?.starts_with("3.0.") {
        return Err(version.fault("expected an OpenAPI 3.0 document"));
    }
    frame::check(&root)?;
    let mut operations = Vec::new();
    for (path, item) in root.need("paths")?.members()? {
        for (method, place) in item.members()? {
            operations.push(read_operation(path, method, &place)?);
        }
    }
    frame::check_callbacks(&root)?;
    let responses = Responses::read(&root)?;
    check_roles(&root, &operations, &responses)?;
    let key_header = key_header(&root)?;
    let polling_path = polling_path(&root, &operations)?;
    Ok(Contract { key_header, polling_path, operations, responses })
}

/// Returns the name of the header of the only security scheme.
fn key_header(root: &DocumentNode) -> Result<String, Fault> {
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

fn polling_path(root: &DocumentNode, operations: &[Operation]) -> Result<String, Fault> {
    let mut polling = operations.iter().filter(|operation| operation.submission.is_none());
    match (polling.next(), polling.next()) {
        (Some(operation), None) => Ok(operation.path.clone()),
        _ => {
            Err(root.need("paths")?.fault("expected one operation with `get`, which polls a task"))
        }
    }
}

impl Contract {
    /// Fails if the document lacks something, or has something that nothing uses.
    pub fn check_complete(&self, document: &Value) -> Result<(), Fault> {
        let root = DocumentNode::root(document);
        self.responses.check_complete(&root)?;
        frame::check_components(&root)
    }
}

/// A schema of a request has a request type for each operation, so it cannot be in a response.
fn check_roles(
    root: &DocumentNode,
    operations: &[Operation],
    responses: &Responses,
) -> Result<(), Fault> {
    let mut submissions = operations.iter().filter_map(|operation| operation.submission.as_ref());
    let shared = submissions.find(|submission| responses.schemas.contains(&submission.schema));
    let Some(Submission { schema, .. }) = shared else { return Ok(()) };
    let schema = root.need("components")?.need("schemas")?.need(schema)?;
    Err(schema.fault("a request and a response cannot share a schema"))
}

fn read_operation(path: &str, method: &str, place: &DocumentNode) -> Result<Operation, Fault> {
    let name =
        path.strip_prefix("/v1/").ok_or_else(|| place.fault("a path must start with `/v1/`"))?;
    let id = place.need("operationId")?;
    let expected = snake_case(name);
    if id.string()? != expected {
        return Err(id.fault(format!("expected `{expected}`, like the path")));
    }
    if !is_snake_case(&expected) {
        return Err(id.fault(format!("`{expected}` is not a valid name in Rust")));
    }
    let submission = match method {
        "post" => Some(read_submission(name, place)?),
        "get" => {
            for parameter in place.elements_of("parameters")? {
                if parameter.need("name")?.value != "id" {
                    return Err(parameter.fault("the SDK polls with the parameter `id` only"));
                }
            }
            None
        }
        other => {
            return Err(
                place.fault(format!("`{other}` is not supported: use post to submit, get to poll"))
            );
        }
    };
    if place.need("responses")?.get("200").is_none() {
        return Err(place.need("responses")?.fault("`200` is missing"));
    }
    let mut not_shown = read_not_shown(place)?;
    if submission.is_some() {
        // The operation and its request may list the same gap.
        let gaps = read_not_shown(&request_schema(place)?.resolved()?)?;
        let further: Vec<_> = gaps.into_iter().filter(|gap| !not_shown.contains(gap)).collect();
        not_shown.extend(further);
    }
    let count = |keyword: &str| place.get(keyword).map(|count| count.count()).transpose();
    let operation = Operation {
        id: expected,
        path: path.to_owned(),
        name: name.to_owned(),
        summary: place.need("summary")?.string()?.to_owned(),
        description: place.need("description")?.string()?.to_owned(),
        deprecated: place.flag("deprecated")?,
        migrate_to: place.get("x-migrate-to").map_or(Ok(Vec::new()), |list| list.strings())?,
        regional: place.get("x-region").is_some(),
        max_reference_images: count("x-max-reference-images")?,
        max_input_megapixels: count("x-max-input-megapixels")?,
        scaled_to_megapixels: count("x-scaled-to-megapixels")?,
        not_accepted: place.get("x-not-accepted").map_or(Ok(Vec::new()), |list| list.strings())?,
        not_shown,
        submission,
    };
    check_uses(place, &operation)?;
    Ok(operation)
}

/// The most image fields with one name and numbers: `input_image`, `input_image_2`.
fn count_references(images: &[&str]) -> usize {
    let base =
        |name: &str| name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()).to_owned();
    let counts =
        images.iter().map(|name| images.iter().filter(|other| base(name) == base(other)).count());
    counts.max().unwrap_or_default()
}

/// Every fact about the images and fields of an operation has a field that it can be about.
fn check_uses(place: &DocumentNode, operation: &Operation) -> Result<(), Fault> {
    let submission = operation.submission.as_ref();
    let fields = submission.map_or(&[][..], |submission| &submission.fields);
    let is_open = submission.is_some_and(|submission| submission.is_open);
    let is_image = |field: &&Field| matches!(field.kind, Kind::Image { mask_of: None, .. });
    let images: Vec<_> = fields.iter().filter(is_image).map(|field| field.name.as_str()).collect();
    for keyword in ["x-kind", "x-needs", "x-not-accepted", "x-max-reference-images"] {
        if let (Some(fact), None) = (place.get(keyword), submission) {
            return Err(fact.fault("only a submission can have this"));
        }
    }
    let references = count_references(&images);
    if let Some(most) = operation.max_reference_images
        && most != references as u64
        && !(is_open && images.is_empty())
    {
        let message = format!("the request has {references} image fields, not {most}");
        return Err(place.need("x-max-reference-images")?.fault(message));
    }
    if let Some(most) = place.get("x-max-input-megapixels")
        && images.is_empty()
        && !is_open
    {
        return Err(most.fault("the request has no image field"));
    }
    if let (Some(scaled), None) =
        (place.get("x-scaled-to-megapixels"), operation.max_input_megapixels)
    {
        return Err(scaled.fault("`x-max-input-megapixels` is missing: which images are scaled?"));
    }
    for name in place.elements_of("x-not-accepted")? {
        if fields.iter().any(|field| name.value == field.name.as_str()) {
            return Err(name.fault("the request has a field with this name"));
        }
    }
    Ok(())
}

fn read_not_shown(place: &DocumentNode) -> Result<Vec<String>, Fault> {
    place.get("x-not-shown").map_or(Ok(Vec::new()), |list| list.strings())
}

fn request_schema<'a>(operation: &DocumentNode<'a>) -> Result<DocumentNode<'a>, Fault> {
    json_body(operation)?.need("schema")
}

fn json_body<'a>(operation: &DocumentNode<'a>) -> Result<DocumentNode<'a>, Fault> {
    operation.need("requestBody")?.need("content")?.need("application/json")
}

fn read_submission(name: &str, place: &DocumentNode) -> Result<Submission, Fault> {
    let schema = request_schema(place)?;
    let schema_name = frame::check_reference(&schema, "schemas")?;
    let target = schema.resolved()?;
    let type_name = camel_case(name);
    for name in [schema_name, type_name.as_str()] {
        if !is_camel_case(name) {
            return Err(schema.fault(format!("`{name}` is not a valid name of a Rust type")));
        }
    }
    if let Some(nullable) = target.get("nullable") {
        return Err(nullable.fault("a body cannot be null"));
    }
    let fields = request::read_fields(&target, schema_name)?;
    check_callback(place, &fields)?;
    let example = json_body(place)?.need("example")?;
    if let Err((inner, problem)) = fit::fit_body(&fields, example.object()?) {
        return Err(Fault::new(format!("{}{inner}", example.pointer()), problem));
    }
    let is_open = target.get("additionalProperties").is_some();
    for (name, value) in example.members()? {
        if !is_open && !fields.iter().any(|field| field.name == name) {
            return Err(value.fault("the request has no field with this name"));
        }
    }
    let path_parameters = place.elements_of("parameters")?;
    let path_parameters: Vec<_> = path_parameters
        .iter()
        .map(|one| read_path_parameter(one, &fields))
        .collect::<Result<_, _>>()?;
    Ok(Submission {
        kind: place.need("x-kind")?.string()?.to_owned(),
        needs: need::read(place, &fields, is_open)?,
        type_name,
        schema: schema_name.to_owned(),
        path_parameters,
        fields,
        is_open,
        example: example.object()?.clone(),
    })
}

/// An operation has the callback exactly if its request has a webhook URL.
fn check_callback(place: &DocumentNode, fields: &[Field]) -> Result<(), Fault> {
    let has_webhook = fields.iter().any(|field| field.name == "webhook_url");
    match (has_webhook, place.get("callbacks")) {
        (true, None) => Err(place.fault("`callbacks` is missing: the request has `webhook_url`")),
        (false, Some(callbacks)) => Err(callbacks.fault("the request has no `webhook_url`")),
        _ => Ok(()),
    }
}

fn read_path_parameter(place: &DocumentNode, fields: &[Field]) -> Result<PathParameter, Fault> {
    let location = place.need("in")?;
    if location.string()? != "path" {
        return Err(location.fault("the parameters of a submission must be path parameters"));
    }
    let name = place.need("name")?;
    if !is_snake_case(name.string()?) || !is_field_name(name.string()?) {
        return Err(name.fault("the name of a path parameter must be in snake case"));
    }
    // Both become members of the type of the request.
    let mut taken = fields.iter().map(|field| field.name.as_str()).chain(request::TAKEN);
    if taken.any(|taken| name.value == taken) {
        return Err(name.fault("a field or a method has this name"));
    }
    let schema = place.need("schema")?;
    let prefix = schema.get("pattern").map(|pattern| read_prefix(&pattern)).transpose()?;
    let example = place.need("example")?;
    if !example.string()?.starts_with(prefix.unwrap_or_default()) {
        return Err(example.fault("the example does not match the pattern"));
    }
    Ok(PathParameter {
        name: name.string()?.to_owned(),
        description: place.need("description")?.string()?.to_owned(),
        prefix: prefix.map(str::to_owned),
        example: example.string()?.to_owned(),
    })
}

/// Reads a pattern for the start of a value. The SDK has no engine for regular expressions.
fn read_prefix<'a>(pattern: &DocumentNode<'a>) -> Result<&'a str, Fault> {
    let is_literal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match pattern.string()?.strip_prefix('^') {
        Some(prefix) if !prefix.is_empty() && prefix.chars().all(is_literal) => Ok(prefix),
        _ => Err(pattern.fault(
            "the only supported pattern is `^` and the start of the value, for example `^gen-2-`",
        )),
    }
}
