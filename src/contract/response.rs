//! Converts responses to their contract types.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::Level;

use super::unexpected::Unexpected;
use crate::Extra;

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
