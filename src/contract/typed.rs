//! Conversions between the generated types and the form that the client validates and sends.

use std::mem;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    images::{FieldImages, IMAGE},
    operation::{FieldKind, Operation},
    request::Request,
    validate::{fail_if_any, invalid},
};
use crate::{AspectRatio, Error, ErrorKind, Extra, ImageInput, Secret, Violation};

/// The parts of a generated type that serde cannot convert. Images are streamed instead of being
/// serialized, and secrets are not serialized. A field that the contract does not define may have
/// the same name as a defined field, so serde cannot write both to one object.
pub(crate) struct Parts<'a> {
    /// The images with the names of their fields. `None` if the field is not set.
    pub(crate) images: Vec<(&'static str, Option<&'a mut ImageInput>)>,
    /// The secrets like the images.
    pub(crate) secrets: Vec<(&'static str, Option<&'a Secret>)>,
    /// The fields that the contract does not define.
    pub(crate) extra: &'a mut Extra,
}

/// A generated type of a request.
pub(crate) trait Typed {
    fn parts(&mut self) -> Parts<'_>;
}

impl Request {
    /// Creates a request from a generated type.
    pub(crate) fn of_type(
        operation: &'static Operation,
        mut typed: impl Serialize + Typed,
    ) -> Self {
        let mut request = Self::new(operation);
        let Parts { images, secrets, extra } = typed.parts();
        for (name, image) in images {
            if let Some(image) = image {
                let image = mem::replace(image, ImageInput::base64(IMAGE));
                request.images.insert(name.to_owned(), FieldImages::One(image));
            }
        }
        let secret = |(name, secret): (&str, Option<&Secret>)| {
            Some((name.to_owned(), Value::from(secret?.reveal())))
        };
        let secrets: Vec<_> = secrets.into_iter().filter_map(secret).collect();
        let (fields, faults) = mem::take(extra).into_parts();
        match serde_json::to_value(typed) {
            Ok(Value::Object(body)) => request.body = body,
            Ok(_) => {}
            Err(error) => {
                request.faults.push(Violation::new("value_error", error.to_string()).at(&[]));
            }
        }
        for parameter in operation.path_parameters {
            if let Some(Value::String(value)) = request.body.remove(parameter.name) {
                request.path_parameters.insert(parameter.name.to_owned(), value);
            }
        }
        for field in operation.fields {
            // serde serializes NaN and the infinities as `null`. There is no other reason for a
            // `null` here, because a field that is not set is left out.
            let is_null = request.body.get(field.name).is_some_and(Value::is_null);
            if is_null && field.kind == FieldKind::Number {
                request.body.remove(field.name);
                let msg = "must be a finite number";
                request.faults.push(Violation::of_field(field.name, "value_error", msg));
            }
        }
        request.body.extend(secrets);
        for (name, fault) in faults {
            request.faults.push(Violation::of_field(&name, "value_error", fault));
        }
        fields.into_iter().for_each(|(name, value)| request.set(name, Ok(value)));
        request
    }

    /// Converts the request to the generated type of `operation`. If a value does not have the type
    /// of its field, it is kept among the fields that the contract does not define, and the client
    /// sends it unchanged.
    pub(crate) fn into_type<T: DeserializeOwned + Typed>(
        self,
        operation: &'static Operation,
    ) -> Result<T, Error> {
        if self.operation.id != operation.id {
            let message = format!("the request is for {}, not for {operation}", self.operation);
            return Err(Error::new(ErrorKind::Validation, message).with_operation(operation.name));
        }
        let refused = |violation| invalid(operation.name, vec![violation]);
        fail_if_any(operation, self.faults())?;
        let Self { body, mut images, path_parameters, .. } = self;
        let (mut known, mut extra) = (Map::new(), Extra::default());
        for (name, value) in path_parameters {
            known.insert(name, value.into());
        }
        for (name, value) in body {
            match operation.field(&name) {
                Some(field) if fits(&field.kind, &value, images.get(&name)) => {
                    known.insert(name, value);
                }
                _ => extra.set(name, value),
            }
        }
        let parameters = operation.path_parameters.iter().map(|parameter| parameter.name);
        let required = operation.fields.iter().filter(|field| field.required);
        for name in parameters.chain(required.map(|field| field.name)) {
            if !known.contains_key(name) {
                return Err(refused(Violation::of_field(name, "missing", "is required")));
            }
        }
        let mut typed: T = serde_json::from_value(known.into())
            .map_err(|error| refused(Violation::new("value_error", error.to_string()).at(&[])))?;
        let parts = typed.parts();
        *parts.extra = extra;
        for (name, image) in parts.images {
            if let Some(image) = image
                && let Some(FieldImages::One(given)) = images.remove(name)
            {
                *image = given;
            }
        }
        match images.keys().next() {
            Some(field) => {
                let msg = "contains an image, but the type has no such field for images";
                Err(refused(Violation::of_field(field, "extra_forbidden", msg)))
            }
            None => Ok(typed),
        }
    }
}

/// Whether the generated type of the field can represent this value. It can never represent an
/// explicit `null`.
fn fits(kind: &FieldKind, value: &Value, images: Option<&FieldImages>) -> bool {
    match (kind, value) {
        (FieldKind::Image { .. }, _) => matches!(images, Some(FieldImages::One(_))),
        (FieldKind::Integer, value) => value.is_i64(),
        (FieldKind::Number, value) => value.is_number(),
        (FieldKind::Boolean, value) => value.is_boolean(),
        (FieldKind::AspectRatio { .. }, Value::String(text)) => text.parse::<AspectRatio>().is_ok(),
        (
            FieldKind::Text | FieldKind::Choice { .. } | FieldKind::Address | FieldKind::Secret,
            Value::String(_),
        ) => images.is_none(),
        (FieldKind::Json, value) => !value.is_null(),
        _ => false,
    }
}
