//! A field of a request: its kind and its limits.

use serde_json::Value;

use super::fault::{Fault, Place};

pub struct Field {
    pub name: String,
    pub description: String,
    pub required: bool,
    pub nullable: bool,
    pub kind: Kind,
    pub default: Option<Value>,
    pub limits: Limits,
}

#[derive(PartialEq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    /// One of a closed list, with the name of the hand-written type where there is one.
    Choice {
        values: Vec<String>,
        shared_type: Option<String>,
    },
    Image {
        encodings: Encodings,
        mask_of: Option<String>,
        max_megapixels: Option<f64>,
    },
    AspectRatio {
        narrowest: (u32, u32),
        widest: (u32, u32),
    },
    Address,
    Secret,
    /// The type is not shown.
    Json,
}

#[derive(PartialEq, Clone, Copy)]
pub enum Encodings {
    Base64,
    Base64OrUrl,
    NotShown,
}

#[derive(Default)]
pub struct Limits {
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub multiple_of: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
}

/// Every keyword that a field may have. Another one is a fault: what we do not know, we do not
/// enforce, and a limit of the document that is not enforced would be a lie.
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

/// Methods of our own on every request type; a field of the same name could not have its setter.
const TAKEN: [&str; 4] = ["new", "validate", "extra", "into_request"];

pub fn read_all(root: &Place, schema: &Place) -> Result<Vec<Field>, Fault> {
    let required = schema.get("required").map_or(Ok(Vec::new()), |list| list.strings())?;
    let Some(properties) = schema.get("properties") else { return Ok(Vec::new()) };
    let fields = properties
        .members()?
        .into_iter()
        .map(|(name, place)| read(root, name, required.iter().any(|known| known == name), &place))
        .collect::<Result<Vec<_>, _>>()?;
    for name in &required {
        if !fields.iter().any(|field| &field.name == name) {
            return Err(schema.fault(format!("`{name}` is required and not among the properties")));
        }
    }
    for (name, place) in properties.members()? {
        if let Some(mask_of) = place.get("x-mask-of")
            && !fields.iter().any(|field| field.name == mask_of.value.as_str().unwrap_or_default())
        {
            return Err(
                mask_of.fault(format!("`{name}` masks a field that the schema does not have"))
            );
        }
    }
    Ok(fields)
}

fn read(root: &Place, name: &str, required: bool, place: &Place) -> Result<Field, Fault> {
    if syn::parse_str::<syn::Ident>(name).is_err() || TAKEN.contains(&name) {
        return Err(place.fault(format!("`{name}` can't be the name of a setter")));
    }
    for (keyword, keyword_place) in place.members()? {
        if !KNOWN.contains(&keyword) {
            return Err(keyword_place.fault(format!(
                "`{keyword}` is not known to the generator; teach it, or it would not be enforced"
            )));
        }
    }
    let number = |key: &str| place.get(key).map(|limit| limit.number()).transpose();
    let count = |key: &str| place.get(key).map(|limit| limit.count()).transpose();
    let kind = read_kind(root, place)?;
    let field = Field {
        name: name.to_owned(),
        description: place.need("description")?.string()?.to_owned(),
        required,
        nullable: place.get("nullable").map_or(Ok(false), |flag| flag.boolean())?,
        default: place
            .get("default")
            .or_else(|| place.get("x-default"))
            .map(|default| default.value.clone()),
        limits: Limits {
            minimum: number("minimum")?,
            maximum: number("maximum")?,
            multiple_of: number("multipleOf")?,
            min_length: count("minLength")?,
            max_length: count("maxLength")?,
        },
        kind,
    };
    if let (Some(minimum), Some(maximum)) = (field.limits.minimum, field.limits.maximum)
        && minimum > maximum
    {
        return Err(place.fault(format!("the minimum {minimum} is above the maximum {maximum}")));
    }
    if let Some(step) = field.limits.multiple_of
        && step <= 0.0
    {
        return Err(place.fault(format!("multipleOf is {step}; expected a number above 0")));
    }
    Ok(field)
}

fn read_kind(root: &Place, place: &Place) -> Result<Kind, Fault> {
    if let Some(all_of) = place.get("allOf") {
        let elements = all_of.elements()?;
        let [only] = elements.as_slice() else { return Err(all_of.fault("expected one `$ref`")) };
        let shared_type =
            only.need("$ref")?.string()?.rsplit('/').next().unwrap_or_default().to_owned();
        let values = only.resolve(root)?.need("enum")?.strings()?;
        return Ok(Kind::Choice { values, shared_type: Some(shared_type) });
    }
    let Some(declared) = place.get("type") else { return Ok(Kind::Json) };
    match declared.string()? {
        "integer" => Ok(Kind::Integer),
        "number" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Boolean),
        "string" => read_text_kind(place),
        other => {
            Err(declared.fault(format!("fields of type `{other}` are not known to the generator")))
        }
    }
}

fn read_text_kind(place: &Place) -> Result<Kind, Fault> {
    if let Some(values) = place.get("enum") {
        return Ok(Kind::Choice { values: values.strings()?, shared_type: None });
    }
    if let Some(image) = place.get("x-image") {
        let encodings = match image.string()? {
            "base64" => Encodings::Base64,
            "base64-or-url" => Encodings::Base64OrUrl,
            "not-shown" => Encodings::NotShown,
            other => {
                return Err(image.fault(format!(
                    "`{other}` is none of `base64`, `base64-or-url`, `not-shown`"
                )));
            }
        };
        let mask_of =
            place.get("x-mask-of").map(|name| name.string().map(str::to_owned)).transpose()?;
        let max_megapixels =
            place.get("x-max-megapixels").map(|limit| limit.number()).transpose()?;
        return Ok(Kind::Image { encodings, mask_of, max_megapixels });
    }
    if let Some(ratio) = place.get("x-aspect-ratio") {
        return Ok(Kind::AspectRatio {
            narrowest: read_ratio(&ratio.need("min")?)?,
            widest: read_ratio(&ratio.need("max")?)?,
        });
    }
    if let Some(format) = place.get("format") {
        return match format.string()? {
            "uri" => Ok(Kind::Address),
            other => {
                Err(format.fault(format!("the format `{other}` is not known to the generator")))
            }
        };
    }
    if place.get("x-secret").is_some() {
        return Ok(Kind::Secret);
    }
    Ok(Kind::Text)
}

fn read_ratio(place: &Place) -> Result<(u32, u32), Fault> {
    let sides = place
        .string()?
        .split_once(':')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((width, height)) if width > 0 && height > 0 => Ok((width, height)),
        _ => Err(place.fault("expected a ratio such as `16:9`")),
    }
}
