//! The fields of requests and their limits.

use serde_json::Value;

use super::{
    choice,
    fault::Fault,
    kind::{self, Kind},
    place::Place,
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

#[derive(Default)]
pub struct Limits {
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub multiple_of: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
}

/// All supported keywords of a field. Any other keyword is an error, because a limit that is not
/// enforced would mislead readers of the document.
const KNOWN: [&str; 20] = [
    "type",
    "nullable",
    "description",
    "default",
    "x-default",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "format",
    "enum",
    "allOf",
    "x-image",
    "x-mask-of",
    "x-max-megapixels",
    "x-aspect-ratio",
    "x-secret",
    "x-address",
    "x-correction",
];

/// The names of generated methods. A field with such a name could not have a setter.
const TAKEN: [&str; 7] =
    ["new", "validate", "extra", "into_request", "references", "to_json", "from_json"];

/// Reads the fields of a request schema.
pub fn read_all(schema: &Place, schema_name: &str) -> Result<Vec<Field>, Fault> {
    let required = schema.get("required").map_or(Ok(Vec::new()), |list| list.strings())?;
    let Some(properties) = schema.get("properties") else { return Ok(Vec::new()) };
    let fields = properties
        .members()?
        .into_iter()
        .map(|(name, place)| {
            let is_required = required.iter().any(|known| known == name);
            read(schema_name, name, is_required, &place)
        })
        .collect::<Result<Vec<_>, _>>()?;
    for name in &required {
        if !fields.iter().any(|field| &field.name == name) {
            return Err(schema.fault(format!("`{name}` is required but is not a property")));
        }
    }
    for (name, place) in properties.members()? {
        if let Some(mask_of) = place.get("x-mask-of")
            && !fields.iter().any(|field| field.name == mask_of.value.as_str().unwrap_or_default())
        {
            return Err(mask_of.fault(format!("`{name}` masks a field that does not exist")));
        }
    }
    Ok(fields)
}

fn read(schema_name: &str, name: &str, required: bool, place: &Place) -> Result<Field, Fault> {
    if syn::parse_str::<syn::Ident>(name).is_err() || TAKEN.contains(&name) {
        return Err(place.fault(format!("`{name}` cannot be the name of a setter")));
    }
    for (keyword, keyword_place) in place.members()? {
        if !KNOWN.contains(&keyword) {
            return Err(keyword_place.fault(format!(
                "unsupported keyword `{keyword}`: add support for it to the generator, or remove it"
            )));
        }
    }
    Ok(Field {
        name: name.to_owned(),
        description: place.need("description")?.string()?.to_owned(),
        required,
        nullable: place.flag("nullable")?,
        kind: kind::read(place, choice::type_name(schema_name, name))?,
        default: place
            .get("default")
            .or_else(|| place.get("x-default"))
            .map(|default| default.value.clone()),
        limits: read_limits(place)?,
    })
}

fn read_limits(place: &Place) -> Result<Limits, Fault> {
    let number = |key: &str| place.get(key).map(|limit| limit.number()).transpose();
    let count = |key: &str| place.get(key).map(|limit| limit.count()).transpose();
    let limits = Limits {
        minimum: number("minimum")?,
        maximum: number("maximum")?,
        multiple_of: number("multipleOf")?,
        min_length: count("minLength")?,
        max_length: count("maxLength")?,
    };
    if let (Some(minimum), Some(maximum)) = (limits.minimum, limits.maximum)
        && minimum > maximum
    {
        return Err(
            place.fault(format!("the minimum {minimum} is greater than the maximum {maximum}"))
        );
    }
    if let Some(step) = limits.multiple_of
        && step <= 0.0
    {
        return Err(place.fault(format!("multipleOf is {step}; expected a positive number")));
    }
    Ok(limits)
}
