//! Checks of images against each other and against their largest area, from the images' headers; nothing is decoded.
//!
//! Only where the bytes are at hand: an image at a URL, or in a format whose header is not known here, is the service's
//! to check.

use std::{fs::File, io::Read};

use base64::Engine;

use super::{
    operation::FieldKind,
    request::{FieldValue, Request},
};
use crate::{ImageInput, ImageSource, Violation};

/// Enough for the headers of every format; a JPEG may carry a large preview in front of its size.
const HEAD: usize = 512 * 1024;

/// The contract does not say whether a megapixel is 10^6 or 2^20 pixels. The larger one refuses nothing that the service
/// may take.
const MEGAPIXEL: f64 = 1_048_576.0;

pub(super) fn violations(request: &Request, found: &mut Vec<Violation>) {
    for (name, value) in &request.fields {
        let FieldValue::Image(image) = value else { continue };
        let Some(field) = request.operation.field(name) else { continue };
        let FieldKind::Image { mask_of, max_megapixels, .. } = field.kind else { continue };
        if mask_of.is_none() && max_megapixels.is_none() {
            continue;
        }
        let Some((width, height)) = size(image) else { continue };
        if let Some(limit) = max_megapixels
            && (width as f64) * (height as f64) > limit * MEGAPIXEL
        {
            let msg = format!("is {width} x {height} pixels; must have at most {limit} megapixels");
            found.push(Violation::of_field(name, "image_too_large", msg));
        }
        let masked = mask_of.and_then(|masked| {
            let (_, value) = request.fields.iter().find(|(name, _)| name == masked)?;
            let FieldValue::Image(image) = value else { return None };
            Some((masked, size(image)?))
        });
        if let Some((masked, (masked_width, masked_height))) = masked
            && (masked_width, masked_height) != (width, height)
        {
            let msg = format!(
                "is {width} x {height} pixels, and `{masked}` is {masked_width} x {masked_height}; both must be equal"
            );
            found.push(Violation::of_field(name, "image_size_mismatch", msg));
        }
    }
}

fn size(image: &ImageInput) -> Option<(usize, usize)> {
    let head = match image.source() {
        ImageSource::Bytes(bytes) => bytes.slice(..bytes.len().min(HEAD)).to_vec(),
        ImageSource::Base64(text) => decode_head(text)?,
        // A file that can't be read is an error when it is opened to be sent, which says more than a violation could.
        ImageSource::Path(path) => {
            let mut head = Vec::new();
            File::open(path).ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
            head
        }
        ImageSource::Url(_) => return None,
    };
    let size = imagesize::blob_size(&head).ok()?;
    Some((size.width, size.height))
}

fn decode_head(text: &[u8]) -> Option<Vec<u8>> {
    let data = match text.starts_with(b"data:") {
        true => &text[text.iter().position(|byte| *byte == b',')? + 1..],
        false => text,
    };
    // Whole groups of four characters only: what is cut off there decodes without its end.
    let length = data.len().min(HEAD) / 4 * 4;
    base64::engine::general_purpose::STANDARD.decode(&data[..length]).ok()
}
