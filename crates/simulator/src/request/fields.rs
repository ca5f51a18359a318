//! Rules for fields that a schema cannot express: fields that an operation does not have, that it
//! needs although the contract does not say so, and those whose type the contract leaves open.

use std::ops::RangeInclusive;

use imagekiln_painter::{
    images::{self, Image, Input},
    paint::OperationKind,
    video,
};
use serde_json::{Map, Value, json};

use crate::{
    billing::accounts::MAX_FINETUNE_NAME,
    contract::{self, MAX_VIOLATIONS, Need, Submission, Violation},
    values::{names, texts},
};

const REFERENCE: &str = "input_image";

/// The maximum number of ignored fields to remember, and of characters of their names.
const MAX_NAMES: usize = 16;
const MAX_NAME: usize = 64;

/// Returns the fields that the operation does not accept: those that the interface names, reference
/// images above its limit, and in strict mode all that it does not have. An operation whose fields
/// the contract leaves open may have any.
pub(super) fn refused(
    Submission { rules, fields, is_complete, .. }: &Submission,
    body: &Map<String, Value>,
    strict: bool,
) -> Vec<Violation> {
    let refuse = |(name, value): (&String, &Value)| {
        let given = !value.is_null();
        let hint = match rules.max_reference_images {
            _ if rules.not_accepted.contains(name) => {
                given.then(|| ": the operation does not accept this field".to_owned())?
            }
            Some(most) if given && reference_number(name) > Some(most) => {
                format!(": the operation takes at most {most} reference images")
            }
            _ if strict && *is_complete && fields.get(name).is_none() => {
                let meant = names::similar(name, fields.iter().map(|(name, _)| name));
                meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default()
            }
            _ => return None,
        };
        let msg = format!("Extra inputs are not permitted{hint}");
        Some(Violation::new(["body", name.as_str()], "extra_forbidden", msg))
    };
    // Each name is compared with those of all fields.
    body.iter().filter_map(refuse).take(MAX_VIOLATIONS).collect()
}

/// Returns the number of a reference image: 1 for `input_image`, 2 for `input_image_2`.
fn reference_number(name: &str) -> Option<usize> {
    match name.strip_prefix(REFERENCE)? {
        "" => Some(1),
        number => {
            let digits = number.strip_prefix('_')?;
            // `parse` would accept a plus sign.
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        }
    }
}

/// Removes the fields without an effect, because the contract lists all fields of the operation.
/// Returns them for the log. Images are summarized.
pub(super) fn take_ignored(
    submission: &Submission,
    body: &mut Map<String, Value>,
) -> Map<String, Value> {
    if !submission.is_complete {
        return Map::new();
    }
    let (listed, unlisted): (Map<_, _>, Map<_, _>) = std::mem::take(body)
        .into_iter()
        .partition(|(name, _)| submission.fields.get(name).is_some());
    *body = listed;
    unlisted.into_iter().map(|(name, value)| (name, summarized(value))).collect()
}

/// The names of the first fields, which are printable and sorted.
pub(super) fn first_names(fields: &Map<String, Value>) -> Vec<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let printable = |name: &String| {
        name.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '?' }).collect()
    };
    // Other crates of a program decide whether a map keeps its order.
    let mut names: Vec<_> = fields.keys().map(printable).collect();
    names.sort_unstable();
    names.truncate(MAX_NAMES);
    names
}

fn summarized(value: Value) -> Value {
    if value.as_str().is_some_and(images::seems_image) {
        "[an image, not read]".into()
    } else {
        value
    }
}

/// Returns the violation of a request that lacks what it needs. `null` counts as absent.
pub(super) fn lacking(
    need: &Need,
    body: &Map<String, Value>,
    inputs: &[Input],
) -> Option<Violation> {
    match need {
        Need::Fields { any_of, unless_alpha_in, why } => {
            let has = |name: &String| body.get(name).is_some_and(|value| !value.is_null());
            let (first, others) = any_of.split_first()?;
            if any_of.iter().any(has)
                || unless_alpha_in.iter().any(|field| may_have_alpha(field, inputs))
            {
                return None;
            }
            let or = others.iter().map(|name| format!(", or `{name}`")).collect::<String>();
            let msg = format!("Field required{or}: {why}");
            Some(Violation::new(["body", first.as_str()], "missing", msg))
        }
        Need::Images { images, why } => {
            let given = inputs.len() + urls(body, inputs);
            let problem = format!("the operation needs {why}: the request has {given}");
            (given < *images).then(|| Violation::value(vec!["body".into()], problem))
        }
    }
}

/// Whether the image in a field has an alpha channel, or is not known.
fn may_have_alpha(field: &str, inputs: &[Input]) -> bool {
    let image = inputs.iter().find(|input| input.place == field).map(|input| &input.image);
    !matches!(image, Some(Image::Inline(image)) if !image.has_alpha())
}

/// The number of URLs, at any depth, in fields that the contract leaves open.
fn urls(body: &Map<String, Value>, inputs: &[Input]) -> usize {
    let mut urls = 0;
    let mut count = |text: &str| {
        urls += usize::from(images::host(text).is_some());
        false
    };
    let is_read = |name: &String| inputs.iter().any(|input| input.place == *name);
    for (name, value) in body {
        if name != "webhook_url" && !is_read(name) {
            texts::any(value, &mut count);
        }
    }
    urls
}

/// The maximum side of a webp, in pixels.
const MAX_SIDE: i64 = 16383;

/// The maximum number of keyframes of a video, according to the interface.
pub(super) const MAX_KEYFRAMES: usize = 10;

/// The violations of fields whose type the contract leaves open. Their names and bounds are the
/// simulator's own.
pub(super) fn open(kind: OperationKind, body: &Value) -> Vec<Violation> {
    let integer = |bounds: RangeInclusive<i64>| {
        let (minimum, maximum) = bounds.into_inner();
        json!({ "type": "integer", "nullable": true, "minimum": minimum, "maximum": maximum })
    };
    let text = json!({ "type": "string", "nullable": true });
    let schemas = match kind {
        OperationKind::Erase => json!({ "dilation": integer(0..=256) }),
        OperationKind::Outpaint => json!({
            "width": integer(1..=MAX_SIDE),
            "height": integer(1..=MAX_SIDE),
            "reference_offset_x": integer(-MAX_SIDE..=MAX_SIDE),
            "reference_offset_y": integer(-MAX_SIDE..=MAX_SIDE),
        }),
        OperationKind::Video => {
            let (duration, fps) = (integer(video::DURATIONS), integer(video::RATES));
            if body["mode"] == "v2v" {
                json!({ "duration": duration, "fps": fps, "video": text, "start_video": text })
            } else {
                let keyframes = json!({
                    "type": "array",
                    "nullable": true,
                    "minItems": 1,
                    "maxItems": MAX_KEYFRAMES,
                });
                json!({ "duration": duration, "fps": fps, "keyframes": keyframes })
            }
        }
        OperationKind::Finetune => {
            let most = MAX_FINETUNE_NAME;
            json!({ "name": { "type": "string", "nullable": true, "maxLength": most } })
        }
        _ => return Vec::new(),
    };
    contract::violations(&json!({ "properties": schemas }), &["body".into()], body)
}
