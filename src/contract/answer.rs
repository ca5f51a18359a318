//! Converts responses to their contract types.

use serde_json::{Map, Value};

use crate::{Address, Extra, TaskStatus, Violation};

/// A response type, or the type of a part of a response.
pub(crate) trait ReadAnswer: Sized {
    /// Returns `None` if the value has a different type or a required member is missing.
    fn read(value: &Value) -> Option<Self>;
}

macro_rules! by_serde {
    ($($type:ty),*) => {
        $(
            impl ReadAnswer for $type {
                fn read(value: &Value) -> Option<Self> {
                    serde::Deserialize::deserialize(value).ok()
                }
            }
        )*
    };
}

by_serde!(String, bool, i64, f64, Value, Address, TaskStatus, Violation);

/// If any element cannot be read, the whole list is not read, so that no element is lost.
impl<T: ReadAnswer> ReadAnswer for Vec<T> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }
}

/// The members of an object that no field has taken yet.
pub(crate) struct AnswerFields(Map<String, Value>);

impl AnswerFields {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        value.as_object().cloned().map(Self)
    }

    /// Takes the member `name`. If its value does not have the type, it stays for
    /// [`rest`](Self::rest).
    pub(crate) fn take<T: ReadAnswer>(&mut self, name: &str) -> Option<T> {
        let value = self.0.get(name)?;
        let read = T::read(value);
        // `null` is the same as a missing member.
        if read.is_some() || value.is_null() {
            self.0.remove(name);
        }
        read
    }

    /// Takes the remaining members.
    pub(crate) fn rest(&mut self) -> Extra {
        std::mem::take(&mut self.0).into()
    }
}
