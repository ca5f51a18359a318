//! How long a video is asked for, and how many frames a second. The interface shows no fields for
//! that, so they are the simulator's own: `duration` and `fps`.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::validation::Violation;

/// Seconds; the longest is that of the interface.
const DURATIONS: RangeInclusive<u32> = 1..=20;
const DEFAULT_DURATION: u32 = 5;

/// Frames a second; the most are those of the interface.
const RATES: RangeInclusive<u32> = 1..=24;
const DEFAULT_RATE: u32 = 24;

/// The largest frame of the interface.
const MAX_FRAME: (u32, u32) = (1920, 1088);

/// What a request says of its video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// In seconds.
    pub(crate) duration: u32,
    /// Frames a second.
    pub(crate) fps: u32,
}

impl Ask {
    /// Reads a body that asks for a video with frames of `size` pixels, or tells all that is wrong
    /// with it.
    pub(crate) fn read(body: &Value, (width, height): (u32, u32)) -> Result<Self, Vec<Violation>> {
        let mut violations = Vec::new();
        let mut take = |name, bounds, default| {
            let given = body.get(name).filter(|value| !value.is_null());
            given.map_or(Ok(default), |value| integer(value, bounds)).unwrap_or_else(
                |(kind, msg)| {
                    violations.push(Violation::new(["body", name], kind, msg));
                    default
                },
            )
        };
        let ask = Self {
            duration: take("duration", DURATIONS, DEFAULT_DURATION),
            fps: take("fps", RATES, DEFAULT_RATE),
        };
        if u64::from(width) * u64::from(height) > u64::from(MAX_FRAME.0) * u64::from(MAX_FRAME.1) {
            let (max_width, max_height) = MAX_FRAME;
            let problem = format!(
                "a video of {width} x {height} pixels is larger than the {max_width} x {max_height} that the service makes"
            );
            violations.push(Violation::value(vec!["body".into()], problem));
        }
        if violations.is_empty() { Ok(ask) } else { Err(violations) }
    }
}

/// An integer within its bounds, in whichever form JSON has it, or the type of the violation and
/// its message.
fn integer(value: &Value, bounds: RangeInclusive<u32>) -> Result<u32, (&'static str, String)> {
    let number = match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::INFINITY),
        Value::String(_) => {
            let msg = "Input should be a valid integer, unable to parse string as an integer";
            return Err(("int_parsing", msg.to_owned()));
        }
        _ => return Err(("int_type", "Input should be a valid integer".to_owned())),
    };
    if number.fract() != 0.0 {
        let msg = "Input should be a valid integer, got a number with a fractional part";
        return Err(("int_from_float", msg.to_owned()));
    }
    let (least, most) = (*bounds.start(), *bounds.end());
    if number < f64::from(least) {
        return Err((
            "greater_than_equal",
            format!("Input should be greater than or equal to {least}"),
        ));
    }
    if number > f64::from(most) {
        return Err(("less_than_equal", format!("Input should be less than or equal to {most}")));
    }
    Ok(number as u32)
}
