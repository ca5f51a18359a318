//! The images of a request. They are stored separately from its JSON body, because the client
//! streams images instead of converting them to JSON values.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{ImageInput, Location};

/// The placeholder for an image in the JSON body of a request. It is never sent.
pub(super) const IMAGE: &str = "[image]";

/// The value of a field with images.
#[derive(Clone, PartialEq)]
pub(crate) enum FieldImages {
    One(ImageInput),
    List(Vec<ImageInput>),
}

impl FieldImages {
    /// Converts the value to JSON: each image becomes the value that `describe` returns for it.
    pub(crate) fn to_json<E>(
        &self,
        mut describe: impl FnMut(&ImageInput) -> Result<Value, E>,
    ) -> Result<Value, E> {
        match self {
            Self::One(image) => describe(image),
            Self::List(images) => images.iter().map(describe).collect(),
        }
    }
}

/// The images of a request by their fields.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Images(BTreeMap<String, FieldImages>);

impl Images {
    pub(crate) fn get(&self, field: &str) -> Option<&FieldImages> {
        self.0.get(field)
    }

    /// Returns the image in a field. `None` if it is not a single image.
    pub(crate) fn one(&self, field: &str) -> Option<&ImageInput> {
        match self.get(field)? {
            FieldImages::One(image) => Some(image),
            FieldImages::List(_) => None,
        }
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&String, &FieldImages)> {
        self.0.iter()
    }

    /// Returns all images with their locations in the body.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Vec<Location>, &ImageInput)> {
        self.fields().flat_map(|(field, images)| {
            let (images, is_list) = match images {
                FieldImages::One(image) => (std::slice::from_ref(image), false),
                FieldImages::List(images) => (images.as_slice(), true),
            };
            images.iter().enumerate().map(move |(index, image)| {
                let index = is_list.then_some(Location::Index(index as i64));
                ([Location::name(field)].into_iter().chain(index).collect(), image)
            })
        })
    }

    /// Inserts the images of a field, and returns the placeholders for the body.
    pub(super) fn put(&mut self, field: &str, images: FieldImages) -> Value {
        let value = match &images {
            FieldImages::One(_) => IMAGE.into(),
            FieldImages::List(images) => images.iter().map(|_| IMAGE).collect(),
        };
        self.0.insert(field.to_owned(), images);
        value
    }

    pub(super) fn remove(&mut self, field: &str) -> Option<FieldImages> {
        self.0.remove(field)
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }
}
