//! The parts of a response that the contract does not define.

use serde_json::Value;

use crate::values::{MAX_NAME, REDACTED, one_line};

/// The maximum number of names to collect of each kind.
const MOST_NAMES: usize = 20;

/// Names in a response, but no values. A member of a nested object is `OUTER.INNER`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Unexpected {
    /// The members that the contract does not list.
    pub(crate) unlisted: Vec<String>,
    /// The members whose value has an unexpected type, with the JSON type of the value.
    pub(crate) mistyped: Vec<(String, &'static str)>,
    /// The number of further names that were not collected.
    pub(crate) more: usize,
}

impl Unexpected {
    pub(crate) fn is_empty(&self) -> bool {
        self.unlisted.is_empty() && self.mistyped.is_empty()
    }

    /// Adds a member that the contract does not list.
    pub(crate) fn unlisted(&mut self, name: &str) {
        if self.unlisted.len() < MOST_NAMES {
            self.unlisted.push(printable(name))
        } else {
            self.more += 1
        }
    }

    /// Adds a member whose value has an unexpected type.
    pub(crate) fn mistyped(&mut self, name: &str, value: &Value) {
        if self.mistyped.len() < MOST_NAMES {
            self.mistyped.push((printable(name), json_type(value)))
        } else {
            self.more += 1
        }
    }

    /// Adds what was found elsewhere in the same object.
    pub(crate) fn add(&mut self, other: Self) {
        self.unlisted.extend(other.unlisted);
        self.mistyped.extend(other.mistyped);
        self.more += other.more;
    }

    /// Adds what was found in the member `name`.
    pub(crate) fn within(&mut self, name: &str, mut inner: Self) {
        let unlisted = inner.unlisted.iter_mut();
        for path in unlisted.chain(inner.mistyped.iter_mut().map(|(path, _)| path)) {
            *path = format!("{name}.{path}");
        }
        self.add(inner);
    }
}

/// Returns a name in one line. A name that contains a URL is not printed, because its query may be
/// secret.
fn printable(name: &str) -> String {
    if name.contains("://") { REDACTED.to_owned() } else { one_line(name, MAX_NAME) }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
