//! The scopes of limits.

use std::fmt;

use serde::Serialize;

/// What a limit applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// All submissions of the ledger.
    Ledger,
    /// The submissions of the operation with this name, such as `gen-2-pro`.
    Operation(String),
    /// The submissions of this [group](crate::Job::group).
    Group(String),
    /// The submissions of each group, counted separately. A limit that is set for a group itself
    /// replaces that of each group.
    EachGroup,
}

impl Scope {
    /// Returns the values of the columns `scope` and `name`.
    pub(crate) fn columns(&self) -> (&'static str, &str) {
        match self {
            Self::Ledger => ("ledger", ""),
            Self::Operation(name) => ("operation", name),
            Self::Group(name) => ("group", name),
            Self::EachGroup => ("group", ""),
        }
    }

    /// Returns the column of the jobs that contains the name.
    pub(crate) fn job_column(&self) -> &'static str {
        if matches!(self, Self::Group(_)) { "group_name" } else { "operation" }
    }

    pub(crate) fn of_columns(scope: &str, name: String) -> Self {
        match scope {
            "operation" => Self::Operation(name),
            "group" if name.is_empty() => Self::EachGroup,
            "group" => Self::Group(name),
            _ => Self::Ledger,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger => f.write_str("the ledger"),
            Self::Operation(name) => write!(f, "the operation `{name}`"),
            Self::Group(name) => write!(f, "the group `{name}`"),
            Self::EachGroup => f.write_str("each group"),
        }
    }
}
