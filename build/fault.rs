//! An error in the document.

use std::fmt;

/// An error in the document, and the JSON pointer to its place.
#[derive(Debug)]
pub struct Fault {
    place: String,
    message: String,
}

impl Fault {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}
