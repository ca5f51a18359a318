//! Converts responses to their contract types.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::unexpected::{collect, note};
use crate::Extra;

/// A response type, or the type of an object in a response. The generator implements it, so that
/// each field is read by itself.
pub(crate) trait ReadAnswer: Sized {
    /// Returns `None` if the value has a different type or a required member is missing.
    fn read(value: &Value) -> Option<Self>;
}

/// The members of an object that no field has taken yet.
pub(crate) struct AnswerFields {
    members: Map<String, Value>,
    /// The members that a field could not take, because their values have unexpected types.
    mistyped: Vec<String>,
}

impl AnswerFields {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(Self { members: value.as_object()?.clone(), mistyped: Vec::new() })
    }

    /// Takes the member `name`. If its value does not have the type, it stays for
    /// [`rest`](Self::rest).
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value| T::deserialize(value).ok())
    }

    /// As [`take`](Self::take), for an object whose fields are read one by one.
    pub(crate) fn take_object<T: ReadAnswer>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value| {
            let (object, inner) = collect(|| T::read(value));
            note(|unexpected| unexpected.within(name, inner));
            object
        })
    }

    fn take_if<T>(&mut self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = self.members.get(name)?;
        // `null` is the same as a missing member.
        let taken = if value.is_null() { None } else { read(value) };
        if taken.is_some() || value.is_null() {
            self.members.remove(name);
        } else {
            note(|unexpected| unexpected.mistyped(name, value));
            self.mistyped.push(name.to_owned());
        }
        taken
    }

    /// Takes the remaining members.
    pub(crate) fn rest(&mut self) -> Extra {
        let unlisted = self.members.keys().filter(|name| !self.mistyped.contains(name));
        note(|unexpected| unlisted.for_each(|name| unexpected.unlisted(name)));
        std::mem::take(&mut self.members).into()
    }
}
