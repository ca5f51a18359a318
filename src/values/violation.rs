use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Extra, MAX_MESSAGE, MAX_NAME, one_line};

/// How much of the way to a place is shown. A request is less deep.
const MOST_STEPS: usize = 10;

/// One thing in a request that does not fit the contract (schema `ValidationError`): found here
/// before anything was sent, or reported by the service with status 422.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Violation {
    /// Where in the request: `["body", "width"]`.
    pub loc: Vec<Location>,
    /// What is wrong, for people.
    pub msg: String,
    /// What kind of violation it is, for programs: `missing`, `greater_than_equal`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// What else the service said of it.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A step on the way to a place in a request: the name of a field, or an index.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Location {
    /// The name of a field.
    Name(String),
    /// A position in a list.
    Index(i64),
}

impl Violation {
    pub(crate) fn of_field(name: &str, kind: &str, msg: impl Into<String>) -> Self {
        Self::at(["body", name], kind, msg)
    }

    /// Of a parameter in the path.
    pub(crate) fn of_parameter(name: &str, kind: &str, msg: impl Into<String>) -> Self {
        Self::at(["path", name], kind, msg)
    }

    fn at(place: [&str; 2], kind: &str, msg: impl Into<String>) -> Self {
        Self {
            loc: place.map(|step| Location::Name(step.to_owned())).into(),
            msg: msg.into(),
            kind: kind.to_owned(),
            extra: Extra::default(),
        }
    }

    /// The name of the field, where the violation is one of a field.
    pub fn field(&self) -> Option<&str> {
        match self.loc.as_slice() {
            [Location::Name(root), Location::Name(field), ..] if root == "body" => Some(field),
            _ => None,
        }
    }
}

/// `width: must be at least 64`: on one line, whatever the service wrote, and bounded.
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
