//! Validates the dimensions of images from their headers, without decoding.
//!
//! The service must check images at URLs and images in formats whose size cannot be read here.

use std::collections::BTreeMap;

use super::{
    super::{
        field_value::FieldValue,
        operation::{Field, FieldKind, Operation},
    },
    image_content,
    problem::Problem,
};
use crate::{ImageInput, Location, Violation};

/// Enough for the headers of all formats. A JPEG may have a large preview before its dimensions.
const HEAD: usize = 512 * 1024;

/// The contract does not define whether a megapixel is 10^6 or 2^20 pixels. The larger value
/// refuses nothing that the service may accept.
const MEGAPIXEL: f64 = 1_048_576.0;

pub(super) fn violations(
    operation: &Operation,
    values: &BTreeMap<&str, &FieldValue>,
    found: &mut Vec<Violation>,
) {
    // Most requests have no images, and the size of nothing else is limited.
    if values.values().all(|value| matches!(value, FieldValue::Json(_))) {
        return;
    }
    check_fields(operation.fields, &|name| values.get(name).copied(), &mut Vec::new(), found);
}

/// Validates the images among the values of `fields`, which are at `steps`.
fn check_fields<'a>(
    fields: &[Field],
    value: &dyn Fn(&str) -> Option<&'a FieldValue>,
    steps: &mut Vec<Location>,
    found: &mut Vec<Violation>,
) {
    for field in fields {
        let Some(own) = value(field.name) else { continue };
        steps.push(Location::Name(field.name.to_owned()));
        check(field, own, value, steps, found);
        steps.pop();
    }
}

fn check<'a>(
    field: &Field,
    own: &'a FieldValue,
    sibling: &dyn Fn(&str) -> Option<&'a FieldValue>,
    steps: &mut Vec<Location>,
    found: &mut Vec<Violation>,
) {
    match (&field.kind, own) {
        (FieldKind::Image { mask_of, same_size, max_megapixels, .. }, FieldValue::Image(image)) => {
            let masked = mask_of.filter(|_| *same_size);
            if masked.is_none() && max_megapixels.is_none() {
                return;
            }
            let Some(size) = size(image) else { return };
            let too_large = max_megapixels.and_then(|limit| area_problem(size, limit));
            let mismatch = masked.and_then(|masked| match sibling(masked)? {
                FieldValue::Image(image) => size_problem(size, self::size(image)?, masked),
                _ => None,
            });
            found.extend([too_large, mismatch].into_iter().flatten().map(|one| one.at(steps)));
        }
        (FieldKind::List { items }, FieldValue::List(values)) => {
            for (index, value) in values.iter().enumerate() {
                steps.push(Location::Index(index as i64));
                check(items, value, &|_| None, steps, found);
                steps.pop();
            }
        }
        (FieldKind::Object { fields }, FieldValue::Object(members)) => {
            let value = |name: &str| {
                members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
            };
            check_fields(fields, &value, steps, found);
        }
        _ => {}
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
