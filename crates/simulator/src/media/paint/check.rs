//! Checks pictures of a snapshot, which no request has asked for.

use std::ops::RangeInclusive;

use axum::body::Bytes;

use super::{Format, Picture};
use crate::{
    contract::OperationKind,
    media::{
        images::{self, Image, Input},
        video::{self, DURATIONS},
    },
};

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
