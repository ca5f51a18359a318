//! Checks fields by rules that a schema cannot express. They are about fields that an operation
//! does not have, about fields that it needs although the contract does not say so, and about
//! fields whose type the contract leaves open.

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

/// The maximum number of ignored fields that are remembered, and of characters of a name.
const MAX_NAMES: usize = 16;
const MAX_NAME: usize = 64;

/// Returns violations for the fields that the operation does not accept: fields that the interface
/// names as not accepted, too many reference images, and in strict mode all fields that the
/// operation does not have. If the contract does not list all fields of the operation, it may have
/// any.
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
                let meant = names::similar(name, fields.0.keys().map(String::as_str));
                meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default()
            }
            _ => return None,
        };
        let msg = format!("Extra inputs are not permitted{hint}");
        Some(Violation::new(["body", name.as_str()], "extra_forbidden", msg))
    };
    // Limited, because each name is compared with the names of all fields for a hint.
    body.iter().filter_map(refuse).take(MAX_VIOLATIONS).collect()
}

/// Returns the number of a reference image: 1 for `input_image`, 2 for `input_image_2`.
fn reference_number(name: &str) -> Option<usize> {
    match name.strip_prefix(REFERENCE)? {
        "" => Some(1),
        number => names::digits(number.strip_prefix('_')?)?.parse().ok(),
    }
}

/// If the contract lists all fields of the operation, removes the other fields, which have no
/// effect. Returns them for the log, with images summarized.
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

/// Returns the names of the first fields in alphabetical order. `?` stands for every character that
/// is not a letter, a digit, `_`, `.` or `-`.
pub(super) fn first_names(fields: &Map<String, Value>) -> Vec<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let printable = |name: &String| {
        name.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '?' }).collect()
    };
    // Sort the names, because a feature that another crate enables decides whether a map keeps the
    // order of its fields.
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

/// Returns a violation if the request does not have what it needs. `null` counts as missing.
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
            (given < *images).then(|| Violation::value(["body"], problem))
        }
    }
}

/// Returns whether the image in a field may have an alpha channel. If the request has no image, or
/// the simulator knows only its URL, the image may have one.
fn may_have_alpha(field: &str, inputs: &[Input]) -> bool {
    let image = inputs.iter().find(|input| input.place == field).map(|input| &input.image);
    !matches!(image, Some(Image::Inline(image)) if !image.has_alpha())
}

/// Counts the URLs, at any depth, in fields that were not read as images. `webhook_url` does not
/// count.
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

/// The maximum side of a WebP picture, in pixels.
const MAX_SIDE: i64 = 16383;

/// The maximum number of keyframes of a video, which the interface describes.
pub(super) const MAX_KEYFRAMES: usize = 10;

/// Returns the violations of fields whose types the contract leaves open. The simulator has chosen
/// the names and the bounds of these fields itself.
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
