//! Validates the dimensions of images from their headers, without decoding.
//!
//! The service must check images at URLs and images in formats whose size cannot be read here.

use super::{
    super::{operation::FieldKind, request::Request},
    image_content,
    problem::Problem,
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
        let Some(size) = size(image) else { continue };
        let too_large = max_megapixels.and_then(|limit| area_problem(size, limit));
        let mismatch = masked.and_then(|masked| {
            let sibling = request.images.beside(steps, masked)?;
            size_problem(size, self::size(sibling)?, masked)
        });
        found.extend([too_large, mismatch].into_iter().flatten().map(|one| one.of(steps)));
    }
}

fn area_problem((width, height): (usize, usize), limit: f64) -> Option<Problem> {
    let is_too_large = (width as f64) * (height as f64) > limit * MEGAPIXEL;
    let msg = format!("is {width} x {height} pixels; must have at most {limit} megapixels");
    is_too_large.then(|| Problem::new("value_error", msg))
}

fn size_problem(
    size: (usize, usize),
    masked_size: (usize, usize),
    masked: &str,
) -> Option<Problem> {
    let ((width, height), (masked_width, masked_height)) = (size, masked_size);
    let msg = format!(
        "is {width} x {height} pixels; must be {masked_width} x {masked_height} pixels, like \
         `{masked}`"
    );
    (size != masked_size).then(|| Problem::new("value_error", msg))
}

pub(in crate::contract) fn size(image: &ImageInput) -> Option<(usize, usize)> {
    let size = imagesize::blob_size(&image_content::head(image, HEAD)?).ok()?;
    Some((size.width, size.height))
}
