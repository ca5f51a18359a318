//! Rules for fields that a schema cannot express: fields that an operation does not have, that it
//! needs although the contract does not say so, and those whose type the contract leaves open.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use crate::{
    billing::accounts::MAX_FINETUNE_NAME,
    contract::{self, Need, OperationKind, Submission, Violation},
    media::{
        images::{self, Image, Input},
        video,
    },
    values::{names, texts},
};

const REFERENCE: &str = "input_image";

/// The maximum number of ignored fields to remember, and of characters of their names.
const MAX_NAMES: usize = 16;
const MAX_NAME: usize = 64;

/// The fields without an effect, because the contract lists all fields of the operation.
#[derive(Default)]
pub(crate) struct Ignored {
    /// Their names, which are printable and sorted.
    pub(crate) names: Vec<String>,
    /// Their values for the log. Images are summarized.
    pub(crate) values: Map<String, Value>,
}

/// Returns the fields that the interface says the operation does not accept, and the reference
/// images above its limit.
pub(super) fn refused(submission: &Submission, body: &Map<String, Value>) -> Vec<Violation> {
    let given = body.iter().filter(|(_, value)| !value.is_null());
    let refuse = |(name, _): (&String, &Value)| {
        let problem = match submission.rules.max_reference_images {
            _ if submission.rules.not_accepted.contains(name) => {
                "the operation does not accept this field".to_owned()
            }
            Some(most) if reference_number(name)? > most => {
                format!("the operation takes at most {most} reference images")
            }
            _ => return None,
        };
        let msg = format!("Extra inputs are not permitted: {problem}");
        Some(Violation::new(["body", name.as_str()], "extra_forbidden", msg))
    };
    given.filter_map(refuse).collect()
}

/// Returns all fields that the operation does not have, with the name that was probably meant. An
/// operation whose fields the contract leaves open may have any.
pub(super) fn unknown(submission: &Submission, body: &Map<String, Value>) -> Vec<Violation> {
    if !submission.is_complete {
        return Vec::new();
    }
    let is_known = |name: &String| {
        submission.fields.get(name).is_some() || submission.rules.not_accepted.contains(name)
    };
    let mut unknown: Vec<_> = body.keys().filter(|name| !is_known(name)).collect();
    unknown.sort_unstable();
    unknown.truncate(MAX_NAMES);
    let refuse = |name: &String| {
        let name = printable(name);
        let mut msg = "Extra inputs are not permitted".to_owned();
        if let Some(meant) = names::similar(&name, submission.fields.iter().map(|(name, _)| name)) {
            msg = format!("{msg}: did you mean `{meant}`?");
        }
        Violation::new(["body", name.as_str()], "extra_forbidden", msg)
    };
    unknown.into_iter().map(refuse).collect()
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

/// Removes the fields without an effect.
pub(super) fn take(submission: &Submission, body: &mut Map<String, Value>) -> Ignored {
    let mut ignored = Ignored::default();
    if !submission.is_complete {
        return ignored;
    }
    let (listed, unlisted): (Map<_, _>, Map<_, _>) = std::mem::take(body)
        .into_iter()
        .partition(|(name, _)| submission.fields.get(name).is_some());
    *body = listed;
    // Other crates of a program decide whether a map keeps its order.
    let mut names: Vec<_> = unlisted.keys().map(|name| printable(name)).collect();
    names.sort_unstable();
    names.truncate(MAX_NAMES);
    ignored.names = names;
    ignored.values = unlisted.into_iter().map(|(name, value)| (name, summarized(value))).collect();
    ignored
}

fn printable(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    name.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '?' }).collect()
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
