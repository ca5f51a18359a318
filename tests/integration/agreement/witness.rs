//! Asks the SDK and the simulator about the same request.

use std::{collections::BTreeSet, time::Duration};

use tokio::runtime::{Builder, Runtime};

use super::case::Case;
use imagekiln::{Client, Error, Location, Task, Violation};
use imagekiln_simulator::{Config, Simulator};

/// Locations such as `body.width`, and kinds such as `greater_than_equal`.
pub type Violations = BTreeSet<(String, String)>;

/// A simulator in its default settings, whose tasks are ready at once, and a client that does not
/// validate.
pub struct Witness {
    runtime: Runtime,
    pub simulator: Simulator,
    client: Client,
}

impl Witness {
    pub fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let config =
            Config { ready_after: Duration::ZERO, max_kept_requests: 1, ..Config::default() };
        let simulator = runtime.block_on(Simulator::start(config)).expect("the simulator starts");
        let client = Client::builder()
            .api_key(simulator.api_key())
            .base_url(simulator.base_url())
            .regional_base_url(simulator.regional_base_url())
            .validation(false)
            .build()
            .expect("the settings are complete");
        Self { runtime, simulator, client }
    }

    /// Sends a request without validating it first.
    pub fn submit(&self, case: &Case) -> Result<Task, Error> {
        // Its memory and its credits are limited.
        if self.simulator.counts().accepted >= 2000 {
            self.simulator.reset().expect("the settings are valid");
        }
        self.runtime.block_on(self.client.submit(case.request()))
    }

    /// What the simulator finds. Its journal has it unchanged. In errors, the SDK replaces whatever
    /// equals a secret of the request.
    pub fn violations(&self, case: &Case) -> Violations {
        let Err(error) = self.submit(case) else { return Violations::new() };
        let record = self.simulator.requests().pop().expect("a request arrived");
        match record.status {
            Some(422) => {
                let violations = record.violations.into_iter();
                violations.map(|violation| (violation.location, violation.kind)).collect()
            }
            // The path belongs to no operation.
            Some(404) => wrong_path(),
            _ => panic!("{case:?}: {error}"),
        }
    }
}

/// The violations that the SDK finds.
pub fn local(case: &Case) -> Violations {
    let found = case.request().validate().err().map(|error| of_error(&error)).unwrap_or_default();
    // The simulator does not read the body of a request to an unknown path.
    if found.is_superset(&wrong_path()) { wrong_path() } else { found }
}

fn wrong_path() -> Violations {
    [("path.base_model".to_owned(), "string_pattern_mismatch".to_owned())].into()
}

fn of_error(error: &Error) -> Violations {
    assert!(!error.violations().is_empty(), "{error}");
    error.violations().iter().map(|one| (location(one), one.kind.clone())).collect()
}

fn location(violation: &Violation) -> String {
    let steps = violation.loc.iter().map(|step| match step {
        Location::Name(name) => name.clone(),
        Location::Index(index) => index.to_string(),
        other => panic!("{other:?}"),
    });
    steps.collect::<Vec<_>>().join(".")
}
