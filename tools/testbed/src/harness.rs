//! Runs tests, each with its own runtime.

use std::{any, env};

use libtest_mimic::{Arguments, Completion, Trial};
use tokio::runtime::Builder;

use crate::{browser, requirement::Requirement};

/// The tokio runtime of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// One thread, as `#[tokio::test]` uses.
    CurrentThread,
    /// One thread whose clock is paused and advances when no task can continue.
    Paused,
    /// A thread for each core.
    MultiThread,
}

impl Runtime {
    fn build(self) -> tokio::runtime::Runtime {
        let mut builder = match self {
            Self::CurrentThread | Self::Paused => Builder::new_current_thread(),
            Self::MultiThread => Builder::new_multi_thread(),
        };
        builder.enable_all().start_paused(self == Self::Paused);
        builder.build().expect("could not start a tokio runtime")
    }
}

/// Creates a test. If a requirement is missing, the test is ignored, or fails if the variable of
/// the requirement says so.
pub fn test(
    name: impl Into<String>,
    requirements: &'static [Requirement],
    runtime: Runtime,
    test: impl AsyncFnOnce() + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || {
        for requirement in requirements {
            match requirement.check() {
                Ok(()) => {}
                Err(missing) if missing.is_failure => return Err(missing.reason.into()),
                Err(missing) => return Ok(Completion::ignored_with(missing.reason)),
            }
        }
        runtime.build().block_on(test());
        Ok(Completion::Completed)
    })
}

/// Creates a test with the name of its function, like [`test()`].
pub fn test_of<F>(requirements: &'static [Requirement], runtime: Runtime, function: F) -> Trial
where
    F: AsyncFnOnce() + Send + 'static,
{
    test(name_of(&function), requirements, runtime, function)
}

/// Returns the path of a function without its crate, as Cargo's own harness names a test.
pub fn name_of<F>(function: &F) -> &'static str {
    let path = any::type_name_of_val(function);
    path.split_once("::").map_or(path, |(_, name)| name)
}

/// Runs the tests that the command line selects, prints their outcomes, and exits. As with Cargo's
/// own harness, `RUST_TEST_THREADS` says how many run at once.
pub fn run(tests: Vec<Trial>) -> ! {
    let mut arguments = Arguments::from_args();
    let threads = || env::var("RUST_TEST_THREADS").ok()?.parse().ok();
    arguments.test_threads = arguments.test_threads.or_else(threads);
    let conclusion = libtest_mimic::run(&arguments, tests);
    Runtime::CurrentThread.build().block_on(browser::quit_idle());
    conclusion.exit()
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use libtest_mimic::Conclusion;
    use tokio::time::{self, Instant};

    use super::*;

    const MISSING: Requirement = Requirement {
        name: "a unicorn",
        is_present: || false,
        advice: "look in the forest",
        variable: "IMAGEKILN_UNICORN_TESTS",
    };

    /// Runs a test, and returns its conclusion and what was printed.
    fn conclusion(test: Trial) -> (Conclusion, String) {
        let log = tempfile::NamedTempFile::new().unwrap();
        let logfile = Some(log.path().to_str().unwrap().to_owned());
        let conclusion =
            libtest_mimic::run(&Arguments { logfile, ..Arguments::default() }, vec![test]);
        (conclusion, fs::read_to_string(log.path()).unwrap())
    }

    #[test]
    fn a_test_without_its_requirement_is_ignored_with_the_reason() {
        let (conclusion, output) =
            conclusion(test("t", &[MISSING], Runtime::CurrentThread, async || unreachable!()));
        assert_eq!((conclusion.num_ignored, conclusion.num_passed), (1, 0));
        assert!(output.contains("ignored (needs a unicorn: look in the forest)"), "{output}");
    }

    #[test]
    fn a_test_that_panics_fails() {
        let panics = async || panic!("on purpose");
        let (conclusion, output) = conclusion(test("t", &[], Runtime::MultiThread, panics));
        assert_eq!((conclusion.num_failed, conclusion.num_passed), (1, 0));
        assert!(output.contains("on purpose"), "{output}");
    }

    #[test]
    fn a_paused_clock_advances_by_itself() {
        let waits = async || {
            let start = Instant::now();
            time::sleep(Duration::from_secs(86_400)).await;
            assert!(start.elapsed() >= Duration::from_secs(86_400));
        };
        assert_eq!(conclusion(test("t", &[], Runtime::Paused, waits)).0.num_passed, 1);
    }

    #[test]
    fn a_test_is_named_as_cargo_would_name_it() {
        let name = name_of(&a_test_is_named_as_cargo_would_name_it);
        assert_eq!(name, "harness::tests::a_test_is_named_as_cargo_would_name_it");
    }
}
