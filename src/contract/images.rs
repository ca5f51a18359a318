//! The images of a request. They are stored separately from its JSON body, because the client
//! streams images instead of converting them to JSON values.

use std::{collections::BTreeMap, convert::Infallible, slice};

use serde_json::Value;

use super::request::Request;
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

impl Request {
    /// Returns the image in a field. `None` if the field is not set, or if its value is not a
    /// single image.
    #[doc(hidden)]
    pub fn image_in(&self, name: &str) -> Option<&ImageInput> {
        match self.images.get(name)? {
            FieldImages::One(image) => Some(image),
            FieldImages::List(_) => None,
        }
    }

    /// Returns all images with their locations in the body.
    pub(crate) fn all_images(&self) -> impl Iterator<Item = (Vec<Location>, &ImageInput)> {
        self.images.iter().flat_map(|(field, images)| {
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

    /// Sets the images of a field, and their placeholders in the body.
    pub(super) fn put_images(&mut self, field: String, images: FieldImages) {
        let Ok(placeholders) = images.to_json(|_| Ok::<_, Infallible>(IMAGE.into()));
        self.body.insert(field.clone(), placeholders);
        self.images.insert(field, images);
    }
}
