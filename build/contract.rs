//! Reads the operations of the document.

use serde_json::{Map, Value};

use super::{
    choice::{self, Choice},
    fault::Fault,
    field::{self, Field},
    name::camel_case,
    place::{METHODS, Place},
};

pub struct Contract {
    pub operations: Vec<Operation>,
    pub choices: Vec<Choice>,
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
    pub regional: bool,
    pub max_reference_images: Option<u64>,
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
    pub fields: Vec<Field>,
    /// The example body.
    pub example: Option<Map<String, Value>>,
}

pub struct PathParameter {
    pub name: String,
    pub description: String,
    pub example: Option<String>,
}

pub fn read(document: &Value) -> Result<Contract, Fault> {
    let root = Place::root(document);
    let version = root.need("openapi")?;
    if !version.string()?.starts_with("3.0.") {
        return Err(version.fault("expected an OpenAPI 3.0 document"));
    }
    let mut operations: Vec<Operation> = Vec::new();
    for (path, item) in root.need("paths")?.members()? {
        for (method, place) in item.members()? {
            if !METHODS.contains(&method) {
                continue;
            }
            let operation = read_operation(path, method, &place)?;
            if operations.iter().any(|other| other.id == operation.id) {
                return Err(place.fault(format!("the operationId `{}` occurs twice", operation.id)));
            }
            operations.push(operation);
        }
    }
    Ok(Contract { choices: choice::all(&operations)?, operations })
}

fn read_operation(path: &str, method: &str, place: &Place) -> Result<Operation, Fault> {
    let id = place.need("operationId")?;
    if syn::parse_str::<syn::Ident>(id.string()?).is_err() {
        return Err(id.fault("the operationId must be a Rust identifier, for example `gen_2_pro`"));
    }
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
    let text = |key: &str| place.get(key).map_or(Ok(""), |text| text.string());
    let region = place.get("x-region");
    if let Some(region) = &region
        && region.string()? != "regional"
    {
        return Err(region.fault("the only supported region is `regional`"));
    }
    let mut not_shown = read_not_shown(place)?;
    if submission.is_some() {
        // The operation and its request may list the same gap.
        let gaps = read_not_shown(&request_schema(place)?.resolved()?)?;
        let further: Vec<_> = gaps.into_iter().filter(|gap| !not_shown.contains(gap)).collect();
        not_shown.extend(further);
    }
    Ok(Operation {
        id: id.string()?.to_owned(),
        path: path.to_owned(),
        name: name.to_owned(),
        summary: place.need("summary")?.string()?.to_owned(),
        description: text("description")?.to_owned(),
        deprecated: place.flag("deprecated")?,
        regional: region.is_some(),
        max_reference_images: place
            .get("x-max-reference-images")
            .map(|count| count.count())
            .transpose()?,
        not_shown,
        submission,
    })
}

fn read_not_shown(place: &Place) -> Result<Vec<String>, Fault> {
    place.get("x-not-shown").map_or(Ok(Vec::new()), |list| list.strings())
}

fn request_schema<'a>(operation: &Place<'a>) -> Result<Place<'a>, Fault> {
    json_body(operation)?.need("schema")
}

fn json_body<'a>(operation: &Place<'a>) -> Result<Place<'a>, Fault> {
    operation.need("requestBody")?.need("content")?.need("application/json")
}

fn read_submission(name: &str, place: &Place) -> Result<Submission, Fault> {
    let schema = request_schema(place)?;
    let reference = schema.need("$ref")?;
    let schema_name =
        reference.string()?.strip_prefix("#/components/schemas/").ok_or_else(|| {
            reference.fault("a request body must refer to `#/components/schemas/...`")
        })?;
    let path_parameters = place
        .elements_of("parameters")?
        .iter()
        .map(read_path_parameter)
        .collect::<Result<_, _>>()?;
    let type_name = camel_case(name);
    if syn::parse_str::<syn::Ident>(&type_name).is_err() {
        return Err(place.fault(format!("`{name}` cannot be converted to a Rust type name")));
    }
    Ok(Submission {
        type_name,
        schema: schema_name.to_owned(),
        path_parameters,
        fields: field::read_all(&schema.resolved()?, schema_name)?,
        example: json_body(place)?
            .get("example")
            .map(|example| example.object().cloned())
            .transpose()?,
    })
}

fn read_path_parameter(place: &Place) -> Result<PathParameter, Fault> {
    if place.need("in")?.string()? != "path" {
        return Err(place.fault("the parameters of a submission must be path parameters"));
    }
    Ok(PathParameter {
        name: place.need("name")?.string()?.to_owned(),
        description: place.need("description")?.string()?.to_owned(),
        example: match place.get("example") {
            Some(example) => Some(example.string()?.to_owned()),
            None => None,
        },
    })
}
