//! Fields that the contract does not define.

use std::{
    collections::BTreeMap,
    fmt,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Fault, IntoJson};

/// Fields that the contract does not define. They are sent as set, and kept as received.
///
/// Dereferences to the underlying `serde_json::Map`. `Debug` prints only the field names, because
/// unknown values may be secret.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Extra {
    fields: Map<String, Value>,
    /// Violations of fields that cannot represent the value they were set to, by field name.
    #[serde(skip)]
    faults: BTreeMap<String, String>,
}

impl Extra {
    /// Sets a field. Records a violation if JSON cannot represent the value, for example NaN.
    pub(crate) fn set(&mut self, name: String, value: impl IntoJson) {
        match self.checked(&name, value.into_json()) {
            Some(value) => self.fields.insert(name, value),
            None => self.fields.remove(&name),
        };
    }

    /// Returns the value of the field `name`, or records a violation of it.
    pub(crate) fn checked<T>(&mut self, name: &str, value: Result<T, Fault>) -> Option<T> {
        match value {
            Ok(value) => {
                self.faults.remove(name);
                Some(value)
            }
            Err(Fault(fault)) => {
                self.faults.insert(name.to_owned(), fault);
                None
            }
        }
    }

    /// Records a violation of the field `name` if there are more reference images than fields for
    /// them.
    pub(crate) fn limit_references(&mut self, name: &str, most: usize, too_many: usize) {
        let given = most + too_many;
        let fault = format!("is the first of {given} reference images; at most {most} are allowed");
        self.checked(name, if too_many > 0 { Err(Fault(fault)) } else { Ok(()) });
    }

    /// Returns the fields, and the violations of those that could not be set.
    pub(crate) fn into_parts(self) -> (Map<String, Value>, BTreeMap<String, String>) {
        (self.fields, self.faults)
    }
}

impl Deref for Extra {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl DerefMut for Extra {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.fields
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(map: Map<String, Value>) -> Self {
        Self { fields: map, ..Self::default() }
    }
}

impl From<Extra> for Map<String, Value> {
    fn from(extra: Extra) -> Self {
        extra.fields
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.fields.keys()).finish()
    }
}
