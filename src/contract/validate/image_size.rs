//! Validates the dimensions of images from their headers, without decoding.
//!
//! The service must check images at URLs and images in formats whose size cannot be read here.

use super::{
    super::{operation::FieldKind, request::Request},
    image_content,
};
use crate::{ImageInput, Violation};

/// Enough for the headers of all formats. A JPEG may have a large preview before its dimensions.
const HEAD: usize = 512 * 1024;

/// The contract does not define whether a megapixel is 10^6 or 2^20 pixels. The larger value
/// refuses nothing that the service may accept.
const MEGAPIXEL: f64 = 1_048_576.0;

pub(super) fn violations(request: &Request, found: &mut Vec<Violation>) {
    for (steps, image) in request.images.iter() {
        let Some(kind) = request.operation.kind_at(steps) else { continue };
        let FieldKind::Image { mask_of, same_size, max_megapixels, .. } = kind else { continue };
        let masked = mask_of.filter(|_| *same_size);
        if masked.is_none() && max_megapixels.is_none() {
            continue;
        }
        let Some((width, height)) = size(image) else { continue };
        let is = format!("is {width} x {height} pixels");
        let mut report = |msg| found.push(Violation::of_value(steps, "value_error", msg));
        if let Some(limit) = max_megapixels
            && (width as f64) * (height as f64) > limit * MEGAPIXEL
        {
            report(format!("{is}; must have at most {limit} megapixels"));
        }
        if let Some(masked) = masked
            && let Some((masked_width, masked_height)) =
                request.images.beside(steps, masked).and_then(size)
            && (width, height) != (masked_width, masked_height)
        {
            report(format!(
                "{is}; must be {masked_width} x {masked_height} pixels, like `{masked}`"
            ));
        }
    }
}

pub(in crate::contract) fn size(image: &ImageInput) -> Option<(usize, usize)> {
    let size = imagesize::blob_size(&image_content::head(image, HEAD)?).ok()?;
    Some((size.width, size.height))
}
