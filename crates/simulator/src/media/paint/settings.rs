//! The settings of a picture other than prompt, seed, size and images.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::{Fields, OperationKind, integer_field as integer};

/// Longer names are truncated to this many characters.
const MAX_NAME: usize = 64;

/// The strength of an image prompt if the operation has no field for it.
const IMAGE_PROMPT_STRENGTH: f32 = 0.5;

/// The neutral guidance, if the contract has no default.
const NEUTRAL_GUIDANCE: f32 = 3.0;

/// The number of steps of a finished picture.
const ALL_STEPS: u32 = 50;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(super) guidance: Option<Guidance>,
    pub(super) steps: Option<u32>,
    pub(super) raw: bool,
    pub(super) upsampled: bool,
    pub(super) aspect_ratio: Option<String>,
    /// From 0 (only the painting) to 1 (only the image prompt).
    pub(super) image_prompt_strength: f32,
    pub(super) finetune: Option<FinetuneTint>,
    /// The pixels added to the left and at the top.
    pub(super) added: (i64, i64),
    /// The position of a reference; `None` is centred.
    pub(super) offset: (Option<i64>, Option<i64>),
    pub(super) mode: Option<String>,
    /// The number of pixels by which a mask is dilated.
    pub(super) dilation: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Guidance {
    pub(super) value: f32,
    /// The value without any effect.
    pub(super) neutral: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FinetuneTint {
    pub(super) name: String,
    /// From 0 (no influence) over 1 (full influence) to 2.
    pub(super) strength: f32,
}

impl Settings {
    /// Reads a validated body. Open fields with a value of another type count as absent.
    pub(crate) fn read(fields: &Fields, body: &Value) -> Self {
        let number = |name: &str| {
            let number = fields.value(body, name).and_then(Value::as_f64)? as f32;
            Some(number.clamp(f32::MIN, f32::MAX))
        };
        let text = |name: &str| {
            let text = fields.value(body, name).and_then(Value::as_str)?;
            Some(text.chars().take(MAX_NAME).collect::<String>())
        };
        let truth = |name: &str| fields.value(body, name).and_then(Value::as_bool).unwrap_or(false);
        let natural =
            |name: &str| u32::try_from(integer(body, name).unwrap_or(0).max(0)).unwrap_or(u32::MAX);
        let guidance = |value: f32| {
            let default = fields.get("guidance").and_then(|field| field.default.as_ref()?.as_f64());
            Guidance { value, neutral: default.map_or(NEUTRAL_GUIDANCE, |number| number as f32) }
        };
        Self {
            guidance: number("guidance").map(guidance),
            steps: number("steps").map(|steps| steps as u32),
            raw: truth("raw"),
            upsampled: truth("prompt_upsampling"),
            aspect_ratio: text("aspect_ratio"),
            image_prompt_strength: number("image_prompt_strength")
                .unwrap_or(IMAGE_PROMPT_STRENGTH)
                .clamp(0.0, 1.0),
            finetune: text("finetune_id").map(|name| FinetuneTint {
                name,
                strength: number("finetune_strength").unwrap_or(1.0).clamp(0.0, 2.0),
            }),
            added: (natural("left").into(), natural("top").into()),
            offset: (integer(body, "reference_offset_x"), integer(body, "reference_offset_y")),
            mode: text("mode"),
            dilation: natural("dilation"),
        }
    }

    /// Whether a request for an operation of this kind can have these settings. `offsets` are those
    /// at which an image may be placed.
    pub(super) fn are_possible(&self, kind: OperationKind, offsets: &RangeInclusive<i64>) -> bool {
        let guidance = self.guidance.iter().all(|guidance| {
            guidance.value.is_finite() && guidance.neutral.is_finite() && guidance.neutral > 0.0
        });
        let finetune = self.finetune.as_ref();
        let strength = finetune.is_none_or(|tune| (0.0..=2.0).contains(&tune.strength));
        let names =
            [finetune.map(|tune| &tune.name), self.aspect_ratio.as_ref(), self.mode.as_ref()];
        let (added, (x, y)) = (self.added, self.offset);
        let placed = match kind {
            OperationKind::Expand => offsets.contains(&added.0) && offsets.contains(&added.1),
            OperationKind::Outpaint => [x, y].iter().flatten().all(|at| offsets.contains(at)),
            _ => true,
        };
        (guidance && strength && placed)
            && (0.0..=1.0).contains(&self.image_prompt_strength)
            && names.into_iter().flatten().all(|name| name.chars().count() <= MAX_NAME)
    }

    /// How finished the picture is, from 0 to 1, by its steps or its mode.
    pub(super) fn finish(&self) -> f32 {
        let steps = match (self.steps, self.mode.as_deref()) {
            (Some(steps), _) => steps,
            (None, Some("fast")) => ALL_STEPS / 2,
            (None, _) => ALL_STEPS,
        };
        steps.min(ALL_STEPS) as f32 / ALL_STEPS as f32
    }

    /// The settings as listed in the caption.
    pub(super) fn facts(&self, has_image_prompt: bool) -> Vec<String> {
        let finetune = self.finetune.as_ref();
        let image_prompt = has_image_prompt.then_some(self.image_prompt_strength);
        let plural = if self.steps == Some(1) { "" } else { "s" };
        let facts = [
            finetune.map(|tune| format!("LoRA {} at {}", tune.name, tune.strength)),
            self.aspect_ratio.clone(),
            self.raw.then(|| "raw".to_owned()),
            self.guidance.map(|guidance| format!("guidance {}", guidance.value)),
            self.steps.map(|steps| format!("{steps} step{plural}")),
            self.upsampled.then(|| "prompt upsampled".to_owned()),
            image_prompt.map(|strength| format!("image prompt at {strength}")),
            self.mode.as_ref().map(|mode| format!("mode {mode}")),
        ];
        facts.into_iter().flatten().collect()
    }
}
