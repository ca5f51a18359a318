//! The duration and frame rate of a video. The contract has no fields for them, so `duration` and
//! `fps` are the simulator's own.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Milliseconds, NO_ENCODER};
use crate::contract::{Violation, integer_field};

/// In seconds; the maximum is that of the contract.
pub(crate) const DURATIONS: RangeInclusive<i64> = 1..=20;
pub(crate) const DEFAULT_DURATION: u32 = 5;

/// In frames per second; the maximum is that of the contract.
pub(crate) const RATES: RangeInclusive<i64> = 1..=24;
const DEFAULT_RATE: u32 = 24;

/// The maximum frame size of the contract.
const MAX_FRAME: (u32, u32) = (1920, 1088);

/// The maximum number of frames in a second, and of pixels in all frames.
const MAX_RATE: u64 = 6;
const MAX_PIXELS: u64 = 84_000_000;

/// The settings of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VideoSpec {
    /// In seconds.
    pub(crate) duration: u32,
    /// The requested number of frames per second, of which a video may have fewer.
    pub(crate) fps: u32,
}

/// Whether a frame is not larger than the maximum.
fn fits((width, height): (u32, u32)) -> bool {
    u64::from(width) * u64::from(height) <= u64::from(MAX_FRAME.0) * u64::from(MAX_FRAME.1)
}

impl VideoSpec {
    /// Whether a request could have these settings and frames of `size` pixels.
    pub(crate) fn is_valid(self, size: (u32, u32)) -> bool {
        DURATIONS.contains(&self.duration.into()) && RATES.contains(&self.fps.into()) && fits(size)
    }

    /// The number of frames per second.
    pub(crate) fn rate(self, (width, height): (u32, u32)) -> u32 {
        let second = u64::from(width) * u64::from(height) * u64::from(self.duration);
        let affordable = MAX_PIXELS / second.max(1);
        self.fps.min(affordable.clamp(1, MAX_RATE) as u32).max(1)
    }

    /// When the video ends.
    pub(crate) fn end(self) -> Milliseconds {
        self.duration * 1000
    }

    /// The times of the frames: evenly, and at each of `moments`.
    pub(super) fn times(self, size: (u32, u32), moments: &[Milliseconds]) -> Vec<Milliseconds> {
        let rate = self.rate(size);
        let even = (0..self.duration * rate).map(|number| (number * 1000 + rate / 2) / rate);
        let within = moments.iter().copied().filter(|moment| *moment < self.end());
        let mut times: Vec<_> = even.chain(within).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Reads the settings of a video with frames of `size` pixels from a body whose fields are
    /// valid. `duration` is the default.
    pub(crate) fn read(
        body: &Value,
        (width, height): (u32, u32),
        duration: u32,
    ) -> Result<Self, Vec<Violation>> {
        if !cfg!(feature = "video") {
            return Err(vec![Violation::value(vec!["body".into()], NO_ENCODER)]);
        }
        if !fits((width, height)) {
            let (max_width, max_height) = MAX_FRAME;
            let problem = format!(
                "a video of {width} x {height} pixels exceeds the maximum of \
                 {max_width} x {max_height} pixels"
            );
            return Err(vec![Violation::value(vec!["body".into()], problem)]);
        }
        let field = |name| integer_field(body, name).and_then(|number| number.try_into().ok());
        Ok(Self {
            duration: field("duration").unwrap_or(duration),
            fps: field("fps").unwrap_or(DEFAULT_RATE),
        })
    }
}
