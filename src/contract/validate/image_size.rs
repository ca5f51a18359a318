//! Validates the dimensions of images from their headers, without decoding.
//!
//! The service must check images at URLs and images in formats whose size cannot be read here.

use std::collections::HashMap;

use super::{
    super::{
        field_value::FieldValue,
        operation::{FieldKind, Operation},
    },
    image_content,
};
use crate::Violation;

/// Enough for the headers of all formats. A JPEG may have a large preview before its dimensions.
const HEAD: usize = 512 * 1024;

/// The contract does not define whether a megapixel is 10^6 or 2^20 pixels. The larger value
/// refuses nothing that the service may accept.
const MEGAPIXEL: f64 = 1_048_576.0;

pub(super) fn violations(
    operation: &Operation,
    values: &HashMap<&str, &FieldValue>,
    found: &mut Vec<Violation>,
) {
    let size = |name: &str| size(values.get(name)?);
    for field in operation.fields {
        let FieldKind::Image { mask_of, max_megapixels, .. } = field.kind else { continue };
        if mask_of.is_none() && max_megapixels.is_none() {
            continue;
        }
        let Some((width, height)) = size(field.name) else { continue };
        if let Some(limit) = max_megapixels
            && (width as f64) * (height as f64) > limit * MEGAPIXEL
        {
            let msg = format!("is {width} x {height} pixels; must have at most {limit} megapixels");
            found.push(Violation::of_field(field.name, "image_too_large", msg));
        }
        if let Some(masked) = mask_of
            && let Some((masked_width, masked_height)) = size(masked)
            && (masked_width, masked_height) != (width, height)
        {
            let msg = format!(
                "is {width} x {height} pixels; must be {masked_width} x {masked_height} pixels, \
                 like `{masked}`"
            );
            found.push(Violation::of_field(field.name, "image_size_mismatch", msg));
        }
    }
}

fn size(value: &FieldValue) -> Option<(usize, usize)> {
    let FieldValue::Image(image) = value else { return None };
    let size = imagesize::blob_size(&image_content::head(image, HEAD)?).ok()?;
    Some((size.width, size.height))
}
