//! The images of a request. They are beside its body, because they are streamed and not kept as
//! JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::operation::FieldKind;
use crate::{ImageInput, Location};

/// Where a value is in a body. It is a list from the inside out, so that a path is only built where
/// one is needed.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Body,
    Name(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl<'a> Place<'a> {
    pub(crate) fn name(&'a self, name: &'a str) -> Self {
        Self::Name(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    /// Returns the steps from the body to the value.
    pub(crate) fn steps(&self) -> Vec<Location> {
        let (outer, step) = match self {
            Self::Body => return Vec::new(),
            Self::Name(outer, name) => (outer, Location::name(name)),
            Self::Index(outer, index) => (outer, Location::Index(*index as i64)),
        };
        let mut steps = outer.steps();
        steps.push(step);
        steps
    }
}

/// What a body has in the place of an image. It is never sent.
pub(super) const IMAGE: &str = "[image]";

/// The images of a request by their place in its body.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Images(BTreeMap<Vec<Location>, ImageInput>);

impl Images {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn at(&self, place: &Place) -> Option<&ImageInput> {
        if self.is_empty() { None } else { self.0.get(&place.steps()) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[Location], &ImageInput)> {
        self.0.iter().map(|(steps, image)| (steps.as_slice(), image))
    }

    /// Returns the places of the images in the field `name`.
    pub(super) fn in_field(&self, name: &str) -> impl Iterator<Item = &[Location]> {
        self.0.keys().map(Vec::as_slice).filter(move |steps| field_of(steps) == name)
    }

    /// Inserts an image, and returns what the body has in its place.
    pub(super) fn put(&mut self, place: &Place, image: ImageInput) -> Value {
        self.0.insert(place.steps(), image);
        IMAGE.into()
    }

    /// Returns the image in the field `name` of the object that an image is in.
    pub(super) fn beside(&self, steps: &[Location], name: &str) -> Option<&ImageInput> {
        let mut steps = steps.to_vec();
        *steps.last_mut()? = Location::name(name);
        self.0.get(&steps)
    }

    /// Removes the images in the field `name`.
    pub(super) fn clear(&mut self, name: &str) {
        self.0.retain(|steps, _| field_of(steps) != name);
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<ImageInput> {
        self.0.remove(&Place::Body.name(name).steps())
    }

    /// Moves the images out of a value, as `read` reads them where `kind` has an image.
    pub(super) fn set_aside<E>(
        &mut self,
        kind: &FieldKind,
        value: Value,
        place: &Place,
        read: &dyn Fn(Value) -> Result<Result<ImageInput, Value>, E>,
    ) -> Result<Value, E> {
        match (kind, value) {
            (FieldKind::Image { .. }, value) => read(value).map(|read| match read {
                Ok(image) => self.put(place, image),
                Err(value) => value,
            }),
            (_, value) => Ok(value),
        }
    }
}

/// Returns the field that a path starts with.
pub(crate) fn field_of(steps: &[Location]) -> &str {
    match steps.first() {
        Some(Location::Name(name)) => name,
        _ => "",
    }
}

/// Returns the value at the end of a path.
pub(super) fn value_at<'a>(
    body: &'a mut Map<String, Value>,
    steps: &[Location],
) -> Option<&'a mut Value> {
    let (first, rest) = steps.split_first()?;
    let Location::Name(name) = first else { return None };
    rest.iter().try_fold(body.get_mut(name)?, |value, step| match (value, step) {
        (Value::Object(members), Location::Name(name)) => members.get_mut(name),
        (Value::Array(values), Location::Index(index)) => {
            values.get_mut(usize::try_from(*index).ok()?)
        }
        _ => None,
    })
}
