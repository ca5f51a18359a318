//! The values of request fields, and their conversions from and to Rust types.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{json::IntoJson, operation::FieldKind};
use crate::{Address, AspectRatio, ImageInput, WebhookSecret};

/// The value of a field. Images are separate, because they are streamed.
#[derive(Clone)]
pub(crate) enum FieldValue {
    /// A value without images.
    Json(Value),
    Image(ImageInput),
    /// A list that contains an image.
    List(Vec<FieldValue>),
    /// An object that contains an image. A name that occurs twice is a violation.
    Object(Vec<(String, FieldValue)>),
}

impl FieldValue {
    /// Converts a value that was set at run time. Text is an image where the contract has one.
    pub(super) fn of(kind: &FieldKind, value: Value) -> Self {
        match (kind, value) {
            (FieldKind::Image { .. }, Value::String(text)) => {
                Self::Image(ImageInput::from_text(text))
            }
            (FieldKind::List { items }, Value::Array(values)) => {
                Self::list(values.into_iter().map(|value| Self::of(&items.kind, value)).collect())
            }
            (FieldKind::Object { fields }, Value::Object(members)) => {
                let members = members.into_iter().map(|(name, value)| {
                    let field = fields.iter().find(|field| field.name == name);
                    let kind = field.map_or(&FieldKind::Json, |field| &field.kind);
                    let value = Self::of(kind, value);
                    (name, value)
                });
                Self::object(members.collect())
            }
            (_, value) => Self::Json(value),
        }
    }

    pub(super) fn list(values: Vec<Self>) -> Self {
        let json = values.iter().map(|value| value.json().cloned());
        match json.collect::<Option<Vec<_>>>() {
            Some(values) => Self::Json(values.into()),
            None => Self::List(values),
        }
    }

    pub(super) fn object(members: Vec<(String, Self)>) -> Self {
        let json = members.iter().map(|(name, value)| Some((name.clone(), value.json()?.clone())));
        match json.collect::<Option<Map<_, _>>>() {
            Some(object) if object.len() == members.len() => Self::Json(object.into()),
            _ => Self::Object(members),
        }
    }

    fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            _ => None,
        }
    }

    /// Calls `visit` with every image, and every value without images.
    pub(crate) fn each_part<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        match self {
            Self::Json(_) | Self::Image(_) => visit(self),
            Self::List(values) => values.iter().for_each(|value| value.each_part(visit)),
            Self::Object(members) => members.iter().for_each(|(_, value)| value.each_part(visit)),
        }
    }
}

impl PartialEq for FieldValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(one), Self::Json(two)) => is_equal(one, two),
            (Self::Image(one), Self::Image(two)) => one == two,
            (Self::List(one), Self::List(two)) => one == two,
            (Self::Object(one), Self::Object(two)) => {
                one.len() == two.len() && one.iter().all(|member| two.contains(member))
            }
            _ => false,
        }
    }
}

/// Compares numbers by value: `2` equals `2.0`.
fn is_equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => {
            one == two || (one.is_f64() != two.is_f64() && one.as_f64() == two.as_f64())
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_equal(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            let is_same = |(name, value)| two.get(name).is_some_and(|other| is_equal(value, other));
            one.len() == two.len() && one.iter().all(is_same)
        }
        _ => one == two,
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
            _ => None,
        }
    }
}

impl FromFieldValue for f64 {
    fn from_field_value(value: &FieldValue) -> Option<Self> {
        value.json()?.as_f64()
    }
}

impl<T: JsonValue> FromFieldValue for T {
    fn from_field_value(value: &FieldValue) -> Option<Self> {
        serde_json::from_value(value.json()?.clone()).ok()
    }
}

impl<T: IntoFieldValue> IntoFieldValue for Vec<T> {
    fn into_field_value(self) -> Result<FieldValue, String> {
        let values = self.into_iter().enumerate().map(|(index, item)| {
            item.into_field_value()
                .map_err(|problem| format!("has an item (at {index}) that {problem}"))
        });
        values.collect::<Result<_, _>>().map(FieldValue::list)
    }
}

impl<T: FromFieldValue> FromFieldValue for Vec<T> {
    fn from_field_value(value: &FieldValue) -> Option<Self> {
        match value {
            FieldValue::List(values) => values.iter().map(T::from_field_value).collect(),
            FieldValue::Json(Value::Array(values)) => values
                .iter()
                .map(|value| T::from_field_value(&FieldValue::Json(value.clone())))
                .collect(),
            _ => None,
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
