//! The images of a request. They are stored separately from its JSON body, because the client
//! streams images instead of converting them to JSON values.

use std::{collections::BTreeMap, slice};

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

/// The images of a request by their fields.
pub(crate) type Images = BTreeMap<String, FieldImages>;

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

/// Returns all images with their locations in the body.
pub(super) fn located(images: &Images) -> impl Iterator<Item = (Vec<Location>, &ImageInput)> {
    images.iter().flat_map(|(field, images)| {
        let (images, is_list) = match images {
            FieldImages::One(image) => (slice::from_ref(image), false),
            FieldImages::List(images) => (images.as_slice(), true),
        };
        images.iter().enumerate().map(move |(index, image)| {
            let index = is_list.then_some(Location::Index(index as i64));
            ([Location::name(field)].into_iter().chain(index).collect(), image)
        })
    })
}
