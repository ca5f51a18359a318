//! The prices of submissions, as far as they are known before the service responds.

use std::collections::BTreeMap;

use imagekiln_label::Price;

use crate::{Error, ErrorKind};

/// The price of a submission of each operation in credits: the prices that were set, and the known
/// costs.
///
/// A price per submission is used until a cost of its operation is known. After that, the highest
/// known cost replaces the price, so that budgets reserve enough credits. A price with a part [per
/// megapixel](Price::per_megapixel) is always used, because the cost of one size says nothing about
/// the cost of another size.
///
/// For `kiln`, which estimates what a run may cost before it submits anything.
#[doc(hidden)]
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    set: BTreeMap<String, Price>,
    known: BTreeMap<String, f64>,
}

impl Prices {
    /// Creates the prices from those that were set, and from the highest known costs.
    pub(crate) fn new(set: BTreeMap<String, Price>, known: BTreeMap<String, f64>) -> Self {
        Self { set, known }
    }

    /// Returns the price of an operation, if one is set or a cost is known.
    pub fn of(&self, operation: &str) -> Option<Price> {
        self.of_or(operation, None)
    }

    /// Returns the price of an operation. If none is set, uses `price` as if it were set.
    #[doc(hidden)]
    pub fn of_or(&self, operation: &str, price: Option<Price>) -> Option<Price> {
        let set = self.set.get(operation).copied().or(price);
        let known = self.known.get(operation).copied().map(Price::from);
        set.filter(|set| set.per_megapixel > 0.0).or(known).or(set)
    }

    /// Returns whether a price is set for an operation.
    #[doc(hidden)]
    pub fn is_set(&self, operation: &str) -> bool {
        self.set.contains_key(operation)
    }

    /// Returns the prices that were set, by operation.
    #[doc(hidden)]
    pub fn each_set(&self) -> impl Iterator<Item = (&str, Price)> {
        self.set.iter().map(|(operation, price)| (operation.as_str(), *price))
    }

    /// Sets the price of an operation, unless one is set.
    #[doc(hidden)]
    pub fn set_default(&mut self, operation: impl Into<String>, price: Price) {
        self.set.entry(operation.into()).or_insert(price);
    }
}

/// Returns the error for a budget or a price that `imagekiln-label` refuses.
pub(crate) fn refused(error: imagekiln_label::Error) -> Error {
    Error::new(ErrorKind::State, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_cost_replaces_only_a_price_that_is_the_same_for_all_sizes() {
        let (flat, by_size) = (Price::from(4.0), Price { credits: 1.0, per_megapixel: 0.5 });
        let prices = |set: &[Price], known: &[f64]| {
            let named = |_: usize| "fox".to_owned();
            let set = set.iter().enumerate().map(|(at, price)| (named(at), *price));
            let known = known.iter().enumerate().map(|(at, cost)| (named(at), *cost));
            Prices::new(set.collect(), known.collect())
        };
        assert_eq!(prices(&[], &[]).of("fox"), None);
        assert_eq!(prices(&[], &[]).of_or("fox", Some(flat)), Some(flat));
        assert_eq!(prices(&[flat], &[]).of_or("fox", Some(by_size)), Some(flat));
        assert_eq!(prices(&[flat], &[3.0]).of("fox"), Some(3.0.into()));
        assert_eq!(prices(&[flat], &[3.0]).of_or("fox", Some(by_size)), Some(3.0.into()));
        assert_eq!(prices(&[], &[3.0]).of_or("fox", Some(flat)), Some(3.0.into()));
        assert_eq!(prices(&[], &[3.0]).of_or("fox", Some(by_size)), Some(by_size));
        assert_eq!(prices(&[by_size], &[3.0]).of("fox"), Some(by_size));
    }
}
