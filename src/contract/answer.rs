//! Reading responses into their types.

use serde_json::{Map, Value};

use crate::{Address, Extra, TaskStatus, Violation};

/// A type of a response, or of a part of one.
pub(crate) trait ReadAnswer: Sized {
    /// `None` if the value does not fit, or lacks what is required.
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

/// A list of which an element does not fit is not read, so that no element is lost.
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

    /// The member `name`. One that does not fit its type is left to [`rest`](Self::rest).
    pub(crate) fn take<T: ReadAnswer>(&mut self, name: &str) -> Option<T> {
        let value = self.0.get(name)?;
        let read = T::read(value);
        // `null` says no more than a member that is missing.
        if read.is_some() || value.is_null() {
            self.0.remove(name);
        }
        read
    }

    /// What no field has taken.
    pub(crate) fn rest(&mut self) -> Extra {
        std::mem::take(&mut self.0).into()
    }
}
