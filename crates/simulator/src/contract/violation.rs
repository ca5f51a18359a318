//! Violations, in the format and wording of a 422 response.

use serde::Serialize;

use crate::values::names;

/// The maximum number of violations to report.
pub(crate) const MAX_VIOLATIONS: usize = 100;

/// A violation of the contract.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Violation {
    pub(crate) loc: Vec<Step>,
    pub(crate) msg: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

/// A step on the path to the invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl Violation {
    pub(crate) fn new(
        loc: impl IntoIterator<Item = impl Into<Step>>,
        kind: &'static str,
        msg: impl Into<String>,
    ) -> Self {
        Self { loc: loc.into_iter().map(Into::into).collect(), msg: msg.into(), kind }
    }

    /// Bounds the names on its path, and replaces characters that cannot be printed.
    pub(crate) fn make_printable(&mut self) {
        for step in &mut self.loc {
            if let Step::Name(name) = step {
                *name = names::printable(name);
            }
        }
    }

    /// A violation by a value of the right type.
    pub(crate) fn value(loc: Vec<Step>, reason: impl AsRef<str>) -> Self {
        Self { loc, msg: format!("Value error, {}", reason.as_ref()), kind: "value_error" }
    }
}

/// The JSON pointer of a place in a body.
pub(super) fn pointer(loc: &[Step]) -> String {
    let steps = loc.iter().skip(1).map(|step| match step {
        Step::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        Step::Index(index) => format!("/{index}"),
    });
    steps.collect()
}
