//! Converts responses to their contract types.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Extra;

/// A response type, or the type of an object in a response. The generator implements it, so that
/// each field is read by itself.
pub(crate) trait ReadAnswer: Sized {
    /// Returns `None` if the value has a different type or a required member is missing.
    fn read(value: &Value) -> Option<Self>;
}

/// The members of an object that no field has taken yet.
pub(crate) struct AnswerFields(Map<String, Value>);

impl AnswerFields {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        value.as_object().cloned().map(Self)
    }

    /// Takes the member `name`. If its value does not have the type, it stays for
    /// [`rest`](Self::rest).
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, |value| T::deserialize(value).ok())
    }

    /// As [`take`](Self::take), for an object whose fields are read one by one.
    pub(crate) fn take_object<T: ReadAnswer>(&mut self, name: &str) -> Option<T> {
        self.take_if(name, T::read)
    }

    fn take_if<T>(&mut self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = self.0.get(name)?;
        // `null` is the same as a missing member.
        let taken = if value.is_null() { None } else { read(value) };
        if taken.is_some() || value.is_null() {
            self.0.remove(name);
        }
        taken
    }

    /// Takes the remaining members.
    pub(crate) fn rest(&mut self) -> Extra {
        std::mem::take(&mut self.0).into()
    }
}
