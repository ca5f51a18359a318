//! The model for the comparison: operations, their fields, and the allowed values of each field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The operations of a service, by method and path without the names of path parameters.
#[derive(Debug, Default)]
pub struct Service {
    pub operations: BTreeMap<String, Operation>,
}

/// One operation.
#[derive(Debug)]
pub struct Operation {
    /// Method and path, as in the document.
    pub name: String,
    pub deprecated: bool,
    /// Parameters and bodies, by location and name (`query id`, `body`).
    pub request: BTreeMap<String, Field>,
    /// Responses by status code, and by media type if it is not JSON.
    pub responses: BTreeMap<String, Shape>,
}

/// A field of a request or a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub required: bool,
    pub shape: Shape,
}

/// The set of allowed values. The default shape allows anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    pub types: Types,
    /// `None` if the types are not restricted at all.
    pub nullable: Option<bool>,
    /// The enumerated values as JSON text, without `null`, which is in `nullable`.
    pub choices: Option<BTreeSet<String>>,
    pub default: Option<Value>,
    pub limits: BTreeMap<&'static str, Limit>,
    pub fields: BTreeMap<String, Field>,
    /// Fields other than `fields` are rejected.
    pub closed: bool,
    pub items: Option<Box<Shape>>,
}

/// The allowed JSON types besides null; `None` allows every type.
///
/// `integer` is omitted if there is `number`, which includes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Types(pub Option<BTreeSet<String>>);

/// A restriction by one keyword.
#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    Lower {
        value: f64,
        exclusive: bool,
    },
    Upper {
        value: f64,
        exclusive: bool,
    },
    Multiple(f64),
    /// A pattern or a format, which can only be compared for equality.
    Exact(String),
}

/// The relation of theirs to ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Same,
    /// Theirs allows less.
    Narrowed,
    /// Theirs allows more.
    Widened,
    /// Neither includes the other.
    Replaced,
}

impl Relation {
    /// The relation, given whether ours includes theirs and theirs includes ours.
    pub fn from_inclusion(ours_includes: bool, theirs_includes: bool) -> Self {
        match (ours_includes, theirs_includes) {
            (true, true) => Self::Same,
            (true, false) => Self::Narrowed,
            (false, true) => Self::Widened,
            (false, false) => Self::Replaced,
        }
    }

    /// The relation of two optional restrictions by the same keyword.
    pub fn of_limits(ours: Option<&Limit>, theirs: Option<&Limit>) -> Self {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                Self::from_inclusion(ours.includes(theirs), theirs.includes(ours))
            }
            (ours, theirs) => Self::from_inclusion(ours.is_none(), theirs.is_none()),
        }
    }

    /// The relation of two sets; `None` contains everything.
    pub fn of_sets(ours: Option<&BTreeSet<String>>, theirs: Option<&BTreeSet<String>>) -> Self {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                Self::from_inclusion(ours.is_superset(theirs), theirs.is_superset(ours))
            }
            (ours, theirs) => Self::from_inclusion(ours.is_none(), theirs.is_none()),
        }
    }

    /// The relation of two flags that each forbid something.
    pub fn of_restrictions(ours: bool, theirs: bool) -> Self {
        Self::from_inclusion(!ours || theirs, !theirs || ours)
    }
}

impl Limit {
    /// Whether this allows everything that `other` allows.
    pub fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lower { value, exclusive }, Self::Lower { value: inner, exclusive: open }) => {
                value < inner || (value == inner && (!exclusive || *open))
            }
            (Self::Upper { value, exclusive }, Self::Upper { value: inner, exclusive: open }) => {
                value > inner || (value == inner && (!exclusive || *open))
            }
            (Self::Multiple(step), Self::Multiple(inner)) => {
                let ratio = inner / step;
                step == inner || (ratio - ratio.round()).abs() < 1e-9
            }
            (this, other) => this == other,
        }
    }
}

impl Types {
    /// Exactly these types.
    pub fn only<Name: Into<String>>(names: impl IntoIterator<Item = Name>) -> Self {
        let mut names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        if names.contains("number") {
            names.remove("integer");
        }
        Self(Some(names))
    }

    /// Whether values of this type are allowed.
    pub fn allow(&self, name: &str) -> bool {
        let Some(names) = &self.0 else { return true };
        names.contains(name) || (name == "integer" && names.contains("number"))
    }

    /// The names of all allowed types, with `integer` in addition to `number`.
    pub fn spelled_out(&self) -> Option<BTreeSet<String>> {
        let mut names = self.0.clone()?;
        if names.contains("number") {
            names.insert("integer".into());
        }
        Some(names)
    }
}

impl Shape {
    /// Whether the shape allows no value other than null.
    pub fn holds_no_value(&self) -> bool {
        self.types.0.as_ref().is_some_and(BTreeSet::is_empty)
    }
}
