//! Integers in requests.

use serde_json::Value;

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
