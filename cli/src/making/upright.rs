//! Photos that are stored turned, as phones store them, and masks that may not fit them.

use serde_json::Value;

use crate::{failure::Failure, output::Output};
use imagekiln::{FieldKind, ImageInput, Request};
use imagekiln_batch::turned_upright;

/// Turns the images of a request that are stored turned, so that they are sent as viewers show
/// them.
pub fn turned(request: Request) -> Result<Request, Failure> {
    let mut changes = Request::new(request.operation());
    for name in request.outline().keys() {
        let Some(image) = request.image_in(name) else { continue };
        if image.orientation() == 1 {
            continue;
        }
        // A decoder may fill what is missing with gray.
        Request::new(request.operation()).image(name, image.clone()).check_images()?;
        let upright = turned_upright(image).ok_or_else(|| {
            Failure::request(format!("{name}: could not turn the image upright")).advise(
                "nothing was sent; save it upright as JPEG or PNG with an image editor, and leave \
                 --upright out",
            )
        })?;
        changes = changes.image(name, ImageInput::bytes(upright));
    }
    Ok(request.changed_by(changes))
}

/// Describes a mask that fits an image both as it is stored and as viewers show it. Only a person
/// knows on which of them it was drawn.
pub fn ambiguous_mask(request: &Request, field: &str) -> Option<String> {
    let Some(FieldKind::Image { mask_of: Some(masked), .. }) =
        request.operation().field(field).map(|field| &field.kind)
    else {
        return None;
    };
    let outline = request.outline();
    let shown = |name: &str| {
        let image = outline.get(name)?.as_object()?;
        let side = |name| image.get(name).and_then(Value::as_u64);
        let orientation = image.get("orientation").and_then(Value::as_u64).unwrap_or(1);
        let sides = (side("width")?, side("height")?);
        Some((if orientation > 4 { (sides.1, sides.0) } else { sides }, orientation))
    };
    let ((mask_sides, mask), (sides, orientation)) = (shown(field)?, shown(masked)?);
    (mask_sides == sides && mask != orientation).then(|| {
        format!("`{masked}` has the EXIF orientation {orientation} and `{field}` has {mask}")
    })
}

/// What to do about it.
pub const MASK_ADVICE: &str = "if the mask was drawn on what viewers show, pass --upright";

/// Warns if a mask fits an image both as it is stored and as viewers show it.
pub fn warn(output: &Output, request: &Request, field: &str) {
    if let Some(masks) = ambiguous_mask(request, field) {
        output.warning(&format!("{masks}: {MASK_ADVICE}"));
    }
}
