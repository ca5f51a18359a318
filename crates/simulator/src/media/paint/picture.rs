//! Everything that a picture depends on, as plain data.

use std::{ops::RangeInclusive, sync::Arc};

use axum::body::Bytes;
use image::{DynamicImage, GrayImage, RgbaImage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{reader, scene::Scene, settings::Settings, tables};
use crate::{
    contract::OperationKind,
    media::{
        images::{self, Image, Input},
        video::{self, DURATIONS},
    },
    values::formats,
};

/// The file format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    Jpeg,
    Png,
    Webp,
    Video(video::VideoSpec),
}

impl Format {
    /// The format of this name in the contract.
    pub(crate) fn named(name: &str) -> Option<Self> {
        tables::named(name)
    }

    /// As the media type ends.
    pub(crate) fn extension(self) -> &'static str {
        self.media_type().rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Video(_) => video::MEDIA_TYPE,
        }
    }
}

/// What a picture is painted from. What follows from it, such as the scene, is derived when the
/// picture is painted.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Picture {
    /// The operation's name with the prefix `gen`: `gen-2-pro`.
    pub(crate) operation: String,
    pub(crate) kind: OperationKind,
    pub(crate) prompt: Arc<str>,
    #[serde(with = "formats::integer")]
    pub(crate) seed: i128,
    pub(crate) settings: Settings,
    /// Width and height.
    pub(crate) size: (u32, u32),
    pub(crate) format: Format,
    pub(crate) inputs: Vec<Input>,
    /// When a video shows each input, in seconds.
    pub(crate) moments: Vec<Option<f32>>,
}

impl Picture {
    /// How many pixels are read or written to render it.
    pub(crate) fn work(&self) -> u64 {
        let inputs = self.inputs.iter().map(|input| match &input.image {
            Image::Inline(image) => image.pixels(),
            Image::Elsewhere(_) => 0,
        });
        let frames = match self.format {
            Format::Video(video) => u64::from(video.duration * video.rate(self.size)),
            _ => 1,
        };
        let written = u64::from(self.size.0) * u64::from(self.size.1) * frames;
        inputs.sum::<u64>().saturating_add(written)
    }

    /// A digest of operation, prompt and seed, which determines the painting.
    pub(super) fn key(&self) -> [u8; 32] {
        let mut key = Sha256::new();
        for part in [self.operation.as_str(), &self.prompt] {
            key.update((part.len() as u64).to_be_bytes());
            key.update(part.as_bytes());
        }
        key.update(self.seed.to_be_bytes());
        key.finalize().into()
    }

    /// What the prompt describes.
    pub(super) fn scene(&self) -> Scene {
        reader::read(&self.prompt)
    }

    /// The image to edit.
    pub(super) fn image(&self) -> Option<RgbaImage> {
        self.inputs.iter().find(|input| input.place == "image")?.decode()
    }

    /// The image to place: the first that is not a mask.
    pub(super) fn reference(&self) -> Option<RgbaImage> {
        self.inputs.iter().find(|input| !input.is_mask)?.decode()
    }

    pub(super) fn mask(&self) -> Option<GrayImage> {
        let mask = self.inputs.iter().find(|input| input.is_mask)?.decode()?;
        Some(DynamicImage::from(mask).into_luma8())
    }

    /// The position of a reference: at its offsets, or centred.
    pub(super) fn placed(&self, reference: &RgbaImage) -> (i64, i64) {
        let middle = |whole: u32, part: u32| (i64::from(whole) - i64::from(part)).div_euclid(2);
        let (x, y) = self.settings.offset;
        (
            x.unwrap_or(middle(self.size.0, reference.width())),
            y.unwrap_or(middle(self.size.1, reference.height())),
        )
    }
}

/// More than the images of any request.
const MAX_INPUTS: usize = 32;

/// The maximum size of a prompt: that of all texts in a request.
const MAX_PROMPT_BYTES: usize = 1 << 20;

/// The maximum size of the place or the host of an image, which are drawn.
const MAX_NAME_BYTES: usize = 4096;

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

impl Picture {
    /// Checks everything but the pixels of its images.
    pub(crate) fn check(&self, limits: &PictureLimits) -> Result<(), String> {
        let PictureLimits { side, pixels, .. } = *limits;
        let (width, height) = self.size;
        let video = match self.format {
            Format::Video(spec) => Some(spec),
            _ => None,
        };
        let longest = 0.0..=*DURATIONS.end() as f32;
        let problem = if ![width, height].iter().all(|length| (1..=side).contains(length)) {
            return Err(format!(
                "a side of the picture is not from 1 to {side} pixels: raise `max_output_side` of \
                 this simulator"
            ));
        } else if u64::from(width) * u64::from(height) > pixels {
            return Err(format!(
                "the picture has more than {pixels} pixels: raise `max_output_pixels` of this \
                 simulator"
            ));
        } else if video.is_some() != (self.kind == OperationKind::Video) {
            "an operation makes either pictures or videos, and this one the other"
        } else if video.is_some_and(|spec| !spec.is_valid(self.size)) {
            "the duration, the frame rate or the size exceeds the limits of a video"
        } else if self.prompt.len() > MAX_PROMPT_BYTES {
            "the prompt is longer than a mebibyte"
        } else if !self.settings.are_possible(self.kind, &OFFSETS) {
            "a setting of the picture is out of range"
        } else if self.inputs.len().max(self.moments.len()) > MAX_INPUTS {
            "it has more images than a request"
        } else if !self.moments.iter().flatten().all(|moment| longest.contains(moment)) {
            "a moment is not within the longest video"
        } else {
            return self.inputs.iter().try_for_each(|input| check_input(input, limits));
        };
        Err(problem.to_owned())
    }

    /// Checks that its rendered file is complete, and what a poll says about it.
    pub(crate) fn check_rendered(
        &self,
        file: &Bytes,
        limits: &PictureLimits,
    ) -> Result<(), String> {
        if let Format::Video(_) = self.format {
            return video::clip(file, limits.pixels).map(drop);
        }
        let image = images::decode(&**file, limits.pixels)?;
        let is_it = image.format.to_mime_type() == self.format.media_type()
            && (image.width, image.height) == self.size;
        is_it.then_some(()).ok_or_else(|| "the file has another format or size".to_owned())
    }
}

fn check_input(input: &Input, limits: &PictureLimits) -> Result<(), String> {
    let names = match &input.image {
        Image::Inline(image) => {
            image.check_size(limits.input_pixels)?;
            [&input.place, ""]
        }
        Image::Elsewhere(host) => [&*input.place, host],
    };
    let fits = names.iter().all(|name| name.len() <= MAX_NAME_BYTES);
    fits.then_some(())
        .ok_or_else(|| "the place or the host of an image is longer than 4096 bytes".to_owned())
}
