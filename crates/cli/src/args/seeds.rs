//! The seeds of pictures that have a name and do not set a seed. A seed depends only on the name,
//! so that a job file has the same jobs each time it is read.

use std::ops::RangeInclusive;

use crate::models::SEED;
use imagekiln::{Operation, Request};
use imagekiln_label::sha256;

/// The largest seed that is drawn. Larger seeds are tedious to type, and programs that read numbers
/// as floating point change seeds above 2^53.
const LARGEST: f64 = i32::MAX as f64;

/// Returns the range from which to draw a seed for a model. `None` if the model has no seed.
pub fn seed_range(model: &Operation) -> Option<RangeInclusive<i64>> {
    let limits = &model.field(SEED)?.limits;
    let least = limits.minimum.map_or(0.0, |least| least.max(0.0));
    let most = limits.maximum.map_or(LARGEST, |most| most.min(LARGEST));
    Some(least as i64..=most.max(least) as i64)
}

/// Sets the seed of a job, unless the job has one or its model has no seed. The same name always
/// results in the same seed.
pub fn with_seed(name: &str, request: Request) -> Request {
    match seed_of(name, request.operation()) {
        Some(seed) if !request.has_field(SEED) => request.field(SEED, seed),
        _ => request,
    }
}

/// The seed for a name. It must not change between versions: a ledger refuses a job that it already
/// has with another seed.
fn seed_of(name: &str, model: &Operation) -> Option<i64> {
    let range = seed_range(model)?;
    let digest = u64::from_str_radix(sha256(name.as_bytes()).get(..16)?, 16).ok()?;
    let count = range.end().abs_diff(*range.start()).saturating_add(1);
    range.start().checked_add_unsigned(digest % count)
}

#[cfg(test)]
mod tests {
    use imagekiln::{find_model, find_operation};

    use super::*;

    /// If this test fails, ledgers will refuse jobs that they already have.
    #[test]
    fn seeds_do_not_change_between_versions() {
        let model = find_model("gen-2-pro").unwrap();
        let seed = |name| with_seed(name, Request::new(model)).integer(SEED);
        assert_eq!(seed("fox"), Some(722_261_488));
        assert_eq!(seed("fox-2"), Some(1_262_698_106));
    }

    #[test]
    fn a_seed_is_drawn_only_if_nobody_chose_one() {
        let model = find_model("gen-2-pro").unwrap();
        let chosen = Request::new(model).field(SEED, 7);
        assert_eq!(with_seed("fox", chosen.clone()), chosen);
        let null = Request::new(model).field(SEED, serde_json::Value::Null);
        assert_eq!(with_seed("fox", null.clone()), null);
        let without = Request::new(find_operation("finetune").unwrap());
        assert_eq!(with_seed("fox", without.clone()), without);
    }
}
