//! The fields of requests and their limits, at every depth.

use serde_json::Value;

use super::{
    document::DocumentNode,
    fault::Fault,
    fit::fit,
    frame,
    kind::{self, Kind},
    limits::{self, Limits},
    name::{camel_case, is_field_name, member_name},
    reference,
};

pub struct Field {
    pub name: String,
    pub description: String,
    pub required: bool,
    pub nullable: bool,
    pub kind: Kind,
    pub default: Option<Value>,
    pub limits: Limits,
}

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
pub fn read_all(schema: &DocumentNode, type_name: &str) -> Result<Vec<Field>, Fault> {
    // By `allOf`, which is not a reference from a field.
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
        fields.extend(read_all(&part.resolved()?, type_name)?);
    }
    for (name, place) in schema.members_of("properties")? {
        let field = read(name, &place, &format!("{type_name}{}", camel_case(name)))?;
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

fn read(name: &str, place: &DocumentNode, type_name: &str) -> Result<Field, Fault> {
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
pub fn read_value(place: &DocumentNode, type_name: &str) -> Result<Field, Fault> {
    frame::check_notes(place)?;
    if let Some(nullable) = place.get("nullable") {
        nullable.must_be_true()?;
    }
    let (kind, target) = match reference::target(place)? {
        Some(reference) => (reference::read(&reference)?, reference.target),
        None => (kind::read(place, type_name)?, *place),
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
