//! The costs that are expected for submissions whose cost is not known.

use imagekiln::text::{Credits, counted};

/// The sum of the expected costs of several submissions.
pub struct Expected {
    /// The sum in credits. `None` if there are submissions, but no expected cost of any is known.
    pub credits: Option<f64>,
    /// The number of submissions without an expected cost.
    pub without_price: usize,
}

impl Expected {
    pub fn sum(prices: impl IntoIterator<Item = Option<f64>>) -> Self {
        let (mut credits, mut priced, mut without_price) = (0.0, 0, 0);
        for price in prices {
            match price {
                Some(price) => (credits, priced) = (credits + price, priced + 1),
                None => without_price += 1,
            }
        }
        let is_known = priced > 0 || without_price == 0;
        Self { credits: is_known.then_some(credits), without_price }
    }

    /// For example `6.00 credits, and 1 job of unknown price`. `what` is the noun for what is
    /// counted.
    pub fn text(&self, what: &str) -> String {
        let credits =
            self.credits.map_or("unknown".to_owned(), |sum| format!("{:.2} credits", Credits(sum)));
        match (self.credits, self.without_price) {
            (None, _) | (_, 0) => credits,
            (Some(_), count) => {
                format!("{credits}, and {} of unknown price", counted(count as u64, what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_is_not_0() {
        for (prices, text) in [
            (&[][..], "0.00 credits"),
            (&[Some(3.0), Some(1.5)], "4.50 credits"),
            (&[None, None], "unknown"),
            (&[Some(3.0), None], "3.00 credits, and 1 job of unknown price"),
        ] {
            let expected = Expected::sum(prices.iter().copied());
            assert_eq!(expected.text("job"), text);
            assert_eq!(expected.credits.is_none(), text == "unknown");
        }
    }
}
