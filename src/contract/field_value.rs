//! The values of request fields, and their conversions from and to Rust types.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::json::IntoJson;
use crate::{Address, AspectRatio, ImageInput, WebhookSecret};

/// The value of a field. Images are separate, because they are streamed.
#[derive(Clone)]
pub(crate) enum FieldValue {
    Json(Value),
    Image(ImageInput),
}

// Numbers are compared by value: `2` equals `2.0`.
impl PartialEq for FieldValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(Value::Number(one)), Self::Json(Value::Number(two))) => {
                one == two || (one.is_f64() != two.is_f64() && one.as_f64() == two.as_f64())
            }
            (Self::Json(one), Self::Json(two)) => one == two,
            (Self::Image(one), Self::Image(two)) => one == two,
            _ => false,
        }
    }
}

/// Converts a field of a generated type to an image or to JSON. The error describes what is wrong
/// with the value.
pub(crate) trait IntoFieldValue {
    fn into_field_value(self) -> Result<FieldValue, String>;
}

impl IntoFieldValue for ImageInput {
    fn into_field_value(self) -> Result<FieldValue, String> {
        Ok(FieldValue::Image(self))
    }
}

impl IntoFieldValue for f64 {
    fn into_field_value(self) -> Result<FieldValue, String> {
        self.into_json().map(FieldValue::Json)
    }
}

impl<T: JsonValue> IntoFieldValue for T {
    fn into_field_value(self) -> Result<FieldValue, String> {
        serde_json::to_value(self).map(FieldValue::Json).map_err(|error| error.to_string())
    }
}

/// Converts a value that was set at run time to a field of a generated type. Returns `None` if the
/// value does not have the type.
pub(crate) trait FromFieldValue: Sized {
    fn from_field_value(value: &FieldValue) -> Option<Self>;
}

impl FromFieldValue for ImageInput {
    fn from_field_value(value: &FieldValue) -> Option<Self> {
        match value {
            FieldValue::Image(image) => Some(image.clone()),
            FieldValue::Json(_) => None,
        }
    }
}

impl FromFieldValue for f64 {
    fn from_field_value(value: &FieldValue) -> Option<Self> {
        match value {
            FieldValue::Json(value) => value.as_f64(),
            FieldValue::Image(_) => None,
        }
    }
}

impl<T: JsonValue> FromFieldValue for T {
    fn from_field_value(value: &FieldValue) -> Option<Self> {
        match value {
            FieldValue::Json(value) => serde_json::from_value(value.clone()).ok(),
            FieldValue::Image(_) => None,
        }
    }
}

/// Marks field types that are sent as JSON. `ImageInput` also implements `Serialize`, but is
/// streamed.
pub(crate) trait JsonValue: Serialize + DeserializeOwned {}

impl JsonValue for String {}
impl JsonValue for i64 {}
impl JsonValue for bool {}
impl JsonValue for Value {}
impl JsonValue for AspectRatio {}
impl JsonValue for Address {}
impl JsonValue for WebhookSecret {}
