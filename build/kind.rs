//! The types of values.

use super::{
    choice,
    document::DocumentNode,
    fault::Fault,
    field::{self, Field},
    frame,
};

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
        /// The mask and its image must have the same dimensions.
        same_size: bool,
        max_megapixels: Option<f64>,
    },
    AspectRatio {
        narrowest: (u32, u32),
        widest: (u32, u32),
    },
    Address,
    Secret,
    List(Box<Field>),
    Object(Object),
    /// The contract does not define the type.
    Json,
}

pub struct Object {
    pub type_name: String,
    /// The pointer of its schema.
    pub place: String,
    pub description: String,
    pub fields: Vec<Field>,
}

pub enum Encodings {
    Base64,
    Base64OrUrl,
    NotShown,
}

/// The keywords of every value.
const EVERY: [&str; 6] =
    ["type", "nullable", "description", "default", "x-default", "x-correction"];

const NUMBER: [&str; 3] = ["minimum", "maximum", "multipleOf"];

const LIST: [&str; 3] = ["items", "minItems", "maxItems"];

const IMAGE: [&str; 4] = ["x-image", "x-mask-of", "x-same-size", "x-max-megapixels"];

/// Reads the kind of the value at `place`. If it is defined there and needs a type, this is named
/// `type_name`.
pub fn read(place: &DocumentNode, type_name: &str) -> Result<Kind, Fault> {
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
            let mut item = field::read_value(&items, &format!("{type_name}Item"))?;
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
pub fn read_object(place: &DocumentNode, type_name: &str) -> Result<Kind, Fault> {
    let fields = field::read_all(place, type_name)?;
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

/// Clients in other languages would use 32 bits for an integer without a limit.
fn read_integer(place: &DocumentNode) -> Result<Kind, Fault> {
    let is_limited = place.get("minimum").is_some() || place.get("maximum").is_some();
    match place.get("format") {
        Some(format) if format.string()? != "int64" => Err(format.fault("expected `int64`")),
        Some(format) if is_limited => {
            Err(format.fault("remove the format: the limits define the range"))
        }
        None if !is_limited => Err(place.fault("an integer without limits needs `format: int64`")),
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
    let sides = place
        .string()?
        .split_once(':')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((width, height)) if width > 0 && height > 0 => Ok((width, height)),
        _ => Err(place.fault("expected a ratio such as `16:9`")),
    }
}
