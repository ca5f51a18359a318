//! The table of operations: what the contract says, for programs that work with all of them at
//! once.

use std::fmt;

use crate::Region;

/// An operation of the contract.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// Its `operationId`: `gen_2_pro`.
    pub id: &'static str,
    /// Its path behind `/v1/`, with the neutral prefix: `gen-2-pro`, `gen-tools/deblur-v1`.
    pub name: &'static str,
    /// Its path: `/v1/gen-2-pro`.
    pub path: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Whether it creates a task. Polling (`get_result`) does not.
    pub submits: bool,
    /// Deprecated, and in effect.
    pub deprecated: bool,
    /// Served from the regional base address.
    pub regional: bool,
    /// How many reference images it takes, where the contract says.
    pub max_reference_images: Option<u64>,
    /// Parameters in its path, such as `base_model`.
    pub path_parameters: &'static [PathParameter],
    /// The fields of its request that the contract shows.
    pub fields: &'static [Field],
    /// What the contract does not show of the operation.
    pub not_shown: &'static [&'static str],
    /// The body of the contract's example, as JSON text.
    pub(crate) example_json: Option<&'static str>,
}

/// A parameter in the path of an operation; always required.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct PathParameter {
    /// Its name: `base_model`.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// A value for example, if the contract has one.
    pub example: Option<&'static str>,
}

/// A field of a request.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Whether a request must have it.
    pub required: bool,
    /// Whether an explicit `null` may be sent.
    pub nullable: bool,
    /// What values it takes.
    pub kind: FieldKind,
    /// What the service takes where it is not sent, as JSON text.
    pub default: Option<&'static str>,
    /// Bounds of its value.
    pub limits: Limits,
    /// Bounds and default in words: `1.5 to 10; default 5`.
    pub limits_text: &'static str,
}

/// What values a field takes.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// One of a closed list.
    #[non_exhaustive]
    Choice {
        /// The list.
        values: &'static [&'static str],
    },
    /// An image.
    #[non_exhaustive]
    Image {
        /// How it may be given.
        encodings: ImageEncodings,
        /// The field whose image it masks; both have the same dimensions.
        mask_of: Option<&'static str>,
        /// Its largest area, in megapixels.
        max_megapixels: Option<f64>,
    },
    /// Width to height, such as `16:9`.
    #[non_exhaustive]
    AspectRatio {
        /// The narrowest ratio taken.
        narrowest: (u32, u32),
        /// The widest ratio taken.
        widest: (u32, u32),
    },
    /// An http or https address.
    Address,
    /// Text that is a secret.
    Secret,
    /// Any JSON: its type is not shown.
    Json,
}

/// How an image field may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageEncodings {
    /// As base64 data.
    Base64,
    /// As base64 data or as a URL.
    Base64OrUrl,
    /// The contract does not say.
    NotShown,
}

/// Bounds of a field's value; all inclusive.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The least number.
    pub minimum: Option<f64>,
    /// The largest number.
    pub maximum: Option<f64>,
    /// The number of which it is a multiple.
    pub multiple_of: Option<f64>,
    /// The least count of characters.
    pub min_length: Option<u64>,
    /// The largest count of characters.
    pub max_length: Option<u64>,
}

impl Operation {
    /// The region that serves it.
    pub fn region(&self) -> Region {
        if self.regional { Region::Regional } else { Region::Global }
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn has_image_field(&self, name: &str) -> bool {
        self.field(name).is_some_and(|field| matches!(field.kind, FieldKind::Image { .. }))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every operation of the contract, in the order of the document: 28 submissions and polling.
pub fn operations() -> &'static [Operation] {
    crate::generated::OPERATIONS
}

/// The operation of this name (`gen-2-pro`), path (`/v1/gen-2-pro`) or id (`gen_2_pro`).
pub fn find_operation(name: &str) -> Option<&'static Operation> {
    operations()
        .iter()
        .find(|operation| [operation.name, operation.path, operation.id].contains(&name))
}
