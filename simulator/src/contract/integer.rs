//! Integers in requests: reads them, and words the violations. The wording is that of Pydantic.

use std::{fmt::Display, ops::RangeInclusive};

use serde_json::Value;

/// The type of a violation, and its message.
pub(crate) type Wording = (&'static str, String);

pub(super) const UNPARSED: (&str, &str) =
    ("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
pub(super) const FRACTIONAL: (&str, &str) =
    ("int_from_float", "Input should be a valid integer, got a number with a fractional part");
pub(super) const WRONG_TYPE: (&str, &str) = ("int_type", "Input should be a valid integer");

pub(crate) fn too_small(limit: impl Display) -> Wording {
    ("greater_than_equal", format!("Input should be greater than or equal to {limit}"))
}

pub(crate) fn too_large(limit: impl Display) -> Wording {
    ("less_than_equal", format!("Input should be less than or equal to {limit}"))
}

/// What is wrong with a value that should be an integer within bounds. `null` counts as absent.
pub(crate) fn violation(value: &Value, bounds: &RangeInclusive<i64>) -> Option<Wording> {
    let owned = |(kind, message): (&'static str, &str)| Some((kind, message.to_owned()));
    let number = match value {
        Value::Null => return None,
        Value::Number(number) => number.as_f64().unwrap_or(f64::INFINITY),
        Value::String(_) => return owned(UNPARSED),
        _ => return owned(WRONG_TYPE),
    };
    if number.fract() != 0.0 {
        owned(FRACTIONAL)
    } else if number < *bounds.start() as f64 {
        Some(too_small(bounds.start()))
    } else if number > *bounds.end() as f64 {
        Some(too_large(bounds.end()))
    } else {
        None
    }
}

/// An integer in any JSON notation: `7` and `7.0` are the same. Anything else counts as absent.
pub(crate) fn read(value: &Value) -> Option<i128> {
    let float =
        || value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i128);
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).or_else(float)
}

/// The integer in a field, or the nearest that fits.
pub(crate) fn field(body: &Value, name: &str) -> Option<i64> {
    let integer = read(body.get(name)?)?;
    i64::try_from(integer).ok().or(Some(if integer < 0 { i64::MIN } else { i64::MAX }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_are_read_in_every_notation() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(7.0), Some(7)),
            (json!(-7), Some(-7)),
            (json!(u64::MAX), Some(i128::from(u64::MAX))),
            (json!(1e300), Some(i128::MAX)),
            (json!(7.5), None),
            (json!("7"), None),
            (json!(null), None),
        ] {
            assert_eq!(read(&value), expected, "{value}");
        }
        let body = json!({ "large": u64::MAX, "small": -1e300, "fraction": 7.5 });
        assert_eq!(field(&body, "large"), Some(i64::MAX));
        assert_eq!(field(&body, "small"), Some(i64::MIN));
        assert_eq!(field(&body, "fraction"), None);
        assert_eq!(field(&body, "absent"), None);
    }
}
