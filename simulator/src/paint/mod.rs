//! Pictures: a painted landscape, the images that came with the request, and a caption.

mod canvas;
mod caption;
mod cards;
mod landscape;
mod noise;
mod palette;
mod text;

use std::io::Cursor;

use image::{ImageError, ImageFormat, RgbImage};
use sha2::{Digest as _, Sha256};

use canvas::Canvas;

use crate::validation::Input;
use crate::video;

/// What kind of file a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Jpeg,
    Png,
    Webp,
    Video(video::Ask),
}

impl Format {
    /// By its name in the contract.
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

    fn encode(self, picture: &RgbImage) -> Result<Vec<u8>, ImageError> {
        let still = |format| {
            let mut bytes = Cursor::new(Vec::new());
            picture.write_to(&mut bytes, format)?;
            Ok(bytes.into_inner())
        };
        match self {
            Self::Jpeg => still(ImageFormat::Jpeg),
            Self::Png => still(ImageFormat::Png),
            Self::Webp => still(ImageFormat::WebP),
            Self::Video(ask) => video::encode(picture, ask),
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

/// The longest part of a prompt that is kept for the caption, in characters.
const MAX_CAPTION_PROMPT: usize = 300;

/// Everything a picture depends on.
#[derive(Clone)]
pub(crate) struct Picture {
    operation: String,
    prompt: String,
    /// A digest of operation, prompt and seed: what the painting is drawn from.
    key: [u8; 32],
    pub(crate) seed: i128,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) format: Format,
    pub(crate) inputs: Vec<Input>,
}

impl Picture {
    pub(crate) fn new(
        operation: &str,
        prompt: &str,
        seed: i128,
        size: (u32, u32),
        format: Format,
        inputs: Vec<Input>,
    ) -> Self {
        let mut key = Sha256::new();
        for part in [operation, prompt] {
            key.update((part.len() as u64).to_be_bytes());
            key.update(part.as_bytes());
        }
        key.update(seed.to_be_bytes());
        Self {
            operation: operation.to_owned(),
            prompt: prompt.chars().take(MAX_CAPTION_PROMPT).collect(),
            key: key.finalize().into(),
            seed,
            width: size.0,
            height: size.1,
            format,
            inputs,
        }
    }

    /// Paints the picture and encodes it. The same picture gives the same bytes.
    pub(crate) fn paint(&self) -> Result<Vec<u8>, ImageError> {
        let mut canvas = Canvas::new(self.width, self.height);
        landscape::paint(&mut canvas, &self.key);
        cards::paint(&mut canvas, &self.inputs);
        caption::paint(&mut canvas, self);
        self.format.encode(&canvas.into_image())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(prompt: &str, seed: i128, size: (u32, u32), format: Format) -> Picture {
        Picture::new("gen-2-pro", prompt, seed, size, format, Vec::new())
    }

    #[test]
    fn every_size_can_be_painted() {
        for size in [(1, 1), (1, 700), (700, 1), (7, 9), (64, 64), (130, 90), (300, 200)] {
            for seed in 0..12 {
                let picture = picture(
                    "a long prompt that will not fit on a small picture at all",
                    seed,
                    size,
                    Format::Png,
                );
                let painted = image::load_from_memory(&picture.paint().unwrap()).unwrap();
                assert_eq!((painted.width(), painted.height()), size);
            }
        }
    }

    #[test]
    fn the_same_request_gives_the_same_bytes_and_another_gives_others() {
        for format in [Format::Jpeg, Format::Png, Format::Webp] {
            let paint = |prompt, seed| picture(prompt, seed, (96, 64), format).paint().unwrap();
            assert_eq!(paint("fox", 7), paint("fox", 7));
            assert_ne!(paint("fox", 7), paint("fox", 8));
            assert_ne!(paint("fox", 7), paint("hen", 7));
        }
    }
}
