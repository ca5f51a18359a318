//! Reads what a video is made from: keyframes and their times, or another video. The contract
//! leaves these fields open, so the simulator has chosen their names itself. Their limits are those
//! that the interface describes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use imagekiln_painter::{
    images::{Image, Input, host},
    paint::CLIP,
    video::{self, DEFAULT_DURATION, DURATIONS, VideoSpec},
};
use serde_json::{Value, json};

use super::{
    fields::MAX_KEYFRAMES,
    validation::{Checked, NO_URL, is_url},
};
use crate::{
    contract::{self, Step, Validated, Violation},
    values::texts,
};

const KEYFRAMES: &str = "keyframes";

/// The fields for a given video. The simulator has chosen the first name, and published clients
/// send the second one.
const VIDEOS: [&str; 2] = ["video", "start_video"];

/// What a video is made from.
pub(crate) struct Material {
    /// The duration in seconds for a request that does not set one.
    duration: u32,
    /// The times of the given video's frames, if the request has a video.
    clip: Option<Vec<f32>>,
}

fn missing(name: &str, why: &str) -> Vec<Violation> {
    vec![Violation::new(["body", name], "missing", format!("Field required: {why}"))]
}

impl Material {
    /// Reads the given video. Its frames become inputs of the request, and a summary replaces its
    /// text in the body.
    pub(crate) fn read(checked: &mut Checked, max_pixels: u64) -> Validated<Self> {
        let text = |name: &str| checked.body.get(name)?.as_str();
        if text("mode") != Some("v2v") {
            return Ok(Self { duration: DEFAULT_DURATION, clip: None });
        }
        let given = VIDEOS.into_iter().find_map(|name| Some((name, text(name)?)));
        let Some((name, text)) = given else {
            return Err(missing("video", "`v2v` needs a video"));
        };
        let wrong = |problem: String| vec![Violation::value(["body", name], problem)];
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

    /// Returns the settings of the video, and the time at which the video shows each input.
    pub(crate) fn times(
        self,
        body: &Value,
        inputs: &[Input],
        size: (u32, u32),
    ) -> Validated<(VideoSpec, Vec<Option<f32>>)> {
        VideoSpec::check_size(size).map_err(|problem| vec![Violation::value(["body"], problem)])?;
        let field =
            |name| contract::integer_field(body, name).and_then(|number| number.try_into().ok());
        let spec = VideoSpec {
            duration: field("duration").unwrap_or(self.duration),
            fps: field("fps").unwrap_or(video::DEFAULT_RATE),
        };
        let times = match (self.clip, body[KEYFRAMES].as_array()) {
            (Some(clip), _) => clip.into_iter().map(Some).collect(),
            (None, None) => unlisted(body, inputs, spec.duration)?,
            (None, Some(items)) => listed(items, inputs, spec.duration)?,
        };
        Ok((spec, times))
    }
}

/// Returns the times of images that are not in the list of keyframes. They are distributed evenly.
fn unlisted(body: &Value, inputs: &[Input], duration: u32) -> Validated<Vec<Option<f32>>> {
    if body["mode"] == "i2v" && inputs.is_empty() {
        return Err(missing(KEYFRAMES, "`i2v` needs 1 to 10 keyframes"));
    }
    if inputs.len() > MAX_KEYFRAMES {
        let msg = format!("List should have at most {MAX_KEYFRAMES} items");
        return Err(vec![Violation::new(["body", KEYFRAMES], "too_long", msg)]);
    }
    Ok((0..inputs.len()).map(|index| Some(even(index, inputs.len(), duration))).collect())
}

/// Returns the time of an image if `count` images are distributed evenly, from the start to the
/// end.
fn even(index: usize, count: usize, duration: u32) -> f32 {
    duration as f32 * index as f32 / count.saturating_sub(1).max(1) as f32
}

/// Returns the time of a listed keyframe. A keyframe is an image, an object with an image and a
/// `time` in seconds, or a list of a time and an image.
fn time_of(keyframe: &Value) -> &Value {
    match keyframe {
        Value::Array(_) => &keyframe[0],
        _ => &keyframe["time"],
    }
}

/// Returns the times of listed keyframes.
fn listed(items: &[Value], inputs: &[Input], duration: u32) -> Validated<Vec<Option<f32>>> {
    let mut violations = Vec::new();
    let mut times: Vec<f32> = Vec::new();
    // If one keyframe has a time, all keyframes must have one.
    let timed = items.iter().any(|item| time_of(item).is_number());
    let schema = json!({ "type": "number", "minimum": 0, "maximum": duration });
    for (index, item) in items.iter().enumerate() {
        let keyframe = vec!["body".into(), KEYFRAMES.into(), Step::Index(index)];
        let at_time = [&*keyframe, &["time".into()]].concat();
        if !is_image(item, index, inputs) {
            violations.push(Violation::value(keyframe, "the keyframe has no image"));
        }
        let given = time_of(item);
        let wrong = match given {
            Value::Null if timed => {
                let msg = "Field required: another keyframe has a time";
                vec![Violation::new(at_time.clone(), "missing", msg)]
            }
            Value::Null => Vec::new(),
            _ => contract::violations(&schema, &at_time, given),
        };
        if wrong.is_empty() {
            let even = even(index, items.len(), duration);
            let time = given.as_f64().map_or(even, |time| time as f32);
            if times.last().is_some_and(|last| *last >= time) {
                let problem = "the times of keyframes should be ascending";
                violations.push(Violation::value(at_time, problem));
            }
            times.push(time);
        }
        violations.extend(wrong);
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

/// Whether a keyframe has an image, which may also be given by its URL.
fn is_image(item: &Value, index: usize, inputs: &[Input]) -> bool {
    let place = format!("{KEYFRAMES}.{index}.");
    let is_read = inputs.iter().any(|input| format!("{}.", input.place).starts_with(&place));
    is_read || texts::any(item, &mut |text| host(text).is_some())
}
