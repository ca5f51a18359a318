//! Reads the schemas of requests: their fields and limits, at every depth.

use super::{
    choice,
    document::DocumentNode,
    fault::Fault,
    field::{Encodings, Field, Kind, Object, ratio},
    fit::fit,
    frame,
    limits::{self, INT64},
    name::{camel_case, is_camel_case, is_field_name, member_name},
};

/// An object with fields: the body of a request, or a value in it.
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

/// Reads the fields of the object schema at `schema`. Types that it defines inline have names that
/// start with `type_name`.
pub fn read_fields(schema: &DocumentNode, type_name: &str) -> Result<Vec<Field>, Fault> {
    // A schema can also contain itself through `allOf`, which is not a reference from a field.
    schema.must_not_recur()?;
    frame::known(schema, "the schema of a request", OBJECT.into_iter())?;
    let declared = schema.need("type")?;
    if declared.string()? != "object" {
        return Err(declared.fault("expected `object`"));
    }
    schema.need("description")?.text()?;
    frame::check_notes(schema)?;
    if let Some(other) = schema.get("additionalProperties")
        && !other.boolean()?
    {
        return Err(other.fault("the SDK sends fields that the document does not define"));
    }
    let mut fields = Vec::new();
    for part in schema.elements_of("allOf")? {
        fields.extend(read_fields(&part.resolved()?, type_name)?);
    }
    for (name, place) in schema.members_of("properties")? {
        let field = read_field(name, &place, &format!("{type_name}{}", camel_case(name)))?;
        fields.push(field);
    }
    for (index, field) in fields.iter().enumerate() {
        let member = member_name(&field.name);
        if fields.iter().take(index).any(|other| member_name(&other.name) == member) {
            return Err(schema.fault(format!("`{}` is defined twice", field.name)));
        }
    }
    mark_required(schema, &mut fields)?;
    check_masks(schema, &fields)?;
    Ok(fields)
}

fn mark_required(schema: &DocumentNode, fields: &mut [Field]) -> Result<(), Fault> {
    for element in schema.elements_of("required")? {
        let name = element.string()?;
        let Some(field) = fields.iter_mut().find(|field| field.name == name) else {
            return Err(element.fault(format!("`{name}` is required but is not a property")));
        };
        if std::mem::replace(&mut field.required, true) {
            return Err(element.fault(format!("`{name}` occurs twice")));
        }
    }
    Ok(())
}

fn check_masks(schema: &DocumentNode, fields: &[Field]) -> Result<(), Fault> {
    for field in fields {
        let Kind::Image { mask_of: Some(masked), .. } = &field.kind else { continue };
        let is_image = |other: &Field| matches!(other.kind, Kind::Image { mask_of: None, .. });
        if !fields.iter().any(|other| &other.name == masked && is_image(other)) {
            let place = schema.need("properties")?.need(&field.name)?.need("x-mask-of")?;
            return Err(place.fault(format!("`{masked}` is not an image field")));
        }
    }
    Ok(())
}

fn read_field(name: &str, place: &DocumentNode, type_name: &str) -> Result<Field, Fault> {
    if !is_field_name(name) {
        return Err(place.fault(format!("`{name}` is not a name in snake case")));
    }
    if TAKEN.contains(&name) {
        return Err(place.fault(format!("`{name}` is the name of another method")));
    }
    let description = place.need("description")?.text()?.to_owned();
    let field = Field { name: name.to_owned(), description, ..read_value(place, type_name)? };
    check_default(place, &field)?;
    Ok(field)
}

/// A default outside its own bounds is written as `x-default`, with a correction.
fn check_default(place: &DocumentNode, field: &Field) -> Result<(), Fault> {
    if let Some(default) = place.get("default") {
        fit(field, default.value).map_err(|problem| default.fault(problem))?;
    }
    let Some(default) = place.get("x-default") else { return Ok(()) };
    if fit(field, default.value).is_ok() {
        return Err(default.fault("this default fits the field: use `default`"));
    }
    if place.get("default").is_some() {
        return Err(default.fault("this field has two defaults"));
    }
    place.need("x-correction").map(|_| ())
}

/// Reads the schema of a value, which has no name: a field without its name, or an item of a list.
fn read_value(place: &DocumentNode, type_name: &str) -> Result<Field, Fault> {
    frame::check_notes(place)?;
    if let Some(nullable) = place.get("nullable") {
        nullable.must_be_true()?;
    }
    let (kind, target) = match find_reference(place)? {
        Some(reference) => (read_reference(&reference)?, reference.target),
        None => (read_kind(place, type_name)?, *place),
    };
    Ok(Field {
        name: String::new(),
        description: String::new(),
        required: false,
        nullable: target.flag("nullable")?,
        kind,
        default: place
            .get("default")
            .or_else(|| place.get("x-default"))
            .map(|default| default.value.clone()),
        limits: limits::read(&target)?,
    })
}

/// The keywords of every value.
const EVERY: [&str; 6] =
    ["type", "nullable", "description", "default", "x-default", "x-correction"];

const NUMBER: [&str; 3] = ["minimum", "maximum", "multipleOf"];

const LIST: [&str; 3] = ["items", "minItems", "maxItems"];

const IMAGE: [&str; 4] = ["x-image", "x-mask-of", "x-same-size", "x-max-megapixels"];

/// Reads the kind of the value at `place`. If it is defined there and needs a type, this is named
/// `type_name`.
fn read_kind(place: &DocumentNode, type_name: &str) -> Result<Kind, Fault> {
    let Some(declared) = place.get("type") else {
        frame::known(place, "a field without a type", ["description", "x-correction"].into_iter())?;
        return Ok(Kind::Json);
    };
    let known = |kind: &str, further: &[&str]| {
        frame::known(place, kind, EVERY.iter().chain(further).copied())
    };
    match declared.string()? {
        "integer" => {
            known("an integer", &[&NUMBER[..], &["format"]].concat())?;
            read_integer(place)
        }
        "number" => known("a number", &NUMBER).map(|()| Kind::Number),
        "boolean" => known("a boolean", &[]).map(|()| Kind::Boolean),
        "string" => read_text(place, type_name),
        "array" => {
            known("an array", &LIST)?;
            let items = place.need("items")?;
            let mut item = read_value(&items, &format!("{type_name}Item"))?;
            // The items need no description of their own.
            if let Some(text) = items.get("description").or_else(|| place.get("description")) {
                item.description = text.text()?.to_owned();
            }
            match &item.kind {
                Kind::Secret => Err(items.fault("a list cannot contain secrets")),
                Kind::Image { mask_of: Some(_), .. } => {
                    Err(items.fault("a list cannot contain masks of other fields"))
                }
                _ if item.default.is_some() => Err(items.fault("an item cannot have a default")),
                _ => Ok(Kind::List(Box::new(item))),
            }
        }
        "object" => read_object(place, type_name),
        other => Err(declared.fault(format!("unsupported type `{other}`"))),
    }
}

/// Reads an object in a request. Its type is named `type_name`.
fn read_object(place: &DocumentNode, type_name: &str) -> Result<Kind, Fault> {
    let fields = read_fields(place, type_name)?;
    // Only the fields of the request itself are redacted and not stored.
    if let Some(secret) = fields.iter().find(|field| matches!(field.kind, Kind::Secret)) {
        let message = format!("`{}` cannot be a secret within an object", secret.name);
        return Err(place.fault(message));
    }
    Ok(Kind::Object(Object {
        type_name: type_name.to_owned(),
        place: place.pointer(),
        description: place.need("description")?.text()?.to_owned(),
        fields,
    }))
}

/// An integer without limits has those of 64 bits: clients in other languages would use 32 bits
/// without the format, and validators don't know the format.
fn read_integer(place: &DocumentNode) -> Result<Kind, Fault> {
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

fn read_text(place: &DocumentNode, type_name: &str) -> Result<Kind, Fault> {
    let known = |kind: &str, further: &[&str]| {
        frame::known(place, kind, EVERY.iter().chain(further).copied())
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
        frame::known(&ratio, "the limits of an aspect ratio", ["min", "max"].into_iter())?;
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

fn read_image(place: &DocumentNode, encodings: &DocumentNode) -> Result<Kind, Fault> {
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

fn read_ratio(place: &DocumentNode) -> Result<(u32, u32), Fault> {
    ratio(place.string()?).ok_or_else(|| place.fault("expected a ratio such as `16:9`"))
}

/// The keywords beside `allOf`, which is the only form of a reference with a description.
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
fn find_reference<'a>(place: &DocumentNode<'a>) -> Result<Option<Reference<'a>>, Fault> {
    let holder = match place.get("allOf") {
        Some(all_of) => {
            frame::known(place, "a field that refers to a schema", WITH_DESCRIPTION.into_iter())?;
            match all_of.elements()?.as_slice() {
                [only] => *only,
                _ => return Err(all_of.fault("expected one `$ref`")),
            }
        }
        None if place.get("$ref").is_some() => *place,
        None => return Ok(None),
    };
    let name = frame::check_reference(&holder, "schemas")?.to_owned();
    let reference = holder.need("$ref")?;
    if !is_camel_case(&name) {
        return Err(reference.fault(format!("`{name}` is not a valid name of a Rust type")));
    }
    Ok(Some(Reference { name, place: reference, target: holder.resolved()? }))
}

/// Reads the kind of the value that the component describes.
fn read_reference(reference: &Reference) -> Result<Kind, Fault> {
    let Reference { name, place, target } = reference;
    target.must_not_recur()?;
    let declared = target.need("type")?;
    match declared.string()? {
        "string" => choice::read_component(name, target),
        "object" => read_object(target, name),
        "array" | "boolean" | "integer" | "number" => {
            Err(place
                .fault("expected an enum or an object: describe other values in the field itself"))
        }
        other => Err(declared.fault(format!("unsupported type `{other}`"))),
    }
}
