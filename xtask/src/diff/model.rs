//! What is compared: operations, their fields, and what each field may hold.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The operations of a service, by method and path with the names of path parameters taken out.
#[derive(Debug, Default)]
pub struct Service {
    pub operations: BTreeMap<String, Operation>,
}

/// One operation.
#[derive(Debug)]
pub struct Operation {
    /// Method and path as its document writes them.
    pub name: String,
    pub deprecated: bool,
    /// Parameters and bodies, by a name that tells which (`query id`, `body`).
    pub request: BTreeMap<String, Field>,
    /// Answers by status, and media type where it is not JSON.
    pub answers: BTreeMap<String, Shape>,
}

/// A place that holds a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub required: bool,
    pub shape: Shape,
}

/// What a value may be. The default shape allows anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    pub types: Types,
    /// `None` where nothing is said about types at all.
    pub nullable: Option<bool>,
    /// The allowed values as JSON text, where they are enumerated; `null` is left to `nullable`.
    pub choices: Option<BTreeSet<String>>,
    pub default: Option<Value>,
    pub limits: BTreeMap<&'static str, Limit>,
    pub fields: BTreeMap<String, Field>,
    /// Fields beside `fields` are refused.
    pub closed: bool,
    pub items: Option<Box<Shape>>,
}

/// The JSON types that are allowed besides null; `None` allows each.
///
/// `integer` is left out beside `number`, which includes it.
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
    /// Known only to be the same or another: a pattern, a format.
    Exact(String),
}

/// How theirs relates to ours.
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
    /// From whether ours includes theirs, and theirs ours.
    pub fn from_inclusion(ours_includes: bool, theirs_includes: bool) -> Self {
        match (ours_includes, theirs_includes) {
            (true, true) => Self::Same,
            (true, false) => Self::Narrowed,
            (false, true) => Self::Widened,
            (false, false) => Self::Replaced,
        }
    }

    /// Of two restrictions by the same keyword, either of which may be missing.
    pub fn of_limits(ours: Option<&Limit>, theirs: Option<&Limit>) -> Self {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                Self::from_inclusion(ours.includes(theirs), theirs.includes(ours))
            }
            (ours, theirs) => Self::from_inclusion(ours.is_none(), theirs.is_none()),
        }
    }

    /// Of two sets, where a missing one holds everything.
    pub fn of_sets(ours: Option<&BTreeSet<String>>, theirs: Option<&BTreeSet<String>>) -> Self {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                Self::from_inclusion(ours.is_superset(theirs), theirs.is_superset(ours))
            }
            (ours, theirs) => Self::from_inclusion(ours.is_none(), theirs.is_none()),
        }
    }

    /// Of two flags that each forbid something.
    pub fn of_restrictions(ours: bool, theirs: bool) -> Self {
        Self::from_inclusion(!ours || theirs, !theirs || ours)
    }
}

impl Limit {
    /// Whether everything that `other` allows is allowed by this too.
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
    /// Exactly the types named.
    pub fn only<Name: Into<String>>(names: impl IntoIterator<Item = Name>) -> Self {
        let mut names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        if names.contains("number") {
            names.remove("integer");
        }
        Self(Some(names))
    }

    /// Whether a value of this type may appear.
    pub fn allow(&self, name: &str) -> bool {
        let Some(names) = &self.0 else { return true };
        names.contains(name) || (name == "integer" && names.contains("number"))
    }

    /// Every allowed type by name, `integer` beside `number` included.
    pub fn spelled_out(&self) -> Option<BTreeSet<String>> {
        let mut names = self.0.clone()?;
        if names.contains("number") {
            names.insert("integer".into());
        }
        Some(names)
    }
}

impl Shape {
    /// Null and nothing else, or (where even null is refused) nothing at all.
    pub fn holds_no_value(&self) -> bool {
        self.types.0.as_ref().is_some_and(BTreeSet::is_empty)
    }
}
