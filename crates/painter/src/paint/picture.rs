//! Everything that a picture depends on, as plain data.

use std::{ops::RangeInclusive, sync::Arc};

use image::{DynamicImage, GrayImage, RgbaImage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::tables;
use crate::{
    images::{self, Image, Input},
    video::{self, DURATIONS},
};

/// What an operation makes, and from which images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// Paints a new picture: from text, from references, or from an image prompt.
    Create,
    /// Paints where a mask is white.
    Fill,
    /// Extends the sides of an image.
    Expand,
    /// Paints by the depth of a control image.
    Depth,
    /// Paints by the edges of a control image.
    Canny,
    /// Sharpens an image.
    Deblur,
    /// Removes what a mask covers.
    Erase,
    /// Shows a person with garments.
    TryOn,
    /// Places an image in a larger picture.
    Outpaint,
    /// Makes a video.
    Video,
    /// Trains a finetune.
    Finetune,
}

/// The file format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A JPEG file. Transparent pixels become white.
    Jpeg,
    /// A PNG file.
    Png,
    /// A WebP file without loss.
    Webp,
    /// A WebM file with these settings.
    Video(video::VideoSpec),
}

impl Format {
    /// The format of this name in the contract.
    pub fn named(name: &str) -> Option<Self> {
        tables::named(name)
    }

    /// As the media type ends.
    pub fn extension(self) -> &'static str {
        self.media_type().rsplit('/').next().unwrap_or_default()
    }

    /// As the header `Content-Type` has it.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Video(_) => "video/webm",
        }
    }
}

/// What a picture is painted from. What follows from it, such as the scene, is derived when the
/// picture is painted.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// The operation's name with the prefix `gen`: `gen-2-pro`.
    pub operation: String,
    /// Which painter renders it.
    pub kind: OperationKind,
    /// What the picture shows.
    pub prompt: Arc<str>,
    /// Another seed makes another picture of the same prompt.
    #[serde(with = "integer")]
    pub seed: i128,
    /// The other fields of the request that change the picture.
    pub settings: Settings,
    /// Width and height, in pixels.
    pub size: (u32, u32),
    /// The format of the file.
    pub format: Format,
    /// The images of the request.
    pub inputs: Vec<Input>,
    /// When a video shows each input, in seconds.
    pub moments: Vec<Option<f32>>,
}

impl Picture {
    /// How many pixels are read or written to render it.
    pub fn work(&self) -> u64 {
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

    /// Checks everything but the pixels of the images of a picture in a snapshot.
    pub fn check(&self, limits: &PictureLimits) -> Result<(), String> {
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
        } else if !self.settings.are_possible(self.kind) {
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
    pub fn check_rendered(&self, file: &[u8], limits: &PictureLimits) -> Result<(), String> {
        if let Format::Video(_) = self.format {
            return video::clip(file, limits.pixels).map(drop);
        }
        let image = images::decode(file, limits.pixels)?;
        let is_it = image.format.to_mime_type() == self.format.media_type()
            && (image.width, image.height) == self.size;
        is_it.then_some(()).ok_or_else(|| "the file has another format or size".to_owned())
    }
}

/// A large integer, as text, because JSON parsers round it.
pub mod integer {
    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Writes the digits.
    pub fn serialize<S: Serializer>(number: &i128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    /// Reads the digits. Fails if the text is not an integer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("the text is not an integer"))
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
pub struct PictureLimits {
    /// The maximum area of an image of a request, in pixels.
    pub input_pixels: u64,
    /// The maximum side of a picture, in pixels.
    pub side: u32,
    /// The maximum area of a picture, in pixels.
    pub pixels: u64,
}

fn check_input(input: &Input, limits: &PictureLimits) -> Result<(), String> {
    let host = match &input.image {
        Image::Inline(image) => {
            image.check_size(limits.input_pixels)?;
            ""
        }
        Image::Elsewhere(host) => host,
    };
    if input.place.len().max(host.len()) > MAX_NAME_BYTES {
        return Err("the place or the host of an image is longer than 4096 bytes".to_owned());
    }
    Ok(())
}

/// The maximum length of a name in the settings, in characters. Longer ones are truncated.
pub const MAX_NAME: usize = 64;

/// The number of steps of a finished picture.
const ALL_STEPS: u32 = 50;

/// The settings of a picture other than prompt, seed, size and images.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How strictly the picture follows the prompt. More guidance strengthens colours and contrast.
    pub guidance: Option<Guidance>,
    /// The number of steps, of which 50 finish a picture.
    pub steps: Option<u32>,
    /// Whether the picture looks less processed.
    pub raw: bool,
    /// Whether the service would extend the prompt. The caption says so.
    pub upsampled: bool,
    /// Width to height, as the request has it. The caption shows it.
    pub aspect_ratio: Option<String>,
    /// From 0 (only the painting) to 1 (only the image prompt).
    pub image_prompt_strength: f32,
    /// A finetune, which tints the picture.
    pub finetune: Option<FinetuneTint>,
    /// The pixels added to the left and at the top.
    pub added: (i64, i64),
    /// The position of a reference; `None` is centred.
    pub offset: (Option<i64>, Option<i64>),
    /// The mode of the operation. A picture of the mode `fast` is half finished.
    pub mode: Option<String>,
    /// The number of pixels by which a mask is dilated.
    pub dilation: u32,
}

/// The guidance of a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guidance {
    /// The value of the request.
    pub value: f32,
    /// The value without any effect.
    pub neutral: f32,
}

/// The influence of a finetune on a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinetuneTint {
    /// The id of the finetune, which determines the tint.
    pub name: String,
    /// From 0 (no influence) over 1 (full influence) to 2.
    pub strength: f32,
}

impl Settings {
    /// Whether a request for an operation of this kind can have these settings.
    fn are_possible(&self, kind: OperationKind) -> bool {
        let guidance = self.guidance.iter().all(|guidance| {
            guidance.value.is_finite() && guidance.neutral.is_finite() && guidance.neutral > 0.0
        });
        let finetune = self.finetune.as_ref();
        let strength = finetune.is_none_or(|tune| (0.0..=2.0).contains(&tune.strength));
        let names =
            [finetune.map(|tune| &tune.name), self.aspect_ratio.as_ref(), self.mode.as_ref()];
        let (added, (x, y)) = (self.added, self.offset);
        let placed = match kind {
            OperationKind::Expand => OFFSETS.contains(&added.0) && OFFSETS.contains(&added.1),
            OperationKind::Outpaint => [x, y].iter().flatten().all(|at| OFFSETS.contains(at)),
            _ => true,
        };
        (guidance && strength && placed)
            && (0.0..=1.0).contains(&self.image_prompt_strength)
            && names.into_iter().flatten().all(|name| name.chars().count() <= MAX_NAME)
    }

    /// How finished the picture is, from 0 to 1, by its steps or its mode.
    pub(super) fn finish(&self) -> f32 {
        let steps = match (self.steps, self.mode.as_deref()) {
            (Some(steps), _) => steps,
            (None, Some("fast")) => ALL_STEPS / 2,
            (None, _) => ALL_STEPS,
        };
        steps.min(ALL_STEPS) as f32 / ALL_STEPS as f32
    }

    /// The settings as listed in the caption.
    pub(super) fn facts(&self, has_image_prompt: bool) -> Vec<String> {
        let finetune = self.finetune.as_ref();
        let image_prompt = has_image_prompt.then_some(self.image_prompt_strength);
        let plural = if self.steps == Some(1) { "" } else { "s" };
        let facts = [
            finetune.map(|tune| format!("LoRA {} at {}", tune.name, tune.strength)),
            self.aspect_ratio.clone(),
            self.raw.then(|| "raw".to_owned()),
            self.guidance.map(|guidance| format!("guidance {}", guidance.value)),
            self.steps.map(|steps| format!("{steps} step{plural}")),
            self.upsampled.then(|| "prompt upsampled".to_owned()),
            image_prompt.map(|strength| format!("image prompt at {strength}")),
            self.mode.as_ref().map(|mode| format!("mode {mode}")),
        ];
        facts.into_iter().flatten().collect()
    }
}
