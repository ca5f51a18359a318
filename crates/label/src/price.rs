//! The prices of submissions, as far as they are known before the service responds.

use std::{fmt, str::FromStr};

use imagekiln::{Request, find_operation, journal::Intent, text::Credits};
use serde::Serialize;

use crate::Error;

/// The end of the text of a price per megapixel.
const UNIT: &str = "/MP";

/// The number of pixels in a megapixel. The contract does not show whether the service counts 10^6
/// or 2^20. The smaller number results in the higher price, so that a budget is not exceeded.
const MEGAPIXEL: u64 = 1_000_000;

/// The service reports sizes in hundredths of a megapixel, so sizes are rounded up to a multiple of
/// this number of pixels.
const STEP: u64 = MEGAPIXEL / 100;

/// The size in pixels that is assumed if neither the request nor the contract limits both sides of
/// a picture: the largest size that the contract names for any picture.
const LARGEST: u64 = 4 * MEGAPIXEL;

/// The largest size in pixels that a price counts. The service certainly refuses a larger picture,
/// and sums of this size do not overflow.
const MOST: u64 = 10_000 * MEGAPIXEL;

/// The price of a submission in credits, as a person or a program states it.
///
/// The text of a price is `3` for each submission, `0.5/MP` for each megapixel, or `1+0.5/MP` for
/// both. `Display` describes the price for people.
///
/// ```
/// use imagekiln::{Submit, types::Gen2Pro};
/// use imagekiln_label::Price;
///
/// let price: Price = "1+0.5/MP".parse().unwrap();
/// assert_eq!(price, Price { credits: 1.0, per_megapixel: 0.5 });
/// let fox = Gen2Pro::new("a red fox").width(2000).height(1000);
/// assert_eq!(price.of(&fox.into_request()), 2.0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Price {
    /// The credits for each submission.
    pub credits: f64,
    /// The credits for each megapixel of the picture, in addition.
    pub per_megapixel: f64,
}

impl Price {
    /// Returns what the submission of a request is expected to cost in credits.
    ///
    /// A megapixel has 10^6 pixels, and sizes are rounded up to a hundredth of one. The size is
    /// `width` times `height`. A side that the request does not set counts as the maximum that the
    /// contract allows. If the contract has no maximum, the size is 4 megapixels, the largest size
    /// that the contract names. The picture of such a request may be larger, if it follows the size
    /// of an input image or is a video. For such operations, set a price for each submission
    /// instead.
    pub fn of(self, request: &Request) -> f64 {
        self.of_all(1, pixels(request))
    }

    /// Returns what this number of submissions costs in credits, if their pictures have this many
    /// pixels in total.
    pub fn of_all(self, submissions: u64, pixels: u64) -> f64 {
        self.credits * submissions as f64 + self.per_megapixel * megapixels(pixels)
    }

    /// Checks the price, and returns it. Negative zero becomes zero.
    ///
    /// # Errors
    ///
    /// A part of the price is negative, infinite or not a number.
    pub fn checked(self) -> Result<Self, Error> {
        Ok(Self {
            credits: checked_credits("price", self.credits)?,
            per_megapixel: checked_credits("price per megapixel", self.per_megapixel)?,
        })
    }
}

/// A price for each submission.
impl From<f64> for Price {
    fn from(credits: f64) -> Self {
        Self { credits, per_megapixel: 0.0 }
    }
}

impl FromStr for Price {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (credits, per_megapixel) = match text.split_once('+') {
            Some((credits, per_megapixel)) => (Some(credits), Some(per_megapixel)),
            None if text.trim_end().ends_with(UNIT) => (None, Some(text)),
            None => (Some(text), None),
        };
        let number = |text: &str| text.trim().parse().ok();
        let rate = |text: &str| number(text.trim().strip_suffix(UNIT)?);
        let price = Self {
            credits: credits.map_or(Some(0.0), number).ok_or_else(not_a_price)?,
            per_megapixel: per_megapixel.map_or(Some(0.0), rate).ok_or_else(not_a_price)?,
        };
        price.checked().map_err(|_| not_a_price())
    }
}

fn not_a_price() -> Error {
    let message = "give a number of credits, such as 4, or one for each megapixel, such as 0.5/MP, \
                   or both, such as 1+0.5/MP";
    Error(message.to_owned())
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (credits, rate) = (Credits(self.credits), Credits(self.per_megapixel));
        match (self.credits > 0.0, self.per_megapixel > 0.0) {
            (_, false) => write!(f, "{credits:.2} credits"),
            (false, true) => write!(f, "{rate} credits per megapixel"),
            (true, true) => write!(f, "{credits:.2} credits, and {rate} per megapixel"),
        }
    }
}

/// Returns the number of megapixels that a price counts.
pub fn megapixels(pixels: u64) -> f64 {
    pixels as f64 / MEGAPIXEL as f64
}

/// Returns the number of pixels that a price counts for a request; see [`Price::of`].
pub fn pixels(request: &Request) -> u64 {
    size(request.operation().name, |side| request.integer(side))
}

/// Returns the number of pixels that a price counts for a submission.
pub fn pixels_of_intent(intent: &Intent) -> u64 {
    size(intent.operation(), |side| if side == "width" { intent.width() } else { intent.height() })
}

fn size(operation: &str, set: impl Fn(&str) -> Option<i64>) -> u64 {
    let operation = find_operation(operation);
    let side = |name| {
        let most = || Some(operation?.field(name)?.limits.maximum? as u64);
        set(name).filter(|side| *side > 0).map(i64::unsigned_abs).or_else(most)
    };
    let pixels = match (side("width"), side("height")) {
        (Some(width), Some(height)) => width.saturating_mul(height).min(MOST),
        _ => LARGEST,
    };
    pixels.next_multiple_of(STEP)
}

/// Checks an amount of credits that a program has set, and returns it. Negative zero becomes zero.
///
/// # Errors
///
/// The amount is negative, infinite or not a number. The message calls the amount `what`, for
/// example "budget".
pub fn checked_credits(what: &str, credits: f64) -> Result<f64, Error> {
    if credits.is_finite() && credits >= 0.0 {
        return Ok(credits + 0.0);
    }
    let message = format!("the {what} {credits} is not a finite number of credits, 0 or more");
    Err(Error(message))
}

#[cfg(test)]
mod tests {
    use imagekiln::find_model;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_price_has_a_text() {
        for (text, price, shown) in [
            ("3", (3.0, 0.0), "3.00 credits"),
            (" 0.5/MP ", (0.0, 0.5), "0.5 credits per megapixel"),
            ("1+0.005/MP", (1.0, 0.005), "1.00 credits, and 0.005 per megapixel"),
            ("1 + 2 /MP", (1.0, 2.0), "1.00 credits, and 2 per megapixel"),
            ("-0", (0.0, 0.0), "0.00 credits"),
        ] {
            let parsed: Price = text.parse().unwrap();
            assert_eq!((parsed.credits, parsed.per_megapixel), price, "{text}");
            assert_eq!(parsed.to_string(), shown);
        }
        for text in ["", "free", "-1", "inf", "NaN/MP", "/MP", "1+2", "1/MP+2", "1+2/MP+3", "1/GP"]
        {
            let error = text.parse::<Price>().unwrap_err();
            assert!(error.to_string().contains("such as 0.5/MP"), "{text}: {error}");
        }
    }

    #[test]
    fn a_size_that_is_not_set_is_the_largest() {
        let of = |model: &str, sides: &[(&str, i64)]| {
            let request = Request::new(find_model(model).unwrap());
            pixels(&sides.iter().fold(request, |request, (side, set)| request.field(*side, *set)))
        };
        assert_eq!(of("gen-2-pro", &[("width", 1024), ("height", 1024)]), 1_050_000);
        assert_eq!(of("gen-2-pro", &[("width", 64), ("height", 64)]), 10_000);
        // The contract does not show what 0 means.
        assert_eq!(of("gen-2-pro", &[("width", 0), ("height", 64)]), LARGEST);
        assert_eq!(of("gen-2-pro", &[("width", 4096), ("height", 4096)]), 16_780_000);
        assert_eq!(of("gen-2-pro", &[("width", i64::MAX), ("height", i64::MAX)]), MOST);
        assert_eq!(of("gen-2-pro", &[]), LARGEST);
        assert_eq!(of("gen-dev", &[]), 2_080_000);
        assert_eq!(of("gen-dev", &[("height", 256)]), 370_000);
        let of_intent = |intent| pixels_of_intent(&serde_json::from_value(intent).unwrap());
        let intent = json!({"id": "a", "operation": "gen-dev", "at": 0, "height": 256});
        assert_eq!(of_intent(intent), 370_000);
        let intent = json!({"id": "a", "operation": "not-in-the-contract", "at": 0});
        assert_eq!(of_intent(intent), LARGEST);
    }
}
