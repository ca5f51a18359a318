//! The duration and frame rate of a video. The contract has no fields for them, so `duration` and
//! `fps` are the simulator's own.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::contract::Violation;

/// In seconds; the maximum is that of the contract.
const DURATIONS: RangeInclusive<u32> = 1..=20;
const DEFAULT_DURATION: u32 = 5;

/// In frames per second; the maximum is that of the contract.
const RATES: RangeInclusive<u32> = 1..=24;
const DEFAULT_RATE: u32 = 24;

/// The maximum frame size of the contract.
const MAX_FRAME: (u32, u32) = (1920, 1088);

/// The settings of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VideoSpec {
    /// In seconds.
    pub(crate) duration: u32,
    /// Frames per second.
    pub(crate) fps: u32,
}

impl VideoSpec {
    /// Reads the settings of a video with frames of `size` pixels, or returns all violations.
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
        let spec = Self {
            duration: take("duration", DURATIONS, DEFAULT_DURATION),
            fps: take("fps", RATES, DEFAULT_RATE),
        };
        if u64::from(width) * u64::from(height) > u64::from(MAX_FRAME.0) * u64::from(MAX_FRAME.1) {
            let (max_width, max_height) = MAX_FRAME;
            let problem = format!(
                "a video of {width} x {height} pixels exceeds the maximum of \
                 {max_width} x {max_height} pixels"
            );
            violations.push(Violation::value(vec!["body".into()], problem));
        }
        if violations.is_empty() { Ok(spec) } else { Err(violations) }
    }
}

/// An integer within its bounds, in any JSON notation, or the type and message of the violation.
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
