//! JSON objects for programs.

use serde_json::Value;

/// Adds members to an object. Members that it has are replaced.
pub fn with<const N: usize>(mut object: Value, members: [(&str, Value); N]) -> Value {
    if let Value::Object(known) = &mut object {
        known.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }
    object
}
