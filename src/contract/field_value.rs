//! The value of a field, and the Rust types that it is made of.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::json::IntoJson;
use crate::{Address, AspectRatio, ImageInput, WebhookSecret};

/// The value of a field; images stay apart, because they are streamed.
#[derive(Clone)]
pub(crate) enum FieldValue {
    Json(Value),
    Image(ImageInput),
}

/// Numbers are equal if their values are: `2` is `2.0`.
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

/// What a field of a generated type becomes: an image, or the JSON of anything that serialises. The
/// error says what is wrong with the value.
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

/// A field of a generated type, from a value that was set at run time; nothing if it does not fit.
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

/// Marks the types of fields that are JSON. `ImageInput` serialises too, but is streamed instead.
pub(crate) trait JsonValue: Serialize + DeserializeOwned {}

impl JsonValue for String {}
impl JsonValue for i64 {}
impl JsonValue for bool {}
impl JsonValue for Value {}
impl JsonValue for AspectRatio {}
impl JsonValue for Address {}
impl JsonValue for WebhookSecret {}
