//! The values of flags. Types and bounds are not checked here: a value that does not parse is
//! passed on as text, so that the SDK can report every violation at once.

use std::ffi::OsStr;

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
}
