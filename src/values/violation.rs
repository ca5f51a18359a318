//! Mismatches between a request and the contract.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Extra, MAX_MESSAGE, MAX_NAME, one_line};

/// The maximum number of steps of a location to print. The locations in valid requests are shorter.
const MOST_STEPS: usize = 10;

/// One mismatch between a request and the contract (schema `ValidationError`). Either the SDK finds
/// it before it sends the request, or the service reports it with status code 422.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Violation {
    /// The location in the request, for example `["body", "width"]`.
    pub loc: Vec<Location>,
    /// A human-readable description of the problem.
    pub msg: String,
    /// The machine-readable type of the violation: `missing`, `greater_than_equal`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// Other fields that the service sent.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One step of a location: a field name or an index.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Location {
    /// The name of a field.
    Name(String),
    /// An index in a list.
    Index(i64),
}

impl Location {
    pub(crate) fn name(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl Violation {
    /// Creates a violation without a location.
    pub(crate) fn new(kind: &str, msg: impl Into<String>) -> Self {
        let (kind, extra) = (kind.to_owned(), Extra::default());
        Self { loc: Vec::new(), msg: msg.into(), kind, extra }
    }

    /// Sets the location to a value within the body.
    pub(crate) fn at(mut self, steps: &[Location]) -> Self {
        self.loc = [&[Location::name("body")][..], steps].concat();
        self
    }

    pub(crate) fn of_field(name: &str, kind: &str, msg: impl Into<String>) -> Self {
        Self::new(kind, msg).at(&[Location::name(name)])
    }

    /// Creates a violation of a path parameter.
    pub(crate) fn of_parameter(name: &str, kind: &str, msg: impl Into<String>) -> Self {
        let loc = vec![Location::name("path"), Location::name(name)];
        Self { loc, ..Self::new(kind, msg) }
    }

    /// Returns the name of the field, if the violation is about a field of the body.
    pub fn field(&self) -> Option<&str> {
        match self.loc.as_slice() {
            [Location::Name(root), Location::Name(field), ..] if root == "body" => Some(field),
            _ => None,
        }
    }
}

/// Prints the location and the description on one line of bounded length, for example `width: must
/// be at least 64`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = match self.loc.as_slice() {
            [Location::Name(root), rest @ ..] if root == "body" && !rest.is_empty() => rest,
            all => all,
        };
        for (index, step) in steps.iter().take(MOST_STEPS).enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            match step {
                Location::Name(name) => f.write_str(&one_line(name, MAX_NAME))?,
                Location::Index(index) => write!(f, "{index}")?,
            }
        }
        write!(f, ": {}", one_line(&self.msg, MAX_MESSAGE))
    }
}
