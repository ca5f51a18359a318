//! A test that needs an environment of its own runs once more, in a child process: the environment of this one belongs to
//! all tests.

use std::{env, process::Command};

/// Set in the child.
const IS_CHILD: &str = "IMAGEKILN_TEST_IS_CHILD";

/// Runs the test `name` (with its modules) again with these variables, unless this is that run. Returns whether it is.
pub fn is_run_with(name: &str, variables: &[(&str, &str)]) -> bool {
    if env::var_os(IS_CHILD).is_some() {
        return true;
    }
    let output = Command::new(env::current_exe().expect("this test is a program"))
        .args(["--exact", name, "--nocapture"])
        .env(IS_CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaints}");
    assert!(said.contains("1 passed"), "no test is called {name}: {said}");
    false
}
