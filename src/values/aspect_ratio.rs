//! Aspect ratios.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ParseError;

/// The ratio of a picture's width to its height, such as `16:9`. Both sides are positive integers.
///
/// The contract accepts ratios between 21:9 and 9:21. `validate()` enforces this range. The type
/// itself does not, so it can represent ratios that a later contract accepts.
///
/// ```
/// use imagekiln::{AspectRatio, types::GenPro11Ultra};
/// let request = GenPro11Ultra::new().aspect_ratio((16, 9));
/// assert_eq!("16:9".parse(), Ok(AspectRatio::from((16, 9))));
/// # assert!(request.validate().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
#[cfg_attr(feature = "schemars", schemars(extend("pattern" = "^[1-9][0-9]*:[1-9][0-9]*$")))]
pub struct AspectRatio {
    /// The first number of the ratio.
    pub width: u32,
    /// The second number of the ratio.
    pub height: u32,
}

impl AspectRatio {
    /// Whether the ratio lies between `narrowest` and `widest`, inclusive.
    pub(crate) fn is_between(self, narrowest: (u32, u32), widest: (u32, u32)) -> bool {
        // Cross-multiplication is exact; a division would round.
        let not_wider = |a: (u32, u32), b: (u32, u32)| {
            u64::from(a.0) * u64::from(b.1) <= u64::from(b.0) * u64::from(a.1)
        };
        let own = (self.width, self.height);
        self.width > 0 && self.height > 0 && not_wider(narrowest, own) && not_wider(own, widest)
    }
}

impl From<(u32, u32)> for AspectRatio {
    fn from((width, height): (u32, u32)) -> Self {
        Self { width, height }
    }
}

impl FromStr for AspectRatio {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Check the digits first, because `parse` would accept a plus sign.
        let side = |side: &str| {
            let is_digits = side.bytes().all(|byte| byte.is_ascii_digit());
            is_digits.then(|| side.parse::<u32>().ok()).flatten().filter(|side| *side > 0)
        };
        text.split_once(':')
            .and_then(|(width, height)| Some(Self { width: side(width)?, height: side(height)? }))
            .ok_or_else(|| {
                let expected = "write two whole numbers, for example 16:9";
                ParseError(format!("`{text}` is not an aspect ratio; {expected}"))
            })
    }
}

impl fmt::Display for AspectRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.width, self.height)
    }
}

impl Serialize for AspectRatio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AspectRatio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::AspectRatio;

    #[test]
    fn a_ratio_is_two_numbers_without_signs() {
        assert_eq!("16:9".parse(), Ok(AspectRatio::from((16, 9))));
        for wrong in ["+16:9", "16:+9", "-16:9", "16", "16x9"] {
            assert!(wrong.parse::<AspectRatio>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn bounds_are_exact() {
        let inside = |w, h| AspectRatio::from((w, h)).is_between((9, 21), (21, 9));
        assert!(inside(21, 9) && inside(9, 21) && inside(1, 1) && inside(7, 3) && inside(42, 18));
        assert!(!inside(22, 9) && !inside(9, 22) && !inside(2_100_000_001, 900_000_000));
        assert!(!inside(0, 0) && !inside(0, 1) && !inside(1, 0));
    }
}
