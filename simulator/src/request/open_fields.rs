//! Fields whose type the contract leaves open. The simulator reads them; their types and bounds
//! here are the simulator's own.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::{contract::Violation, media::paint::OperationKind};

/// The maximum side of a webp, in pixels.
const MAX_SIDE: i64 = 16383;

/// The range of pixels by which a mask may be dilated.
const DILATION: RangeInclusive<i64> = 0..=256;

/// The integer fields of this kind of operation, with their bounds.
fn integers(kind: OperationKind) -> &'static [(&'static str, RangeInclusive<i64>)] {
    match kind {
        OperationKind::Erase => const { &[("dilation", DILATION)] },
        OperationKind::Outpaint => {
            const {
                &[
                    ("width", 1..=MAX_SIDE),
                    ("height", 1..=MAX_SIDE),
                    ("reference_offset_x", -MAX_SIDE..=MAX_SIDE),
                    ("reference_offset_y", -MAX_SIDE..=MAX_SIDE),
                ]
            }
        }
        _ => &[],
    }
}

/// The violations of these fields.
pub(crate) fn check(kind: OperationKind, body: &Value) -> Vec<Violation> {
    let wrong = |(name, bounds): &(&str, RangeInclusive<i64>)| {
        let (kind, msg) = problem(body.get(*name)?, bounds)?;
        Some(Violation::new(["body", *name], kind, msg))
    };
    integers(kind).iter().filter_map(wrong).collect()
}

fn problem(value: &Value, bounds: &RangeInclusive<i64>) -> Option<(&'static str, String)> {
    let not_integer = "Input should be a valid integer";
    let number = match value {
        Value::Null => return None,
        Value::Number(number) => number.as_f64()?,
        Value::String(_) => {
            return Some((
                "int_parsing",
                format!("{not_integer}, unable to parse string as an integer"),
            ));
        }
        _ => return Some(("int_type", not_integer.to_owned())),
    };
    if number.fract() != 0.0 {
        Some(("int_from_float", format!("{not_integer}, got a number with a fractional part")))
    } else if number < *bounds.start() as f64 {
        let msg = format!("Input should be greater than or equal to {}", bounds.start());
        Some(("greater_than_equal", msg))
    } else if number > *bounds.end() as f64 {
        Some(("less_than_equal", format!("Input should be less than or equal to {}", bounds.end())))
    } else {
        None
    }
}

/// An integer in any JSON notation: `7` and `7.0` are the same. Anything else counts as absent.
pub(crate) fn integer(body: &Value, name: &str) -> Option<i64> {
    let value = body.get(name)?;
    let float =
        || value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64);
    value.as_i64().or_else(float)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_invalid_value_has_its_violation() {
        for (value, kind) in [
            (json!(null), None),
            (json!(7), None),
            (json!(7.0), None),
            (json!(-16383), None),
            (json!(-16384), Some("greater_than_equal")),
            (json!(1e300), Some("less_than_equal")),
            (json!(u64::MAX), Some("less_than_equal")),
            (json!(7.5), Some("int_from_float")),
            (json!("7"), Some("int_parsing")),
            (json!(true), Some("int_type")),
            (json!([7]), Some("int_type")),
            (json!({ "x": 7 }), Some("int_type")),
        ] {
            let body = json!({ "reference_offset_x": value });
            let found: Vec<_> = check(OperationKind::Outpaint, &body)
                .iter()
                .map(|violation| violation.kind)
                .collect();
            assert_eq!(found, kind.into_iter().collect::<Vec<_>>(), "{body}");
            assert!(
                check(OperationKind::Create, &body).is_empty(),
                "other operations ignore the field"
            );
        }
        assert_eq!(
            check(OperationKind::Outpaint, &json!({ "width": 0 }))[0].kind,
            "greater_than_equal"
        );
        assert_eq!(
            check(OperationKind::Erase, &json!({ "dilation": 257 }))[0].kind,
            "less_than_equal"
        );
    }

    #[test]
    fn integers_are_read_in_every_notation() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(-7.0), Some(-7)),
            (json!(7.5), None),
            (json!("7"), None),
            (json!(null), None),
            (json!(u64::MAX), Some(i64::MAX)),
        ] {
            assert_eq!(integer(&json!({ "x": value }), "x"), expected, "{value}");
        }
    }
}
