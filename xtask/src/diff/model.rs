//! The model for the comparison: operations, their fields, and the allowed values of each field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::access::{Authentication, Servers};

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
    pub authentication: Authentication,
    pub servers: Servers,
    /// Parameters and bodies, by location and name (`query id`, `body`).
    pub request: BTreeMap<String, Field>,
    /// Responses by status code, and by media type if it is not JSON.
    pub responses: BTreeMap<String, Shape>,
    /// The headers of each response, by status code and name.
    pub headers: BTreeMap<String, BTreeMap<String, Field>>,
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
    pub deprecated: bool,
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

/// The relation of the second document to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Same,
    /// The second allows less.
    Narrowed,
    /// The second allows more.
    Widened,
    /// Neither includes the other.
    Replaced,
}

impl Relation {
    /// The relation, given whether from includes to and to includes from.
    pub fn from_inclusion(from_includes: bool, to_includes: bool) -> Self {
        match (from_includes, to_includes) {
            (true, true) => Self::Same,
            (true, false) => Self::Narrowed,
            (false, true) => Self::Widened,
            (false, false) => Self::Replaced,
        }
    }

    /// The relation of two optional restrictions by the same keyword.
    pub fn of_limits(from: Option<&Limit>, to: Option<&Limit>) -> Self {
        match (from, to) {
            (Some(from), Some(to)) => Self::from_inclusion(from.includes(to), to.includes(from)),
            (from, to) => Self::from_inclusion(from.is_none(), to.is_none()),
        }
    }

    /// The relation of two sets; `None` contains everything.
    pub fn of_sets(from: Option<&BTreeSet<String>>, to: Option<&BTreeSet<String>>) -> Self {
        match (from, to) {
            (Some(from), Some(to)) => {
                Self::from_inclusion(from.is_superset(to), to.is_superset(from))
            }
            (from, to) => Self::from_inclusion(from.is_none(), to.is_none()),
        }
    }

    /// The relation of two flags that each forbid something.
    pub fn of_restrictions(from: bool, to: bool) -> Self {
        Self::from_inclusion(!from || to, !to || from)
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

    /// Whether only numbers are allowed.
    pub fn is_number(&self) -> bool {
        let is_number = |name: &String| name == "integer" || name == "number";
        self.0.as_ref().is_some_and(|names| names.iter().all(is_number))
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
    /// The number of shapes and values in this shape, as a measure of the work to combine it.
    pub fn size(&self) -> u32 {
        let values = self.choices.as_ref().map_or(0, BTreeSet::len);
        let own = u32::try_from(values).unwrap_or(u32::MAX).saturating_add(1);
        let fields = self.fields.values().map(|field| &field.shape);
        let parts = fields.chain(self.items.as_deref());
        parts.fold(own, |size, part| size.saturating_add(part.size()))
    }

    /// Whether the shape allows no value other than null.
    pub fn holds_no_value(&self) -> bool {
        self.types.0.as_ref().is_some_and(BTreeSet::is_empty)
    }
}
