//! JSON for programs, and errors about JSON.

use std::fmt::Write;

use serde_json::Value;

use imagekiln::text::is_printable;

/// Adds members to an object. They replace members of the same name.
pub fn with<'n>(mut object: Value, members: impl IntoIterator<Item = (&'n str, Value)>) -> Value {
    if let Value::Object(known) = &mut object {
        known.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    object
}

/// Adds those of the members that have a value.
pub fn with_known<const N: usize>(object: Value, members: [(&str, Option<Value>); N]) -> Value {
    with(object, members.into_iter().filter_map(|(name, value)| Some((name, value?))))
}

/// Formats JSON on one line. Unlike [`one_line`](super::one_line), shortens nothing, and
/// escapes the characters that `one_line` replaces.
pub fn json_line(value: &Value) -> String {
    let json = value.to_string();
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_printable(c) {
            // Such characters occur only in strings, and their code points have four hex digits.
            // Writing to a `String` does not fail.
            let _ = write!(line, "\\u{:04x}", u32::from(c));
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escaped_json_parses_to_the_same_value() {
        let value = json!({ "a\u{9b}31m": "\u{1b}\n\u{7f}\u{202e}\u{feff}é🦊\\u0041" });
        let line = json_line(&value);
        assert!(line.chars().all(is_printable), "{line}");
        assert!(line.contains("é🦊"), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
