//! Computes the size of the picture that a request asks for.

use imagekiln_painter::{
    images::{Image, Inline, Input},
    paint::{OperationKind, person},
};
use serde_json::{Value, json};

use crate::{
    config::Config,
    contract::{self, AspectRatio, Submission, Validated, Violation},
};

/// The size if neither the request nor an image determines it.
const DEFAULT: (u64, u64) = (1024, 1024);

/// The maximum frame size of the video endpoint, according to the contract.
const VIDEO: (u64, u64) = (1920, 1088);

/// If a side is computed from an aspect ratio, it is a multiple of this.
const STEP: f64 = 16.0;

/// The maximum size of an outpainted picture, in megapixels.
const MAX_OUTPAINTED: f64 = 4.0;

/// Returns the size of the picture in pixels, or the violations.
pub(crate) fn of_request(
    config: &Config,
    submission: &Submission,
    body: &Value,
    inputs: &[Input],
) -> Validated<(u32, u32)> {
    let kind = submission.rules.kind;
    let query = SizeQuery { config, submission, body, inputs };
    let size = match kind {
        // The picture has the size of its image. The request can set the size only if there is no
        // image.
        OperationKind::Fill | OperationKind::Deblur | OperationKind::Erase => {
            query.followed().or_else(|| query.sides()).unwrap_or(DEFAULT)
        }
        OperationKind::TryOn => query.person().or_else(|| query.sides()).unwrap_or(DEFAULT),
        OperationKind::Expand => query.expanded(),
        OperationKind::Outpaint => query.outpainted()?,
        OperationKind::Video => query
            .sides()
            .or_else(|| query.ratio().map(largest_frame))
            .or_else(|| Some(scaled_down(query.followed()?, VIDEO.0 * VIDEO.1)))
            .unwrap_or(VIDEO),
        OperationKind::Create
        | OperationKind::Canny
        | OperationKind::Depth
        | OperationKind::Finetune => query
            .sides()
            .or_else(|| Some(shaped(query.ratio()?, DEFAULT)))
            .or_else(|| query.followed())
            .unwrap_or(DEFAULT),
    };
    check(config, size)
}

/// A size with this ratio of width to height, and about the area of another size.
fn shaped(ratio: f64, (width, height): (u64, u64)) -> (u64, u64) {
    let area = (width * height) as f64;
    let stepped = |length: f64| ((length / STEP).round() * STEP) as u64;
    (stepped((area * ratio).sqrt()), stepped((area / ratio).sqrt()))
}

/// The largest frame of a video with this ratio of width to height, such as 1920 x 1088 for 16:9.
fn largest_frame(ratio: f64) -> (u64, u64) {
    let (width, height) = shaped(ratio, VIDEO);
    let over = if width * height > VIDEO.0 * VIDEO.1 { STEP as u64 } else { 0 };
    if width > height { (width - over, height) } else { (width, height - over) }
}

/// Scales a size down to at most this many pixels, keeping its shape.
fn scaled_down((width, height): (u64, u64), pixels: u64) -> (u64, u64) {
    let scale = (pixels as f64 / width.saturating_mul(height) as f64).sqrt().min(1.0);
    let side = |length: u64| ((length as f64 * scale) as u64).max(1);
    (side(width), side(height))
}

fn check(config: &Config, (width, height): (u64, u64)) -> Validated<(u32, u32)> {
    let side = json!({ "maximum": config.max_output_side });
    let schema = json!({ "properties": { "width": side, "height": side } });
    let size = json!({ "width": width, "height": height });
    let violations = contract::violations(&schema, &["body".into()], &size);
    let (Ok(w), Ok(h), true) = (u32::try_from(width), u32::try_from(height), violations.is_empty())
    else {
        return Err(violations);
    };
    if width * height > config.max_output_pixels {
        let max = config.max_output_pixels;
        let problem =
            format!("a picture of {w} x {h} pixels exceeds the simulator's limit of {max} pixels");
        return Err(vec![Violation::value(["body"], problem)]);
    }
    Ok((w, h))
}

struct SizeQuery<'a> {
    config: &'a Config,
    submission: &'a Submission,
    body: &'a Value,
    inputs: &'a [Input],
}

impl SizeQuery<'_> {
    /// The size of the image, extended on its four sides.
    fn expanded(&self) -> (u64, u64) {
        let [left, right, top, bottom] =
            ["left", "right", "top", "bottom"].map(|side| self.integer(side).unwrap_or(0));
        let (width, height) = self.followed().unwrap_or(DEFAULT);
        (
            width.saturating_add(left).saturating_add(right),
            height.saturating_add(top).saturating_add(bottom),
        )
    }

    /// The size of an outpainted picture: `width` and `height`, or the size of the reference image,
    /// which must overlap the picture.
    fn outpainted(&self) -> Validated<(u64, u64)> {
        let reference = self.followed();
        let size = self.sides().or(reference).unwrap_or(DEFAULT);
        let (width, height) = size;
        let most = self.config.pixels(MAX_OUTPAINTED);
        if width.saturating_mul(height) > most {
            let problem = format!(
                "a picture of {width} x {height} pixels exceeds the limit of {most} pixels"
            );
            return Err(vec![Violation::value(["body"], problem)]);
        }
        let Some(reference) = reference else { return Ok(size) };
        let axes = [
            ("reference_offset_x", width, reference.0),
            ("reference_offset_y", height, reference.1),
        ];
        let unseen = |(name, picture, reference): (&str, u64, u64)| {
            let offset = i128::from(contract::integer_field(self.body, name).unwrap_or(0));
            let is_seen = offset < picture.into() && offset + i128::from(reference) > 0;
            let problem = "the reference is outside the picture";
            (!is_seen).then(|| Violation::value(["body", name], problem))
        };
        let violations: Vec<_> = axes.into_iter().filter_map(unseen).collect();
        if violations.is_empty() { Ok(size) } else { Err(violations) }
    }

    /// The size of the person's image for a try-on. If it is above the limit, it is scaled down.
    fn person(&self) -> Option<(u64, u64)> {
        let size = person(self.inputs).and_then(size_of)?;
        let rules = &self.submission.rules;
        Some(match rules.max_input_megapixels.zip(rules.scaled_to_megapixels) {
            Some((most, to)) if size.0.saturating_mul(size.1) > self.config.pixels(most) => {
                scaled_down(size, self.config.pixels(to))
            }
            _ => size,
        })
    }

    /// The size that `width` and `height` set. If one of them is missing, that side comes from the
    /// image that the picture follows, or from the default.
    fn sides(&self) -> Option<(u64, u64)> {
        let (width, height) = (self.integer("width"), self.integer("height"));
        if width.is_none() && height.is_none() {
            return None;
        }
        let (other_width, other_height) = self.followed().unwrap_or(DEFAULT);
        Some((width.unwrap_or(other_width), height.unwrap_or(other_height)))
    }

    /// The requested aspect ratio, as width divided by height. Without a ratio, it is that of a
    /// square if the operation has the field `aspect_ratio`, and `None` otherwise.
    fn ratio(&self) -> Option<f64> {
        let fields = &self.submission.fields;
        let given = fields.value(self.body, "aspect_ratio").and_then(Value::as_str);
        let given = given.and_then(AspectRatio::parse);
        let is_listed = fields.get("aspect_ratio").is_some();
        let (min, max) = (AspectRatio { width: 1, height: 8 }, AspectRatio { width: 8, height: 1 });
        // If the contract leaves the field open, it may contain any ratio, so ignore extreme ones.
        let usable = given.filter(|ratio| is_listed || ratio.lies_between(min, max));
        let ratio = usable.map_or(1.0, |ratio| f64::from(ratio.width) / f64::from(ratio.height));
        (is_listed || given.is_some()).then_some(ratio)
    }

    /// The size of the image that the picture follows: the image that is edited, or else the first
    /// reference image. Masks and `image_prompt` do not count.
    fn followed(&self) -> Option<(u64, u64)> {
        let edited = self.inputs.iter().find(|input| input.place == "image");
        let first =
            || self.inputs.iter().find(|input| !input.is_mask && input.place != "image_prompt");
        edited.or_else(first).and_then(size_of)
    }

    /// A field that is a positive integer. Zero is not a size, so it counts as missing.
    fn integer(&self, name: &str) -> Option<u64> {
        u64::try_from(contract::integer_field(self.body, name)?).ok().filter(|integer| *integer > 0)
    }
}

/// The size of an image. Unknown if the image was given by its URL.
fn size_of(input: &Input) -> Option<(u64, u64)> {
    match &input.image {
        Image::Inline(Inline { width, height, .. }) => {
            Some((u64::from(*width), u64::from(*height)))
        }
        Image::Elsewhere(_) => None,
    }
}
