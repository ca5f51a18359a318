//! The values of flags. Types and bounds are not checked here: a value that does not parse is
//! passed on as text, so that the SDK can report every violation at once.

use std::{ffi::OsStr, time::Duration};

use clap::{
    Arg, Command,
    builder::{PossibleValue, TypedValueParser},
};
use serde_json::Value;

use imagekiln::FieldKind;

/// The JSON value of a flag's text.
pub fn json(kind: &FieldKind, text: &str) -> Value {
    let parsed = || serde_json::from_str::<Value>(text).ok();
    let wanted = match kind {
        FieldKind::Integer | FieldKind::Number => parsed().filter(Value::is_number),
        FieldKind::Boolean => parsed().filter(Value::is_boolean),
        FieldKind::Json | FieldKind::Object { .. } => parsed(),
        _ => None,
    };
    wanted.unwrap_or_else(|| text.into())
}

/// A duration in seconds, minutes, hours or days, such as `90`, `0.5`, `90s`, `2m`, `1h` or `30d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, f64); 4] = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86_400.0)];
    let unit =
        UNITS.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.unwrap_or((text, 1.0));
    let seconds = number.parse().ok().map(|number: f64| number * factor);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "give a duration such as 90, 90s, 2m, 1h or 30d".to_owned())
}

/// A number of credits, such as `4` or `0.5`.
pub fn credits(text: &str) -> Result<f64, String> {
    let credits = text.parse().ok().filter(|credits: &f64| credits.is_finite() && *credits >= 0.0);
    credits.ok_or_else(|| "give a number of credits, such as 4 or 0.5".to_owned())
}

/// Offers the values of a list for help and completion, and accepts any text.
#[derive(Clone)]
pub struct Offered(pub &'static [&'static str]);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|value| PossibleValue::new(*value))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_get_the_type_of_their_field_if_they_parse() {
        for (kind, text, sent) in [
            (FieldKind::Integer, "7", json!(7)),
            (FieldKind::Integer, "-7", json!(-7)),
            (FieldKind::Integer, "seven", json!("seven")),
            (FieldKind::Integer, "true", json!("true")),
            (FieldKind::Number, "1.5", json!(1.5)),
            (FieldKind::Number, "1e999", json!("1e999")),
            (FieldKind::Number, "NaN", json!("NaN")),
            (FieldKind::Boolean, "true", json!(true)),
            (FieldKind::Boolean, "1", json!("1")),
            (FieldKind::Text, "7", json!("7")),
            (FieldKind::Text, "null", json!("null")),
            (FieldKind::Json, "[1, 2]", json!([1, 2])),
            (FieldKind::Json, "left", json!("left")),
        ] {
            assert_eq!(super::json(&kind, text), sent, "{kind:?} {text}");
        }
    }

    #[test]
    fn credits_are_finite_and_not_negative() {
        assert_eq!(credits("0.5"), Ok(0.5));
        for text in ["-1", "inf", "NaN", "free", "", "1e999"] {
            assert!(credits(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_finite_and_not_negative() {
        for (text, milliseconds) in [
            ("0.5", 500),
            ("90", 90_000),
            ("90s", 90_000),
            ("2m", 120_000),
            ("1.5h", 5_400_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["-1", "inf", "NaN", "soon", "", "1e30", "m", "2 m", "2min", "-2m", "1e300h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
