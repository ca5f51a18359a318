//! Reads the schemas of requests: their fields and limits.

use super::{
    choice,
    document::DocumentNode,
    faults::{Faults, all},
    field::{Encodings, Field, Kind, ratio},
    limits::{self, INT64},
    name::{camel_case, is_camel_case, is_field_name, member_name},
};

/// The keywords of the schema of a request body.
const OBJECT: [&str; 9] = [
    "type",
    "nullable",
    "description",
    "required",
    "properties",
    "additionalProperties",
    "allOf",
    "x-not-shown",
    "x-correction",
];

/// The names of generated methods. A field with such a name could not have a setter.
pub const TAKEN: [&str; 6] = ["new", "validate", "extra", "into_request", "to_json", "from_json"];

/// Reads the fields of an object schema. The names of types that the schema defines inline start
/// with `type_name`.
pub fn read_fields(schema: &DocumentNode, type_name: &str) -> Result<Vec<Field>, Faults> {
    // Detect a schema that contains itself through `allOf`, which would recur forever.
    schema.must_not_recur()?;
    schema.must_have_only("the schema of a request", OBJECT)?;
    let declared = schema.need("type")?;
    if declared.string()? != "object" {
        return Err(declared.fault("expected `object`"));
    }
    // The description is required, because it becomes the documentation of the type.
    schema.need("description")?.text()?;
    if let Some(other) = schema.get("additionalProperties")
        && !other.boolean()?
    {
        return Err(other.fault("the SDK sends fields that the document does not define"));
    }
    let mut fields = Vec::new();
    for part in schema.elements_of("allOf")? {
        fields.extend(read_fields(&part.resolved()?, type_name)?);
    }
    let properties = schema.members_of("properties")?;
    fields.extend(all(properties.iter().map(|(name, place)| {
        read_field(name, place, &format!("{type_name}{}", camel_case(name)))
    }))?);
    for (index, field) in fields.iter().enumerate() {
        let member = member_name(&field.name);
        if fields.iter().take(index).any(|other| member_name(&other.name) == member) {
            return Err(schema.fault(format!("`{}` is defined twice", field.name)));
        }
    }
    for element in schema.elements_of("required")? {
        let name = element.string()?;
        let Some(field) = fields.iter_mut().find(|field| field.name == name) else {
            return Err(element.fault(format!("`{name}` is required but is not a property")));
        };
        if std::mem::replace(&mut field.required, true) {
            return Err(element.fault(format!("`{name}` occurs twice")));
        }
    }
    Ok(fields)
}

fn read_field(name: &str, place: &DocumentNode, type_name: &str) -> Result<Field, Faults> {
    if !is_field_name(name) {
        return Err(place.fault(format!("`{name}` is not a name in snake case")));
    }
    if TAKEN.contains(&name) {
        return Err(place.fault(format!("`{name}` is the name of another method")));
    }
    let description = place.need("description")?.text()?.to_owned();
    if let Some(nullable) = place.get("nullable") {
        nullable.must_be_true()?;
    }
    let (kind, target) = match find_reference(place)? {
        Some(reference) => (read_reference(&reference)?, reference.target),
        None => (read_kind(place, type_name)?, *place),
    };
    Ok(Field {
        name: name.to_owned(),
        description,
        required: false,
        nullable: target.flag("nullable")?,
        kind,
        // The contract writes a default that violates the limits of its field as `x-default`.
        default: place
            .get("default")
            .or_else(|| place.get("x-default"))
            .map(|default| default.value.clone()),
        limits: limits::read(&target)?,
    })
}

/// The keywords that every value may have.
const EVERY: [&str; 6] =
    ["type", "nullable", "description", "default", "x-default", "x-correction"];

const NUMBER: [&str; 3] = ["minimum", "maximum", "multipleOf"];

const IMAGE: [&str; 4] = ["x-image", "x-mask-of", "x-same-size", "x-max-megapixels"];

/// Reads the kind of the value that the schema at `place` defines. If the value needs a generated
/// type, the type is named `type_name`.
fn read_kind(place: &DocumentNode, type_name: &str) -> Result<Kind, Faults> {
    let Some(declared) = place.get("type") else {
        place.must_have_only("a field without a type", ["description", "x-correction"])?;
        return Ok(Kind::Json);
    };
    let known = |kind: &str, further: &[&str]| {
        place.must_have_only(kind, EVERY.iter().chain(further).copied())
    };
    match declared.string()? {
        "integer" => {
            known("an integer", &[&NUMBER[..], &["format"]].concat())?;
            read_integer(place)
        }
        "number" => known("a number", &NUMBER).map(|()| Kind::Number),
        "boolean" => known("a boolean", &[]).map(|()| Kind::Boolean),
        "string" => read_text(place, type_name),
        other => Err(declared.fault(format!("unsupported type `{other}`"))),
    }
}

/// Reads an integer. If the contract defines no limits for it, it must have both the format `int64`
/// and the bounds of 64 bits: without the format, generators for other languages would use 32 bits,
/// and validators ignore the format.
fn read_integer(place: &DocumentNode) -> Result<Kind, Faults> {
    let bound = |key: &str| place.get(key).map(|bound| bound.value.as_i64());
    let bounds = (bound("minimum"), bound("maximum"));
    match place.get("format") {
        Some(format) if format.string()? != INT64 => Err(format.fault("expected `int64`")),
        Some(format) if bounds != (Some(Some(i64::MIN)), Some(Some(i64::MAX))) => {
            let (least, most) = (i64::MIN, i64::MAX);
            Err(format.fault(format!(
                "an integer with this format needs `minimum: {least}` and `maximum: {most}`; \
                 remove the format if it has other limits"
            )))
        }
        None if bounds == (None, None) => {
            Err(place.fault("an integer without limits needs `format: int64` and its bounds"))
        }
        _ => Ok(Kind::Integer),
    }
}

fn read_text(place: &DocumentNode, type_name: &str) -> Result<Kind, Faults> {
    let known = |kind: &str, further: &[&str]| {
        place.must_have_only(kind, EVERY.iter().chain(further).copied())
    };
    if place.get("enum").is_some() {
        known("a string with an enum", &["enum"])?;
        let values = choice::read_values(place)?;
        return Ok(Kind::Choice { values, type_name: type_name.to_owned(), description: None });
    }
    if let Some(encodings) = place.get("x-image") {
        known("an image", &IMAGE)?;
        return read_image(place, &encodings);
    }
    if let Some(ratio) = place.get("x-aspect-ratio") {
        known("an aspect ratio", &["x-aspect-ratio"])?;
        ratio.must_have_only("the limits of an aspect ratio", ["min", "max"])?;
        return Ok(Kind::AspectRatio {
            narrowest: read_ratio(&ratio.need("min")?)?,
            widest: read_ratio(&ratio.need("max")?)?,
        });
    }
    if let Some(secret) = place.get("x-secret") {
        known("a secret", &["x-secret"])?;
        secret.must_be_true()?;
        return Ok(Kind::Secret);
    }
    known("a string", &["format", "minLength", "maxLength"])?;
    match place.get("format") {
        Some(format) if format.string()? == "uri" => Ok(Kind::Address),
        Some(format) => Err(format.fault("the only supported format is `uri`")),
        None => Ok(Kind::Text),
    }
}

fn read_image(place: &DocumentNode, encodings: &DocumentNode) -> Result<Kind, Faults> {
    let mask_of = place.get("x-mask-of").map(|name| name.text().map(str::to_owned));
    let same_size = place.get("x-same-size");
    if let Some(flag) = &same_size {
        flag.must_be_true()?;
        if mask_of.is_none() {
            return Err(flag.fault("only a mask (`x-mask-of`) can have the size of its image"));
        }
    }
    let max_megapixels = place.get("x-max-megapixels").map(|limit| limit.number());
    let encodings = match encodings.string()? {
        "base64" => Encodings::Base64,
        "base64-or-url" => Encodings::Base64OrUrl,
        "not-shown" => Encodings::NotShown,
        _ => return Err(encodings.fault("expected `base64`, `base64-or-url` or `not-shown`")),
    };
    Ok(Kind::Image {
        encodings,
        mask_of: mask_of.transpose()?,
        same_size: same_size.is_some(),
        max_megapixels: max_megapixels.transpose()?,
    })
}

fn read_ratio(place: &DocumentNode) -> Result<(u32, u32), Faults> {
    ratio(place.string()?).ok_or_else(|| place.fault("expected a ratio such as `16:9`"))
}

/// The keywords of a reference with a description, which OpenAPI 3.0 can only express with `allOf`.
const WITH_DESCRIPTION: [&str; 5] =
    ["allOf", "description", "default", "x-default", "x-correction"];

/// A reference from the value of a field to a component.
struct Reference<'a> {
    /// The name of the component, which is the name of its type.
    name: String,
    place: DocumentNode<'a>,
    target: DocumentNode<'a>,
}

/// Returns what the schema at `place` refers to, if it is a reference: `$ref`, or `allOf` with a
/// single `$ref`.
fn find_reference<'a>(place: &DocumentNode<'a>) -> Result<Option<Reference<'a>>, Faults> {
    let holder = match place.get("allOf") {
        Some(all_of) => {
            place.must_have_only("a field that refers to a schema", WITH_DESCRIPTION)?;
            match all_of.elements()?.as_slice() {
                [only] => *only,
                _ => return Err(all_of.fault("expected one `$ref`")),
            }
        }
        None if place.get("$ref").is_some() => *place,
        None => return Ok(None),
    };
    let name = holder.component("schemas")?.to_owned();
    let reference = holder.need("$ref")?;
    if !is_camel_case(&name) {
        return Err(reference.fault(format!("`{name}` is not a valid name of a Rust type")));
    }
    Ok(Some(Reference { name, place: reference, target: holder.resolved()? }))
}

/// Reads the kind of the value that the referenced component describes.
fn read_reference(reference: &Reference) -> Result<Kind, Faults> {
    let Reference { name, place, target } = reference;
    if target.need("type")?.string()? == "string" {
        choice::read_component(name, target)
    } else {
        Err(place.fault("expected an enum: describe other values in the field itself"))
    }
}
