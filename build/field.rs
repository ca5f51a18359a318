//! The fields of requests, and the types of their values.

use serde_json::Value;

use super::limits::Limits;

pub struct Field {
    pub name: String,
    pub description: String,
    pub required: bool,
    pub nullable: bool,
    pub kind: Kind,
    pub default: Option<Value>,
    pub limits: Limits,
}

pub enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    /// One of a fixed set of values. Fields that refer to the same schema share an enum.
    Choice {
        values: Vec<String>,
        type_name: String,
        /// The description of the referenced schema.
        description: Option<String>,
    },
    Image {
        encodings: Encodings,
        mask_of: Option<String>,
        /// Whether the mask must have the same dimensions as its image.
        same_size: bool,
        max_megapixels: Option<f64>,
    },
    AspectRatio {
        narrowest: (u32, u32),
        widest: (u32, u32),
    },
    Address,
    Secret,
    /// Any JSON value, because the contract does not define the type.
    Json,
}

/// Reads a ratio of width to height, such as `16:9`.
pub fn ratio(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(':')?;
    let sides = (width.parse().ok()?, height.parse().ok()?);
    (sides.0 > 0 && sides.1 > 0).then_some(sides)
}

pub enum Encodings {
    Base64,
    Base64OrUrl,
    NotShown,
}
