//! Programs that a machine may not have.

use std::env;

/// Something that a test needs and that a machine may not have, such as a browser.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    /// What is needed, for messages: `Chromium and chromedriver`.
    pub name: &'static str,
    /// Returns whether the machine has it. Called once per test.
    pub is_present: fn() -> bool,
    /// How to install it.
    pub advice: &'static str,
    /// If this environment variable is `required`, tests fail instead of being ignored.
    pub variable: &'static str,
}

/// Why a test cannot run.
#[derive(Debug, PartialEq)]
pub(crate) struct Missing {
    pub(crate) reason: String,
    pub(crate) is_failure: bool,
}

impl Requirement {
    pub(crate) fn check(&self) -> Result<(), Missing> {
        if (self.is_present)() {
            return Ok(());
        }
        let reason = format!("needs {}: {}", self.name, self.advice);
        let is_failure = env::var(self.variable).is_ok_and(|value| value == "required");
        Err(Missing { reason, is_failure })
    }
}
