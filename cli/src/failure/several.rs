//! Failures of commands that save several pictures. Each picture has a report of its own.

use super::Failure;
use crate::exit::Exit;

impl Failure {
    /// `kiln resume` did not save every picture.
    pub fn resume(exit: Exit, message: impl Into<String>) -> Self {
        Self::new("resume", exit, message)
    }

    /// A command did not save every picture that it was to make.
    pub fn not_saved(exit: Exit, message: impl Into<String>) -> Self {
        Self::new("not_saved", exit, message)
    }
}
