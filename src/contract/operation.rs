//! The table of operations, for programs that work with operations that they only know at run time.

use std::fmt;

use serde_json::Value;

use crate::Region;

/// An operation of the contract.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// The `operationId`, for example `gen_2_pro`.
    pub id: &'static str,
    /// The path after `/v1/` with the neutral model prefix, for example `gen-2-pro` or
    /// `gen-tools/deblur-v1`.
    pub name: &'static str,
    /// The path, for example `/v1/gen-2-pro`.
    pub path: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// The full description.
    pub description: &'static str,
    /// Whether the operation creates a task. `false` for polling (`get_result`).
    pub submits: bool,
    /// What the operation does with images. `None` for polling.
    pub kind: Option<OperationKind>,
    /// What a submission needs for a useful result, although the contract leaves the fields
    /// optional. The SDK does not check this, because the contract does not show which of these
    /// fields the service requires. For `kiln`.
    #[doc(hidden)]
    pub needs: &'static [Need],
    /// Whether the operation is deprecated. Deprecated operations still work.
    pub deprecated: bool,
    /// The region that serves the operation.
    pub region: Region,
    /// The maximum number of reference images, if the contract defines it.
    pub max_reference_images: Option<u64>,
    /// The maximum size of an input image that the service does not scale, in megapixels, if the
    /// contract defines it.
    pub max_input_megapixels: Option<u64>,
    /// The size to which the service scales larger images, in megapixels. `None` means that the
    /// service refuses larger images.
    pub scaled_to_megapixels: Option<u64>,
    /// The fields that the service refuses for this operation.
    pub(crate) not_accepted: &'static [&'static str],
    /// The path parameters, such as `base_model`.
    pub path_parameters: &'static [PathParameter],
    /// The request fields that the contract defines.
    pub fields: &'static [Field],
    /// Whether `fields` are all fields of the operation. If not, the service accepts further
    /// fields, which the contract does not show.
    pub all_fields_shown: bool,
    /// Facts about the operation that the contract does not define.
    pub not_shown: &'static [&'static str],
    /// The body of the example request in the contract, as JSON.
    pub(crate) example_json: Option<&'static str>,
}

/// What an operation does with images (`x-kind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationKind {
    /// Makes a picture from text, from references, or from an image prompt.
    Create,
    /// Repaints the masked part of an image.
    Fill,
    /// Adds pixels to the sides of an image.
    Expand,
    /// Follows the depth of a control image.
    Depth,
    /// Follows the edges of a control image.
    Canny,
    /// Sharpens an image.
    Deblur,
    /// Removes the masked content from an image.
    Erase,
    /// Shows a person with garments.
    TryOn,
    /// Extends an image to a size.
    Outpaint,
    /// Makes a video.
    Video,
    /// Trains a model. Part of the deprecated finetuning API.
    Finetune,
}

/// A condition that a submission must meet for a useful result, and the reason (`x-needs`).
///
/// For `kiln`.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct Need {
    /// The condition.
    pub kind: NeedKind,
    /// The reason, as a part of a sentence, for example `a person and a garment`.
    pub why: &'static str,
}

/// A condition that a submission must meet for a useful result.
///
/// For `kiln`.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum NeedKind {
    /// At least one of these fields.
    #[non_exhaustive]
    AnyOf {
        /// The names of the fields.
        fields: &'static [&'static str],
        /// The image field whose alpha channel replaces these fields, if there is one.
        unless_alpha_in: Option<&'static str>,
    },
    /// Images, in any fields.
    #[non_exhaustive]
    Images {
        /// The minimum number of images.
        count: u64,
    },
}

/// A path parameter of an operation. Path parameters are always required.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct PathParameter {
    /// The name, for example `base_model`.
    pub name: &'static str,
    /// The description.
    pub description: &'static str,
    /// The text with which every value starts, if the contract defines it (`pattern`).
    pub prefix: Option<&'static str>,
    /// An example value.
    pub example: &'static str,
}

/// A request field.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The description.
    pub description: &'static str,
    /// Whether the field is required.
    pub required: bool,
    /// Whether the field accepts an explicit `null`.
    pub nullable: bool,
    /// The type of the value.
    pub kind: FieldKind,
    /// The default that the service applies if the field is not sent, as JSON.
    pub default: Option<&'static str>,
    /// The limits of the value.
    pub limits: Limits,
    /// The limits and the default as text, for example `1.5 to 10; default 5`.
    pub limits_text: &'static str,
}

impl Field {
    pub(super) fn is_image(&self) -> bool {
        matches!(self.kind, FieldKind::Image { .. })
    }

    /// The defaults of a field, so that the table lists only values that differ from them.
    pub(crate) const NONE: Self = Self {
        name: "",
        description: "",
        required: false,
        nullable: false,
        kind: FieldKind::Json,
        default: None,
        limits: Limits::NONE,
        limits_text: "",
    };
}

/// The type of a field's value.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text.
    Text,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// One of a fixed set of values.
    #[non_exhaustive]
    Choice {
        /// The allowed values.
        values: &'static [&'static str],
    },
    /// An image.
    #[non_exhaustive]
    Image {
        /// Whether the field takes the URL of an image, too, and not only the image as base64.
        /// `None` if the contract does not say it.
        takes_url: Option<bool>,
        /// The field whose image this image masks.
        mask_of: Option<&'static str>,
        /// Whether this image must have the dimensions of the image that it masks.
        same_size: bool,
        /// The maximum area in megapixels.
        max_megapixels: Option<f64>,
    },
    /// A ratio of width to height, such as `16:9`.
    #[non_exhaustive]
    AspectRatio {
        /// The narrowest accepted ratio.
        narrowest: (u32, u32),
        /// The widest accepted ratio.
        widest: (u32, u32),
    },
    /// An http or https URL.
    Address,
    /// A secret.
    Secret,
    /// Any JSON value, because the contract does not define a type.
    Json,
}

/// The limits of a field's value. All limits are inclusive.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The smallest number.
    pub minimum: Option<f64>,
    /// The largest number.
    pub maximum: Option<f64>,
    /// The number must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// The minimum length in characters.
    pub min_length: Option<u64>,
    /// The maximum length in characters.
    pub max_length: Option<u64>,
}

impl Limits {
    /// No limit.
    pub(crate) const NONE: Self = Self {
        minimum: None,
        maximum: None,
        multiple_of: None,
        min_length: None,
        max_length: None,
    };
}

impl Operation {
    /// Returns the field with this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl FieldKind {
    /// Converts text from a command line or a table, such as `7`, to a value of this kind. Text
    /// that is not such a value becomes a JSON string, which [`Request::validate`] reports.
    ///
    /// ```
    /// use imagekiln::FieldKind;
    /// assert_eq!(FieldKind::Integer.value_of("7"), 7);
    /// assert_eq!(FieldKind::Text.value_of("7"), "7");
    /// ```
    ///
    /// [`Request::validate`]: crate::Request::validate
    #[doc(hidden)]
    pub fn value_of(&self, text: &str) -> Value {
        let parsed = || serde_json::from_str::<Value>(text).ok();
        let wanted = match self {
            Self::Integer | Self::Number => parsed().filter(Value::is_number),
            Self::Boolean => parsed().filter(Value::is_boolean),
            Self::Json => parsed(),
            _ => None,
        };
        wanted.unwrap_or_else(|| text.into())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Returns every operation of the contract, submissions and polling, in the order of the document.
pub fn operations() -> &'static [Operation] {
    crate::generated::OPERATIONS
}

/// Finds an operation by its name (`gen-2-pro`), path (`/v1/gen-2-pro`) or id (`gen_2_pro`).
pub fn find_operation(name: &str) -> Option<&'static Operation> {
    operations()
        .iter()
        .find(|operation| [operation.name, operation.path, operation.id].contains(&name))
}

/// Returns the operations that create a task, in the order of the contract.
///
/// For `kiln`.
#[doc(hidden)]
pub fn models() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

/// Finds an operation that creates a task by its name, path or id, like [`find_operation`].
///
/// For `kiln`.
#[doc(hidden)]
pub fn find_model(name: &str) -> Option<&'static Operation> {
    find_operation(name).filter(|operation| operation.submits)
}

/// A model whose name contains a path parameter, and the value of this parameter in a complete
/// model name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct CompleteModel<'a> {
    /// The model, such as `{base_model}-finetuned`.
    pub model: &'static Operation,
    /// Its parameter, such as `base_model`.
    pub parameter: &'static PathParameter,
    /// The value of the parameter.
    pub value: &'a str,
}

/// Finds the model and the value of its path parameter in a complete model name. `None` if no model
/// with a path parameter matches the name.
///
/// ```
/// let found = imagekiln::complete_model("gen-2-klein-9b-kv-finetuned").unwrap();
/// assert_eq!(found.model.name, "{base_model}-finetuned");
/// assert_eq!(found.value, "gen-2-klein-9b-kv");
/// ```
#[doc(hidden)]
pub fn complete_model(name: &str) -> Option<CompleteModel<'_>> {
    let name = name.strip_prefix("/v1/").unwrap_or(name);
    if find_model(name).is_some() {
        return None;
    }
    models().find_map(|model| {
        let [parameter] = model.path_parameters else { return None };
        let (before, after) = model.name.split_once(&format!("{{{}}}", parameter.name))?;
        let value = name.strip_prefix(before)?.strip_suffix(after)?;
        value.starts_with(parameter.prefix?).then_some(CompleteModel { model, parameter, value })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_get_the_type_of_their_field_if_they_parse() {
        for (kind, text, sent) in [
            (FieldKind::Integer, "7", json!(7)),
            (FieldKind::Integer, "-7", json!(-7)),
            (FieldKind::Integer, "seven", json!("seven")),
            (FieldKind::Integer, "true", json!("true")),
            (FieldKind::Number, "1.5", json!(1.5)),
            (FieldKind::Number, "1e999", json!("1e999")),
            (FieldKind::Number, "NaN", json!("NaN")),
            (FieldKind::Boolean, "true", json!(true)),
            (FieldKind::Boolean, "1", json!("1")),
            (FieldKind::Text, "7", json!("7")),
            (FieldKind::Text, "null", json!("null")),
            (FieldKind::Json, "[1, 2]", json!([1, 2])),
            (FieldKind::Json, "left", json!("left")),
        ] {
            assert_eq!(kind.value_of(text), sent, "{kind:?} {text}");
        }
    }
}
