//! The SDK and the simulator agree about every request: they refuse the same fields for the same
//! reasons, and each request arrives as it was set. The simulator validates with `openapi.json`
//! itself, so it is independent of the generator.

mod case;
mod exceptions;
mod images;
mod round_trips;
mod validation;
mod values;
mod witness;

use proptest::test_runner::{Config, TestRunner};

/// A runner of `factor` times the configured cases, so `PROPTEST_CASES` raises them.
fn runner(factor: u32) -> TestRunner {
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new(Config { cases: config.cases * factor, ..config })
}
