//! Everything that a picture depends on, as plain data.

use std::sync::Arc;

use image::{DynamicImage, GrayImage, RgbaImage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{reader, scene::Scene, settings::Settings, tables};
use crate::{
    contract::OperationKind,
    media::{
        images::{Image, Input},
        video,
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
