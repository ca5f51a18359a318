//! Differences between recordings and the contract or the types.

use std::fmt;

use crate::text::printable;

/// A difference between a recording and the contract or the types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the file.
    pub file: String,
    /// The name of the operation, such as `gen-2-pro` or `get_result`.
    pub operation: String,
    /// The part of the exchange.
    pub side: Side,
    /// The JSON pointer of the value in that part, which is empty for the whole part.
    pub pointer: String,
    /// What was expected.
    pub expected: String,
}

/// A part of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The body of the request.
    Request,
    /// The status code of the response.
    Status,
    /// The body of the response.
    Response,
}

impl Finding {
    fn is_same(&self, other: &Self) -> bool {
        let Self { file: _, operation, side, pointer, expected } = self;
        (operation, side, pointer, expected)
            == (&other.operation, &other.side, &other.pointer, &other.expected)
    }
}

/// For example `a.json: get_result, response /id: value is not of type "string"`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Request => "request",
            Side::Status => "status code",
            Side::Response => "response",
        };
        write!(f, "{}: {}, {side}", printable(&self.file), printable(&self.operation))?;
        if !self.pointer.is_empty() {
            write!(f, " {}", printable(&self.pointer))?;
        }
        write!(f, ": {}", printable(&self.expected))
    }
}

/// Returns the first of each group of equal findings in different files, and the number of findings
/// in the group.
pub fn collapsed(findings: Vec<Finding>) -> Vec<(Finding, usize)> {
    let mut groups: Vec<(Finding, usize)> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|(first, _)| first.is_same(&finding)) {
            Some((_, count)) => *count += 1,
            None => groups.push((finding, 1)),
        }
    }
    groups
}
