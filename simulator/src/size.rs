//! The size of the picture that a request asks for.

use serde_json::Value;

use crate::config::Config;
use crate::contract::{AspectRatio, Fields};
use crate::validation::{Image, Inline, Input, Violation};
use crate::video;

/// Where neither the request nor an image says otherwise.
const DEFAULT_SIDE: u32 = 1024;

/// What the interface tells of the video endpoint's frames.
const VIDEO: (u32, u32) = (1920, 1088);

/// Sides computed from an aspect ratio are multiples of this.
const STEP: f64 = 16.0;

/// The size of the picture in pixels, or what is wrong with it.
pub(crate) fn of_request(
    config: &Config,
    operation: &str,
    fields: &Fields,
    body: &Value,
    inputs: &[Input],
) -> Result<(u32, u32), Vec<Violation>> {
    let ask = Ask { fields, body, inputs };
    let size = if let Some(expanded) = ask.expanded() {
        expanded
    } else if let Some(sides) = ask.sides() {
        sides
    } else if let Some(ratio) = ask.aspect_ratio() {
        ratio
    } else if video::is_made_by(operation) {
        (VIDEO.0.into(), VIDEO.1.into())
    } else {
        ask.followed().unwrap_or((DEFAULT_SIDE.into(), DEFAULT_SIDE.into()))
    };
    check(config, size)
}

fn check(config: &Config, (width, height): (u64, u64)) -> Result<(u32, u32), Vec<Violation>> {
    let max_side = config.max_output_side;
    let mut violations = Vec::new();
    for (name, side) in [("width", width), ("height", height)] {
        if side > u64::from(max_side) {
            let msg = format!("Input should be less than or equal to {max_side}");
            violations.push(Violation::new(["body", name], "less_than_equal", msg));
        }
    }
    match (u32::try_from(width), u32::try_from(height)) {
        (Ok(w), Ok(h)) if violations.is_empty() => {
            if width * height <= config.max_output_pixels {
                return Ok((w, h));
            }
            let max = config.max_output_pixels;
            let problem =
                format!("a picture of {w} x {h} pixels is over the simulator's limit of {max} pixels");
            Err(vec![Violation::value(vec!["body".into()], problem)])
        }
        _ => Err(violations),
    }
}

struct Ask<'a> {
    fields: &'a Fields,
    body: &'a Value,
    inputs: &'a [Input],
}

impl Ask<'_> {
    /// The image with what is added to its four sides.
    fn expanded(&self) -> Option<(u64, u64)> {
        let sides = ["left", "right", "top", "bottom"];
        if sides.iter().any(|side| self.fields.get(side).is_none()) {
            return None;
        }
        let [left, right, top, bottom] = sides.map(|side| self.integer(side).unwrap_or(0));
        let (width, height) = self.followed().unwrap_or((DEFAULT_SIDE.into(), DEFAULT_SIDE.into()));
        Some((
            width.saturating_add(left).saturating_add(right),
            height.saturating_add(top).saturating_add(bottom),
        ))
    }

    /// `width` and `height`. Where one is missing it is that of the followed image, or else the default.
    fn sides(&self) -> Option<(u64, u64)> {
        let (width, height) = (self.integer("width"), self.integer("height"));
        if width.is_none() && height.is_none() {
            return None;
        }
        let (other_width, other_height) =
            self.followed().unwrap_or((DEFAULT_SIDE.into(), DEFAULT_SIDE.into()));
        Some((width.unwrap_or(other_width), height.unwrap_or(other_height)))
    }

    /// About a megapixel in the shape of `aspect_ratio`; a square where an operation that knows the field got none.
    fn aspect_ratio(&self) -> Option<(u64, u64)> {
        let text = self.fields.value(self.body, "aspect_ratio").and_then(Value::as_str);
        let square = AspectRatio { width: 1, height: 1 };
        let ratio = match text.and_then(AspectRatio::parse) {
            Some(ratio) if self.fields.get("aspect_ratio").is_some() => ratio,
            // A field that the contract leaves open: its value may be anything.
            Some(ratio) => {
                let min = AspectRatio { width: 1, height: 8 };
                let max = AspectRatio { width: 8, height: 1 };
                if ratio.lies_between(min, max) { ratio } else { square }
            }
            None => {
                self.fields.get("aspect_ratio")?;
                square
            }
        };
        let ratio = f64::from(ratio.width) / f64::from(ratio.height);
        let area = f64::from(DEFAULT_SIDE) * f64::from(DEFAULT_SIDE);
        let side = |length: f64| ((length / STEP).round() * STEP) as u64;
        Some((side((area * ratio).sqrt()), side((area / ratio).sqrt())))
    }

    /// The size of the image that the picture follows: the one that is worked upon, or else the first reference. An
    /// image that only inspires (`image_prompt`) is not followed.
    fn followed(&self) -> Option<(u64, u64)> {
        let inline = |input: &Input| match &input.image {
            Image::Inline(Inline { width, height, .. }) => Some((u64::from(*width), u64::from(*height))),
            Image::Elsewhere(_) => None,
        };
        let worked_upon = self.inputs.iter().find(|input| input.place == "image");
        let first = || self.inputs.iter().find(|input| !input.is_mask && input.place != "image_prompt");
        worked_upon.or_else(first).and_then(inline)
    }

    /// A field as a positive integer or zero, whatever form the number has. Zero is no size, and counts as absent.
    fn integer(&self, name: &str) -> Option<u64> {
        let value = self.body.get(name)?;
        let integer = value.as_u64().or_else(|| {
            value.as_f64().filter(|number| number.fract() == 0.0 && *number > 0.0).map(|number| number as u64)
        });
        integer.filter(|integer| *integer > 0)
    }
}
