//! The limits of a value.

use super::{document::DocumentNode, faults::Faults};

#[derive(Default)]
pub struct Limits {
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub multiple_of: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
}

/// The format of an integer for which the contract defines no limits.
pub const INT64: &str = "int64";

/// Reads the limits in a schema. The caller has checked that the schema has no unknown keywords.
pub fn read(place: &DocumentNode) -> Result<Limits, Faults> {
    // The bounds of an integer with this format are those of its type, not limits that the service
    // sets.
    if place.value["format"] == INT64 {
        return Ok(Limits::default());
    }
    let number = |key: &str| place.get(key).map(|limit| limit.number()).transpose();
    let count = |key: &str| place.get(key).map(|limit| limit.count()).transpose();
    let limits = Limits {
        minimum: number("minimum")?,
        maximum: number("maximum")?,
        multiple_of: number("multipleOf")?,
        min_length: count("minLength")?,
        max_length: count("maxLength")?,
    };
    in_order(place, limits.minimum, limits.maximum)?;
    in_order(place, limits.min_length, limits.max_length)?;
    match limits.multiple_of {
        Some(step) if step <= 0.0 => {
            Err(place.fault(format!("multipleOf is {step}; expected a positive number")))
        }
        _ => Ok(limits),
    }
}

fn in_order<T>(place: &DocumentNode, least: Option<T>, most: Option<T>) -> Result<(), Faults>
where
    T: PartialOrd + std::fmt::Display,
{
    match (least, most) {
        (Some(least), Some(most)) if least > most => {
            Err(place.fault(format!("the lower limit {least} is greater than the upper, {most}")))
        }
        _ => Ok(()),
    }
}
