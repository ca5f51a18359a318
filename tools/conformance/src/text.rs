//! The placeholders of recordings.

use serde_json::Value;

/// The maximum length to restore, which is longer than every limit of the contract.
const LONGEST: usize = 100_000;

/// Replaces each placeholder of a text by a text of the same length, so that the limits of the
/// contract apply to it. Other placeholders are strings, like what they replace.
pub fn restored(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            length(text).map_or(value.clone(), |length| "x".repeat(length).into())
        }
        Value::Array(items) => items.iter().map(restored).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), restored(value))).collect()
        }
        other => other.clone(),
    }
}

/// Returns N of `[text, N characters]`.
fn length(text: &str) -> Option<usize> {
    let number = text.strip_prefix("[text, ")?.strip_suffix(" characters]")?;
    Some(number.parse::<usize>().ok()?.min(LONGEST))
}

/// Makes text from a recording safe to print on one line.
pub fn printable(text: &str) -> String {
    const LONGEST_NAME: usize = 200;
    let shown = text.chars().take(LONGEST_NAME).flat_map(|c| {
        // Escapes also what hides or reorders text; letters outside ASCII remain.
        let escaped = c.is_control() || (!c.is_ascii() && !c.is_alphanumeric());
        let escape = escaped.then(|| c.escape_unicode());
        escape.into_iter().flatten().chain((!escaped).then_some(c))
    });
    let mut shown: String = shown.collect();
    if text.chars().nth(LONGEST_NAME).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_restored_to_its_length() {
        let recorded =
            json!({ "a": ["[text, 3 characters]"], "b": "[image/png, 3 bytes]", "c": 1 });
        assert_eq!(
            restored(&recorded),
            json!({ "a": ["xxx"], "b": "[image/png, 3 bytes]", "c": 1 })
        );
        assert_eq!(restored(&json!("[text, -1 characters]")), "[text, -1 characters]");
        let longest = restored(&json!("[text, 99999999999 characters]"));
        assert_eq!(longest.as_str().unwrap().len(), LONGEST);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}é"), "a\\u{1b}[31m\\u{202e}é");
        assert_eq!(printable(&"a".repeat(300)).len(), 203);
    }
}
