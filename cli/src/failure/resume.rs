//! Failures of `kiln resume`.

use super::Failure;
use crate::exit::Exit;

impl Failure {
    /// Not every picture was saved.
    pub fn resume(exit: Exit, message: impl Into<String>) -> Self {
        Self::new("resume", exit, message)
    }
}
