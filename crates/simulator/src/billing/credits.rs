//! Credits and megapixels. Both are integers in hundredths, so that sums are exact.

use std::{collections::BTreeMap, fmt, iter::Sum, ops::Add};

use serde::{Deserialize, Serialize};

use crate::values::names;

/// An amount of credits, exact to the hundredth.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "f64", into = "f64")]
pub struct Credits(u64);

impl Credits {
    /// No credits.
    pub const ZERO: Self = Self(0);

    /// Creates an amount from hundredths of a credit.
    pub const fn from_hundredths(hundredths: u64) -> Self {
        Self(hundredths)
    }

    /// Returns the amount in hundredths of a credit.
    pub const fn hundredths(self) -> u64 {
        self.0
    }
}

impl Add for Credits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Credits {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl From<Credits> for f64 {
    fn from(Credits(hundredths): Credits) -> Self {
        hundredths as Self / 100.0
    }
}

impl TryFrom<f64> for Credits {
    type Error = String;

    /// Accepts a number of credits that is not negative and has at most two decimal places.
    fn try_from(credits: f64) -> Result<Self, String> {
        let hundredths = (credits * 100.0).round();
        // Up to this limit, no two amounts in hundredths have the same nearest `f64`.
        if hundredths / 100.0 == credits && (0.0..=9e14).contains(&hundredths) {
            Ok(Self(hundredths as u64))
        } else {
            Err(format!("{credits} is not an amount with at most two decimal places"))
        }
    }
}

/// An area in megapixels, rounded to the hundredth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Megapixels(Credits);

impl Megapixels {
    /// Converts a number of pixels. `megapixel` is the number of pixels in one megapixel.
    pub(crate) fn of_pixels(pixels: u64, megapixel: u64) -> Self {
        let megapixel = u128::from(megapixel.max(1));
        let hundredths = (u128::from(pixels) * 100 + megapixel / 2) / megapixel;
        Self(Credits(u64::try_from(hundredths).unwrap_or(u64::MAX)))
    }

    pub(crate) fn number(self) -> f64 {
        self.0.into()
    }

    /// Returns the cost of this area at a price per megapixel.
    fn at(self, price: Credits) -> Credits {
        let hundredths = (u128::from(price.0) * u128::from(self.0.0)).div_ceil(100);
        Credits(u64::try_from(hundredths).unwrap_or(u64::MAX))
    }
}

/// The prices of submissions: one price for all operations, and exceptions for some of them.
///
/// In TOML, this is the table `[prices]` with `submission = 3`, and tables such as
/// `[prices.of."gen-2-pro"]` with the exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PriceTable")]
pub struct Prices {
    /// The price of every operation that is not an exception.
    pub each: Price,
    /// The prices of single operations. The keys are names such as `gen-2-pro`, as in the contract
    /// but without `/v1/`, or prefixes such as `gen-2-*`, of which the longest match applies.
    /// Default: none.
    pub of: BTreeMap<String, Price>,
}

/// The price of a submission: an amount for the submission itself, and amounts for each megapixel
/// of its input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The amount for every accepted submission. Default: 3 credits.
    pub submission: Credits,
    /// The additional amount for each megapixel of the request's images, in proportion to the area
    /// and rounded up to the hundredth of a credit. Default: none.
    pub input_megapixel: Credits,
    /// The additional amount for each megapixel of the picture, in proportion to the area and
    /// rounded up to the hundredth of a credit. Default: 1 credit.
    pub output_megapixel: Credits,
}

impl Default for Price {
    fn default() -> Self {
        Self {
            submission: Credits::from_hundredths(300),
            input_megapixel: Credits::ZERO,
            output_megapixel: Credits::from_hundredths(100),
        }
    }
}

impl Price {
    pub(crate) fn of(&self, input: Megapixels, output: Megapixels) -> Credits {
        self.submission + input.at(self.input_megapixel) + output.at(self.output_megapixel)
    }
}

impl Prices {
    pub(crate) fn for_operation(&self, operation: &str) -> Price {
        names::best(&self.of, operation).copied().unwrap_or(self.each)
    }
}

/// Prices as a configuration contains them. An exception lists only the amounts that differ, and
/// has no exceptions itself.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PriceTable {
    submission: Option<Credits>,
    input_megapixel: Option<Credits>,
    output_megapixel: Option<Credits>,
    of: BTreeMap<String, PriceTable>,
}

impl PriceTable {
    fn over(&self, price: Price) -> Price {
        Price {
            submission: self.submission.unwrap_or(price.submission),
            input_megapixel: self.input_megapixel.unwrap_or(price.input_megapixel),
            output_megapixel: self.output_megapixel.unwrap_or(price.output_megapixel),
        }
    }
}

impl TryFrom<PriceTable> for Prices {
    type Error = String;

    fn try_from(table: PriceTable) -> Result<Self, String> {
        let each = table.over(Price::default());
        let exception = |(operation, exception): (String, PriceTable)| {
            if exception.of.is_empty() {
                Ok((operation, exception.over(each)))
            } else {
                Err(format!("the prices of `{operation}` can't have exceptions in `of`"))
            }
        };
        Ok(Self { each, of: table.of.into_iter().map(exception).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_larger_picture_never_costs_less(a in any::<u64>(), b in any::<u64>()) {
            let price = Price { input_megapixel: Credits(7), ..Price::default() };
            let [small, large] = [a.min(b), a.max(b)];
            let [small, large] = [small, large].map(|area| Megapixels::of_pixels(area, 1 << 20));
            prop_assert!(price.of(small, small) <= price.of(large, small));
            prop_assert!(price.of(small, small) <= price.of(small, large));
        }

        #[test]
        fn json_keeps_every_hundredth(hundredths in 0u64..1_000_000_000_000) {
            let text = serde_json::to_string(&Credits::from_hundredths(hundredths)).unwrap();
            let read: f64 = text.parse().unwrap();
            prop_assert_eq!((read * 100.0).round() as u64, hundredths);
            let read: Credits = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.hundredths(), hundredths);
        }
    }
}
