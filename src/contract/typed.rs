//! Conversions between the generated types and the form that is validated and sent.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    images::{IMAGE, Images, Place, WithImages, field_of},
    operation::{FieldKind, Operation},
    request::Request,
    validate::invalid,
};
use crate::{AspectRatio, Error, ErrorKind, Extra, ImageInput, Violation, WebhookSecret};

impl Request {
    /// Creates a request from a generated type, except for its secret and for the fields that the
    /// contract does not define.
    pub(crate) fn of_type(
        operation: &'static Operation,
        typed: &mut (impl Serialize + WithImages),
    ) -> Self {
        let mut request = Self::new(operation);
        typed.each_image(&Place::Body, &mut |place, image| {
            let image = std::mem::replace(image, ImageInput::base64(IMAGE));
            request.images.put(place, image);
        });
        match serde_json::to_value(typed) {
            Ok(Value::Object(body)) => request.body = body,
            Ok(_) => {}
            Err(error) => {
                request.faults.push(Violation::of_value(&[], "value_error", error.to_string()));
            }
        }
        for parameter in operation.path_parameters {
            if let Some(Value::String(value)) = request.body.remove(parameter.name) {
                request.path_parameters.push((parameter.name.to_owned(), value));
            }
        }
        for field in operation.fields {
            if request.body.get(field.name).is_some_and(|value| is_not_finite(&field.kind, value)) {
                request.body.remove(field.name);
                let msg = "must be a finite number";
                request.faults.push(Violation::of_field(field.name, "value_error", msg));
            }
        }
        request
    }

    pub(crate) fn with_secret(
        mut self,
        name: &str,
        secret: impl Into<Option<WebhookSecret>>,
    ) -> Self {
        if let Some(secret) = secret.into() {
            self.body.insert(name.to_owned(), secret.reveal().into());
        }
        self
    }

    pub(crate) fn with_extra(mut self, extra: Extra) -> Self {
        let (fields, faults) = extra.into_parts();
        fields.into_iter().for_each(|(name, value)| self.set(name, Ok(value)));
        faults.into_iter().for_each(|(name, fault)| self.set(name, Err(fault)));
        self
    }

    /// Converts the request to the generated type of `operation`. A value that does not have the
    /// type of its field is among the fields that the contract does not define, and is sent
    /// unchanged.
    pub(crate) fn into_type<T: DeserializeOwned + WithImages>(
        self,
        operation: &'static Operation,
    ) -> Result<(T, Extra), Error> {
        if self.operation.id != operation.id {
            let message = format!("the request is for {}, not for {operation}", self.operation);
            return Err(Error::new(ErrorKind::Validation, message).with_operation(operation.name));
        }
        let refused = |violation| invalid(operation.name, vec![violation]);
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(invalid(operation.name, faults));
        }
        let Self { body, mut images, path_parameters, .. } = self;
        let (mut known, mut extra) = (Map::new(), Extra::default());
        for (name, value) in path_parameters {
            known.insert(name, value.into());
        }
        for (name, value) in body {
            let place = Place::Body.name(&name);
            match operation.field(&name) {
                Some(field) if fits(&field.kind, &value, &place, &images) => {
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
            .map_err(|error| refused(Violation::of_value(&[], "value_error", error.to_string())))?;
        typed.each_image(&Place::Body, &mut |place, image| {
            if let Some(given) = images.remove(place) {
                *image = given;
            }
        });
        match images.iter().next() {
            Some((steps, _)) => {
                let msg = "contains an image, but the type has no such field for images";
                Err(refused(Violation::of_field(field_of(steps), "extra_forbidden", msg)))
            }
            None => Ok((typed, extra)),
        }
    }
}

/// Whether serde wrote `null` for NaN or an infinity. It writes no other: a field that is not set
/// is left out.
fn is_not_finite(kind: &FieldKind, value: &Value) -> bool {
    match (kind, value) {
        (FieldKind::Number, Value::Null) => true,
        (FieldKind::List { items }, Value::Array(values)) => {
            values.iter().any(|value| is_not_finite(&items.kind, value))
        }
        (FieldKind::Object { fields }, Value::Object(members)) => fields.iter().any(|field| {
            members.get(field.name).is_some_and(|value| is_not_finite(&field.kind, value))
        }),
        _ => false,
    }
}

/// Whether the type of the field can have this value. An explicit `null` is never one.
fn fits(kind: &FieldKind, value: &Value, place: &Place, images: &Images) -> bool {
    match (kind, value) {
        (FieldKind::Image { .. }, _) => images.at(place).is_some(),
        (FieldKind::List { items }, Value::Array(values)) => values
            .iter()
            .enumerate()
            .all(|(index, value)| fits(&items.kind, value, &place.index(index), images)),
        (FieldKind::Object { fields }, Value::Object(members)) => {
            fields.iter().all(|field| match members.get(field.name) {
                Some(value) => fits(&field.kind, value, &place.name(field.name), images),
                None => !field.required,
            })
        }
        (FieldKind::Integer, value) => value.is_i64(),
        (FieldKind::Number, value) => value.is_number(),
        (FieldKind::Boolean, value) => value.is_boolean(),
        (FieldKind::AspectRatio { .. }, Value::String(text)) => text.parse::<AspectRatio>().is_ok(),
        (
            FieldKind::Text | FieldKind::Choice { .. } | FieldKind::Address | FieldKind::Secret,
            Value::String(_),
        ) => images.at(place).is_none(),
        (FieldKind::Json, value) => !value.is_null(),
        _ => false,
    }
}
