//! Converts responses to their contract types.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::Level;

use crate::{
    Extra,
    values::{MAX_NAME, REDACTED, one_line},
};

/// A response type, or the type of an object in a response. The generator implements it, so that
/// each field is read by itself.
pub(crate) trait ReadResponse: Sized {
    /// Returns `None` if the value has a different type or a required member is missing. Adds what
    /// the contract does not define to `unexpected`.
    fn read(value: Value, unexpected: &mut Unexpected) -> Option<Self>;
}

/// Reads a response, and returns what the contract does not define in it.
pub(crate) fn read_response<T: ReadResponse>(value: Value) -> (Option<T>, Unexpected) {
    let mut unexpected = Unexpected::default();
    let response = T::read(value, &mut unexpected);
    (response, unexpected)
}

/// The members of an object that no field has taken yet.
pub(crate) struct ResponseFields<'a> {
    members: Map<String, Value>,
    /// The members that a field could not take, because their values have unexpected types.
    mistyped: Vec<String>,
    unexpected: &'a mut Unexpected,
}

impl<'a> ResponseFields<'a> {
    pub(crate) fn of(value: Value, unexpected: &'a mut Unexpected) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        Some(Self { members, mistyped: Vec::new(), unexpected })
    }

    /// Takes the member `name`. If its value does not have the type, it stays for
    /// [`rest`](Self::rest).
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value, _| T::deserialize(value).ok())
    }

    /// As [`take`](Self::take), for an object whose fields are read one by one.
    pub(crate) fn take_object<T: ReadResponse>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value, unexpected| {
            let (object, inner) = read_response(value.clone());
            unexpected.within(name, inner);
            object
        })
    }

    fn take_if<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value, &mut Unexpected) -> Option<T>,
    ) -> Option<T> {
        let value = self.members.get(name)?;
        // `null` is the same as a missing member.
        let taken = if value.is_null() { None } else { read(value, self.unexpected) };
        if taken.is_some() || value.is_null() {
            self.members.remove(name);
        } else {
            self.unexpected.mistyped(name, value);
            self.mistyped.push(name.to_owned());
        }
        taken
    }

    /// Takes the remaining members.
    pub(crate) fn rest(&mut self) -> Extra {
        // Without a listener, nothing reports the names.
        if tracing::enabled!(Level::WARN) {
            let unlisted = self.members.keys().filter(|name| !self.mistyped.contains(name));
            unlisted.for_each(|name| self.unexpected.unlisted(name));
        }
        std::mem::take(&mut self.members).into()
    }
}

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
