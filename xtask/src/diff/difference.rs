//! The differences between two services.

use serde::Serialize;

use super::{model::Relation, rust_api::Effect};

/// A difference in one operation, from the first service to the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Method and path.
    pub operation: String,
    pub finding: Finding,
}

/// What differs, in any operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// The part of the operation; `None` for the operation itself.
    pub place: Option<String>,
    #[serde(flatten)]
    pub change: Change,
    pub mark: Mark,
    pub rust: Effect,
}

/// The kind of difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum Change {
    /// Only the second has it.
    Added { what: String },
    /// Only the first has it.
    Removed { what: String },
    /// Both have it.
    Changed { aspect: &'static str, from: String, to: String },
}

/// The effect on callers of the first service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    Breaking,
    Compatible,
}

impl Mark {
    pub fn breaking_if(breaking: bool) -> Self {
        if breaking { Self::Breaking } else { Self::Compatible }
    }
}

/// Where a value is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Request,
    Response,
    /// A header of a response.
    Header,
}

impl Direction {
    pub fn mark(self, relation: Relation) -> Mark {
        let harmless = match self {
            Self::Request => Relation::Widened,
            Self::Response | Self::Header => Relation::Narrowed,
        };
        Mark::breaking_if(relation != harmless)
    }
}
