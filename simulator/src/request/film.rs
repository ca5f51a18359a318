//! What a video is made from: its keyframes and their times, or another video. The contract leaves
//! these fields open, so their names are the simulator's own; the limits are the interface's.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::validation::{Checked, NO_URL, is_url};
use crate::{
    contract::{Step, Violation},
    media::{
        images::{Image, Input, host},
        paint::CLIP,
        video::{self, DEFAULT_DURATION, DURATIONS, VideoSpec},
    },
};

const KEYFRAMES: &str = "keyframes";

/// The first is the simulator's own, and published clients send the second.
const VIDEOS: [&str; 2] = ["video", "start_video"];

/// According to the interface.
const MAX_KEYFRAMES: usize = 10;

/// What a video is made from.
pub(crate) struct Material {
    /// The duration in seconds if the request sets none.
    duration: u32,
    /// The times of a given video's frames.
    clip: Option<Vec<f32>>,
}

fn at(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    [Step::from("body")].into_iter().chain(steps).collect()
}

fn missing(name: &str, why: &str) -> Vec<Violation> {
    vec![Violation::new(["body", name], "missing", format!("Field required: {why}"))]
}

impl Material {
    /// Reads a given video. Its frames become inputs, and its text in the body a summary.
    pub(crate) fn read(checked: &mut Checked, max_pixels: u64) -> Result<Self, Vec<Violation>> {
        let plain = Self { duration: DEFAULT_DURATION, clip: None };
        let mode = checked.body.get("mode").and_then(Value::as_str);
        if mode != Some("v2v") {
            return Ok(plain);
        }
        let given = |name: &&str| checked.body.get(name).is_some_and(|value| !value.is_null());
        let Some(name) = VIDEOS.into_iter().find(given) else {
            return Err(missing("video", "`v2v` needs a video"));
        };
        let wrong = |problem: String| vec![Violation::value(at([name.into()]), problem)];
        let Some(text) = checked.body.get(name).and_then(Value::as_str) else {
            let msg = "Input should be a valid string";
            return Err(vec![Violation::new(["body", name], "string_type", msg)]);
        };
        if is_url(text) {
            return Err(wrong(NO_URL.to_owned()));
        }
        let data = text.split_once(";base64,").map_or(text, |(_, data)| data);
        let bytes = STANDARD
            .decode(data)
            .map_err(|error| wrong(format!("the video is not valid base64: {error}")))?;
        let clip = video::clip(&bytes, max_pixels).map_err(wrong)?;
        let most = *DURATIONS.end() as f32;
        if clip.duration > most {
            let problem = format!("the video of {} s exceeds the limit of {most} s", clip.duration);
            return Err(wrong(problem));
        }
        let mut times = Vec::new();
        let frames = clip.frames.into_iter().enumerate().map(|(index, (time, frame))| {
            times.push(time);
            Input { place: format!("{CLIP}{index}"), is_mask: false, image: Image::Inline(frame) }
        });
        checked.inputs = frames.collect();
        let (seconds, length) = (clip.duration, bytes.len());
        if let Some(video) = checked.body.get_mut(name) {
            *video = json!(format!("[video/webm of {seconds} s, {length} bytes]"));
        }
        let duration = (seconds.ceil() as u32).max(1);
        Ok(Self { duration, clip: Some(times) })
    }

    /// The settings of the video, and the time of each input that it shows.
    pub(crate) fn times(
        self,
        body: &Value,
        inputs: &[Input],
        size: (u32, u32),
    ) -> Result<(VideoSpec, Vec<Option<f32>>), Vec<Violation>> {
        let spec = VideoSpec::read(body, size, self.duration)?;
        let times = match (self.clip, body.get(KEYFRAMES)) {
            (Some(clip), _) => clip.into_iter().map(Some).collect(),
            (None, None | Some(Value::Null)) => unlisted(body, inputs, spec.duration)?,
            (None, Some(Value::Array(items))) => listed(items, inputs, spec.duration)?,
            (None, Some(_)) => {
                let msg = "Input should be a valid list";
                return Err(vec![Violation::new(["body", KEYFRAMES], "list_type", msg)]);
            }
        };
        Ok((spec, times))
    }
}

/// The times of images in other fields, which are distributed evenly.
fn unlisted(
    body: &Value,
    inputs: &[Input],
    duration: u32,
) -> Result<Vec<Option<f32>>, Vec<Violation>> {
    if body["mode"] == "i2v" && inputs.is_empty() {
        return Err(missing(KEYFRAMES, "`i2v` needs 1 to 10 keyframes"));
    }
    check_count(inputs.len().max(1))?;
    Ok((0..inputs.len()).map(|index| Some(even(index, inputs.len(), duration))).collect())
}

fn check_count(keyframes: usize) -> Result<(), Vec<Violation>> {
    let (kind, msg) = match keyframes {
        0 => ("too_short", "List should have at least 1 item".to_owned()),
        1..=MAX_KEYFRAMES => return Ok(()),
        _ => ("too_long", format!("List should have at most {MAX_KEYFRAMES} items")),
    };
    Err(vec![Violation::new(["body", KEYFRAMES], kind, msg)])
}

/// From the start to the end.
fn even(index: usize, count: usize, duration: u32) -> f32 {
    duration as f32 * index as f32 / count.saturating_sub(1).max(1) as f32
}

/// The time of a listed keyframe: an image, an object with an image and a `time` in seconds, or a
/// list of a time and an image.
fn time_of(keyframe: &Value) -> &Value {
    match keyframe {
        Value::Array(_) => &keyframe[0],
        _ => &keyframe["time"],
    }
}

/// The times of listed keyframes.
fn listed(
    items: &[Value],
    inputs: &[Input],
    duration: u32,
) -> Result<Vec<Option<f32>>, Vec<Violation>> {
    check_count(items.len())?;
    let mut violations = Vec::new();
    let mut times: Vec<f32> = Vec::new();
    let timed = items.iter().any(|item| time_of(item).is_number());
    for (index, item) in items.iter().enumerate() {
        let deeper = |name: Option<&str>| {
            let steps = [Step::from(KEYFRAMES), Step::Index(index)].into_iter();
            at(steps.chain(name.map(Step::from)))
        };
        if !is_image(item, index, inputs) {
            violations.push(Violation::value(deeper(None), "the keyframe has no image"));
        }
        match time(time_of(item), timed, duration) {
            Ok(time) => {
                let time = time.unwrap_or(even(index, items.len(), duration));
                if times.last().is_some_and(|last| *last >= time) {
                    let problem = "the times of keyframes should be ascending";
                    violations.push(Violation::value(deeper(Some("time")), problem));
                }
                times.push(time);
            }
            Err((kind, msg)) => {
                violations.push(Violation { loc: deeper(Some("time")), msg, kind });
            }
        }
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let index_of = |input: &Input| {
        let rest = input.place.strip_prefix(KEYFRAMES)?.strip_prefix('.')?;
        rest.split('.').next()?.parse::<usize>().ok()
    };
    Ok(inputs.iter().map(|input| times.get(index_of(input)?).copied()).collect())
}

/// Whether a keyframe has an image, which may be given by its URL.
fn is_image(item: &Value, index: usize, inputs: &[Input]) -> bool {
    let place = format!("{KEYFRAMES}.{index}");
    let read = inputs.iter().any(|input| {
        input
            .place
            .strip_prefix(&place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    let texts = |value: &Value| value.as_str().is_some_and(|text| host(text).is_some());
    let in_fields = item.as_object().is_some_and(|fields| fields.values().any(texts));
    read || texts(item) || texts(&item[1]) || in_fields
}

/// The time of a keyframe, if it has one. If one keyframe has a time, all must.
fn time(
    value: &Value,
    required: bool,
    duration: u32,
) -> Result<Option<f32>, (&'static str, String)> {
    let wrong = |kind, msg: &str| Err((kind, msg.to_owned()));
    match value {
        Value::Null if required => wrong("missing", "Field required: another keyframe has a time"),
        Value::Null => Ok(None),
        Value::Number(number) => match number.as_f64().unwrap_or(f64::NAN) {
            time if time < 0.0 => {
                wrong("greater_than_equal", "Input should be greater than or equal to 0")
            }
            time if time <= f64::from(duration) => Ok(Some(time as f32)),
            _ => {
                let msg = format!("Input should be less than or equal to {duration}");
                wrong("less_than_equal", &msg)
            }
        },
        _ => wrong("float_type", "Input should be a valid number"),
    }
}
