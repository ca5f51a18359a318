//! Pictures in a snapshot: what they are painted from, and not their pixels.

use std::{ops::RangeInclusive, sync::Arc};

use axum::body::Bytes;
use serde::{Deserialize, Serialize};

use super::{Format, Picture, Settings};
use crate::{
    contract::OperationKind,
    media::{
        images::{self, Image, Inline, Input},
        video::{self, DURATIONS},
    },
    values::saved::{Base64, RestoreError, Restored, check_length, check_name, check_text, ensure},
};

/// More than the images of any request.
const MAX_INPUTS: usize = 32;

/// The offsets at which an image may be placed, in pixels: the maximum side of a picture.
const OFFSETS: RangeInclusive<i64> = -16383..=16383;

/// The limits of pictures, from the settings.
#[derive(Clone, Copy)]
pub(crate) struct PictureLimits {
    /// The maximum area of an image of a request, in pixels.
    pub(crate) input_pixels: u64,
    /// The maximum side of a picture, in pixels.
    pub(crate) side: u32,
    /// The maximum area of a picture, in pixels.
    pub(crate) pixels: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedPicture {
    pub(crate) prompt: Arc<str>,
    /// As text, because JSON parsers round large numbers.
    seed: String,
    settings: Settings,
    size: (u32, u32),
    format: Format,
    inputs: Vec<SavedInput>,
    moments: Vec<Option<f32>>,
}

/// An image of a request: its bytes, or the host of its URL.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedInput {
    place: String,
    is_mask: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<Base64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

impl SavedPicture {
    pub(crate) fn of(picture: &Picture) -> Self {
        Self {
            prompt: Arc::clone(&picture.prompt),
            seed: picture.seed.to_string(),
            settings: picture.settings.clone(),
            size: picture.size,
            format: picture.format,
            inputs: picture.inputs.iter().map(SavedInput::of).collect(),
            moments: picture.moments.clone(),
        }
    }

    /// The images whose bytes it has, with their places.
    pub(crate) fn images(&self) -> impl Iterator<Item = (String, &Bytes)> {
        let inputs = self.inputs.iter().enumerate();
        inputs.filter_map(|(index, input)| {
            let Base64(bytes) = input.image.as_ref()?;
            Some((format!("inputs[{index}].image"), bytes))
        })
    }

    pub(crate) fn has_images(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The picture of an operation. Its images have been decoded before.
    pub(crate) fn restore(
        &self,
        (operation, kind): (&str, OperationKind),
        limits: &PictureLimits,
    ) -> Restored<Picture> {
        check_text(&self.prompt, "prompt")?;
        self.check_size(limits)?;
        let is_video = matches!(self.format, Format::Video(_));
        let problem = "an operation makes either pictures or videos, and this one the other";
        ensure(is_video == (kind == OperationKind::Video), "format", problem)?;
        if let Format::Video(spec) = self.format {
            let problem = "the duration, the frame rate or the size exceeds the limits of a video";
            ensure(spec.is_valid(self.size), "format.video", problem)?;
        }
        self.settings.check(kind, &OFFSETS).map_err(|error| error.within("settings"))?;
        self.check_moments()?;
        check_length(self.inputs.len(), MAX_INPUTS, "inputs")?;
        let seed = self.seed.parse();
        let inputs = self.inputs.iter().enumerate().map(|(index, input)| {
            input.restore(limits).map_err(|error| error.within(format!("inputs[{index}]")))
        });
        Ok(Picture {
            operation: operation.to_owned(),
            kind,
            prompt: Arc::clone(&self.prompt),
            seed: seed.map_err(|_| RestoreError::new("seed", "the text is not an integer"))?,
            settings: self.settings.clone(),
            size: self.size,
            format: self.format,
            inputs: inputs.collect::<Restored<_>>()?,
            moments: self.moments.clone(),
        })
    }

    /// Checks that a rendered picture is complete, and what a poll says about it.
    pub(crate) fn check_rendered(&self, bytes: &Bytes, limits: &PictureLimits) -> Restored {
        let wrong = |problem: String| RestoreError::new("painted", problem);
        if let Format::Video(_) = self.format {
            return video::clip(bytes, limits.pixels).map(drop).map_err(wrong);
        }
        let image = images::decode(&**bytes, limits.pixels).map_err(wrong)?;
        let is_it = image.format.to_mime_type() == self.format.media_type()
            && (image.width, image.height) == self.size;
        ensure(is_it, "painted", "the picture has another format or size than `picture`")
    }

    /// How many pixels its rendered picture has.
    pub(crate) fn pixels(&self) -> u64 {
        u64::from(self.size.0) * u64::from(self.size.1)
    }

    fn check_size(&self, limits: &PictureLimits) -> Restored {
        let (width, height) = self.size;
        let sides = 1..=limits.side;
        let problem = format!(
            "a side is not from 1 to {} pixels: raise `max_output_side` of this simulator",
            limits.side
        );
        ensure(sides.contains(&width) && sides.contains(&height), "size", &problem)?;
        let problem = format!(
            "the picture has more than {} pixels: raise `max_output_pixels` of this simulator",
            limits.pixels
        );
        ensure(self.pixels() <= limits.pixels, "size", &problem)
    }

    fn check_moments(&self) -> Restored {
        check_length(self.moments.len(), MAX_INPUTS, "moments")?;
        let all = 0.0..=*DURATIONS.end() as f32;
        let holds = self.moments.iter().flatten().all(|moment| all.contains(moment));
        ensure(holds, "moments", "a moment is not within the longest video")
    }
}

impl SavedInput {
    fn of(input: &Input) -> Self {
        let Input { place, is_mask, image } = input;
        let (image, host) = match image {
            Image::Inline(image) => {
                (Some(Base64(Bytes::from_owner(Arc::clone(&image.bytes)))), None)
            }
            Image::Elsewhere(host) => (None, Some(host.clone())),
        };
        Self { place: place.clone(), is_mask: *is_mask, image, host }
    }

    fn restore(&self, limits: &PictureLimits) -> Restored<Input> {
        check_name(&self.place, "place")?;
        let image = match (&self.image, &self.host) {
            (Some(Base64(bytes)), None) => Image::Inline(inline(bytes, limits)?),
            (None, Some(host)) => {
                check_name(host, "host")?;
                Image::Elsewhere(host.clone())
            }
            _ => return Err(RestoreError::new("", "an input has either an `image` or a `host`")),
        };
        Ok(Input { place: self.place.clone(), is_mask: self.is_mask, image })
    }
}

/// The format and the size of an image, which is not decoded.
fn inline(bytes: &Bytes, limits: &PictureLimits) -> Restored<Inline> {
    images::inline(&**bytes, limits.input_pixels)
        .map_err(|problem| RestoreError::new("image", problem))
}
