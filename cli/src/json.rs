//! JSON objects for programs, and errors about JSON.

use serde_json::Value;

/// Adds members to an object. Members that it has are replaced.
pub fn with<const N: usize>(mut object: Value, members: [(&str, Value); N]) -> Value {
    if let Value::Object(known) = &mut object {
        known.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }
    object
}

/// The message of an error, without the unexpected value, which may be a secret. The SDK does the
/// same with its requests.
pub fn without_value(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => message,
    }
}
