//! The types of field values.

use super::{choice, fault::Fault, place::Place};

#[derive(PartialEq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    /// One of a fixed set of values. Fields that refer to the same schema share its type.
    Choice {
        values: Vec<String>,
        type_name: String,
        /// The description of the referenced schema.
        description: Option<String>,
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
    /// The contract does not define the type.
    Json,
}

#[derive(PartialEq, Clone, Copy)]
pub enum Encodings {
    Base64,
    Base64OrUrl,
    NotShown,
}

/// Reads the kind of the field at `place`. If the field has its own list of values, the type is
/// named `choice_name`.
pub fn read(place: &Place, choice_name: String) -> Result<Kind, Fault> {
    if let Some(all_of) = place.get("allOf") {
        return read_shared_choice(&all_of);
    }
    let Some(declared) = place.get("type") else { return Ok(Kind::Json) };
    match declared.string()? {
        "integer" => Ok(Kind::Integer),
        "number" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Boolean),
        "string" => read_text(place, choice_name),
        other => Err(declared.fault(format!("the generator does not support the type `{other}`"))),
    }
}

fn read_shared_choice(all_of: &Place) -> Result<Kind, Fault> {
    let elements = all_of.elements()?;
    let [only] = elements.as_slice() else { return Err(all_of.fault("expected one `$ref`")) };
    let reference = only.need("$ref")?;
    let schema = only.resolved()?;
    let type_name = reference.string()?.rsplit('/').next().unwrap_or_default();
    if syn::parse_str::<syn::Ident>(type_name).is_err() {
        return Err(reference.fault(format!("`{type_name}` is not a valid Rust type name")));
    }
    Ok(Kind::Choice {
        values: choice::read_values(&schema.need("enum")?)?,
        type_name: type_name.to_owned(),
        description: Some(schema.need("description")?.string()?.to_owned()),
    })
}

fn read_text(place: &Place, choice_name: String) -> Result<Kind, Fault> {
    if let Some(list) = place.get("enum") {
        let values = choice::read_values(&list)?;
        return Ok(Kind::Choice { values, type_name: choice_name, description: None });
    }
    if let Some(encodings) = place.get("x-image") {
        return read_image(place, &encodings);
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
                Err(format.fault(format!("the generator does not support the format `{other}`")))
            }
        };
    }
    Ok(if place.get("x-secret").is_some() { Kind::Secret } else { Kind::Text })
}

fn read_image(place: &Place, encodings: &Place) -> Result<Kind, Fault> {
    let mask_of = place.get("x-mask-of").map(|name| name.string().map(str::to_owned));
    let max_megapixels = place.get("x-max-megapixels").map(|limit| limit.number());
    let encodings = match encodings.string()? {
        "base64" => Encodings::Base64,
        "base64-or-url" => Encodings::Base64OrUrl,
        "not-shown" => Encodings::NotShown,
        other => {
            return Err(encodings.fault(format!(
                "expected `base64`, `base64-or-url` or `not-shown`, found `{other}`"
            )));
        }
    };
    Ok(Kind::Image {
        encodings,
        mask_of: mask_of.transpose()?,
        max_megapixels: max_megapixels.transpose()?,
    })
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
