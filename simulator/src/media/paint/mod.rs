//! Pictures: painted from the prompt, or edited from the images of the request, with a caption.

#![expect(clippy::indexing_slicing, reason = "within the sizes of colours, palettes and rows")]

mod canvas;
mod caption;
mod cards;
mod clone;
mod deblur;
mod diffuse;
mod edit;
mod encode;
mod extend;
mod film;
mod fit;
mod inpaint;
mod landscape;
mod look;
mod mask;
mod noise;
mod palette;
mod prompt;
#[cfg(test)]
mod properties;
mod reader;
#[cfg(test)]
mod recognition;
mod saved;
mod scene;
mod settings;
mod shapes;
mod silhouette;
mod svg;
mod tables;
mod try_on;
mod vocabulary;

use std::sync::Arc;

use image::{GrayImage, ImageError, RgbaImage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use self::{
    canvas::{Area, Canvas},
    scene::Scene,
};
use crate::{
    contract::OperationKind,
    media::{
        images::{Image, Input},
        video,
    },
};

pub(crate) use self::edit::person;
pub(crate) use self::film::CLIP;
pub(crate) use self::saved::{PictureLimits, SavedPicture};
pub(crate) use self::settings::Settings;

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
        match name {
            "jpeg" => Some(Self::Jpeg),
            "png" => Some(Self::Png),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Video(_) => video::EXTENSION,
        }
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

/// Everything that a picture depends on.
#[derive(Clone)]
pub(crate) struct Brief {
    /// The operation's name with the prefix `gen`: `gen-2-pro`.
    pub(crate) operation: String,
    pub(crate) kind: OperationKind,
    pub(crate) prompt: String,
    pub(crate) seed: i128,
    pub(crate) settings: Settings,
    pub(crate) size: (u32, u32),
    pub(crate) format: Format,
    pub(crate) inputs: Vec<Input>,
    /// When a video shows each input, in seconds.
    pub(crate) moments: Vec<Option<f32>>,
}

/// A picture that can be rendered.
#[derive(Clone)]
pub(crate) struct Picture {
    operation: String,
    kind: OperationKind,
    pub(crate) prompt: Arc<str>,
    /// The number of characters in the prompt, without spaces.
    letters: usize,
    scene: Scene,
    /// A digest of operation, prompt and seed, which determines the painting.
    key: [u8; 32],
    settings: Settings,
    pub(crate) seed: i128,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) format: Format,
    pub(crate) inputs: Vec<Input>,
    moments: Vec<Option<f32>>,
}

impl Picture {
    pub(crate) fn new(brief: Brief) -> Self {
        let Brief { operation, kind, prompt, seed, settings, size, format, inputs, moments } =
            brief;
        let mut key = Sha256::new();
        for part in [&operation, &prompt] {
            key.update((part.len() as u64).to_be_bytes());
            key.update(part.as_bytes());
        }
        key.update(seed.to_be_bytes());
        Self {
            operation,
            kind,
            letters: prompt.chars().filter(|letter| !letter.is_whitespace()).count(),
            scene: reader::read(&prompt),
            prompt: prompt.into(),
            key: key.finalize().into(),
            settings,
            seed,
            width: size.0,
            height: size.1,
            format,
            inputs,
            moments,
        }
    }

    /// How many pixels are read or written to render it.
    pub(crate) fn work(&self) -> u64 {
        let inputs = self.inputs.iter().map(|input| match &input.image {
            Image::Inline(image) => image.pixels(),
            Image::Elsewhere(_) => 0,
        });
        let frames = match self.format {
            Format::Video(video) => u64::from(video.duration) * u64::from(video.fps),
            _ => 1,
        };
        let written = u64::from(self.width) * u64::from(self.height) * frames;
        inputs.sum::<u64>().saturating_add(written)
    }

    /// Renders and encodes the picture. The same picture yields the same bytes.
    pub(crate) fn paint(&self) -> Result<Vec<u8>, ImageError> {
        match self.format {
            Format::Video(spec) => video::encode(&film::footage(self), spec),
            format => encode::encode(self.pixels(), format),
        }
    }

    fn pixels(&self) -> RgbaImage {
        let worked = match self.kind {
            OperationKind::Create | OperationKind::Video | OperationKind::Finetune => None,
            OperationKind::Fill => inpaint::fill(self),
            OperationKind::Erase => inpaint::erase(self),
            OperationKind::Deblur => deblur::paint(self),
            OperationKind::TryOn => try_on::paint(self),
            OperationKind::Expand => {
                self.image().map(|image| extend::around(self, &image, self.settings.added))
            }
            OperationKind::Outpaint => {
                self.reference().map(|image| extend::around(self, &image, self.placed(&image)))
            }
            OperationKind::Canny | OperationKind::Depth => edit::controlled(self),
        };
        // Even if the image to edit is missing, or was given by its URL.
        worked.unwrap_or_else(|| self.created())
    }

    /// A painting with the images of the request.
    fn created(&self) -> RgbaImage {
        let (prompts, references): (Vec<_>, Vec<_>) =
            self.inputs.iter().cloned().partition(|input| input.place == "image_prompt");
        let prompt = prompts.first().and_then(|prompt| self.pixels_of(prompt));
        let mut canvas = match (prompt, references.as_slice()) {
            (Some(prompt), _) => edit::remixed(self, &prompt),
            (None, [only]) => match self.pixels_of(only) {
                Some(reference) => edit::restyled(self, &reference),
                None => self.with_cards(&references),
            },
            (None, _) => self.with_cards(&references),
        };
        caption::paint(&mut canvas, self);
        canvas.into_image_with_alpha()
    }

    fn with_cards(&self, inputs: &[Input]) -> Canvas {
        let mut canvas = self.painting();
        let free = caption::above(&canvas, self);
        let margin = free.width.min(free.height) / 24;
        let area = Area {
            x: margin,
            y: margin,
            width: free.width - 2 * margin,
            height: free.height - 2 * margin,
        };
        cards::paint(&mut canvas, self, inputs, area);
        canvas
    }

    /// The painting, with the effects of the settings and room for a caption.
    fn painting(&self) -> Canvas {
        let mut canvas = Canvas::new(self.width, self.height);
        let floor = caption::floor(&canvas);
        self.paint_on(&mut canvas, floor);
        canvas
    }

    /// A painting that shows everything in a part of the picture. The rest is black.
    fn painting_within(&self, area: Area) -> Canvas {
        let mut canvas = Canvas::new(self.width, self.height);
        // A mask without a white pixel leaves nothing to paint.
        if area.width <= 0 || area.height <= 0 {
            return canvas;
        }
        let mut part = Canvas::new(area.width as u32, area.height as u32);
        self.paint_on(&mut part, area.height as f32);
        canvas.lay(&part, area.x, area.y);
        canvas
    }

    fn paint_on(&self, canvas: &mut Canvas, floor: f32) {
        landscape::paint(canvas, &self.scene, &self.key, floor);
        look::apply(canvas, &self.settings);
    }

    fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// The settings as listed in the caption.
    fn facts(&self) -> Vec<String> {
        let has_image_prompt = self.inputs.iter().any(|input| input.place == "image_prompt");
        self.settings.facts(has_image_prompt)
    }

    /// The pixels of an image, with eight bits per channel. The image was decoded before; if that
    /// fails now, the picture is rendered without it.
    fn pixels_of(&self, input: &Input) -> Option<RgbaImage> {
        match &input.image {
            Image::Inline(image) => image.decode().ok(),
            Image::Elsewhere(_) => None,
        }
    }

    /// The image to edit.
    fn image(&self) -> Option<RgbaImage> {
        self.pixels_of(self.inputs.iter().find(|input| input.place == "image")?)
    }

    /// The image to place: the first that is not a mask.
    fn reference(&self) -> Option<RgbaImage> {
        self.pixels_of(self.inputs.iter().find(|input| !input.is_mask)?)
    }

    fn mask(&self) -> Option<GrayImage> {
        let mask = self.pixels_of(self.inputs.iter().find(|input| input.is_mask)?)?;
        Some(image::DynamicImage::from(mask).into_luma8())
    }

    /// The position of a reference: at its offsets, or centred.
    fn placed(&self, reference: &RgbaImage) -> (i64, i64) {
        let middle = |whole: u32, part: u32| (i64::from(whole) - i64::from(part)).div_euclid(2);
        let (x, y) = self.settings.offset;
        (
            x.unwrap_or(middle(self.width, reference.width())),
            y.unwrap_or(middle(self.height, reference.height())),
        )
    }
}
