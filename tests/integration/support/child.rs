//! A test that needs an environment of its own runs once more, in a child process: the environment
//! of this one belongs to all tests.

use std::{
    env,
    process::{Child, Command},
};

/// Set in the child.
const IS_CHILD: &str = "IMAGEKILN_TEST_IS_CHILD";

/// What tells the HTTP client of proxies. A child has none but those that it is given.
const PROXY_VARIABLES: [&str; 9] = [
    "ALL_PROXY",
    "all_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "REQUEST_METHOD",
];

/// Whether this process is the child.
pub fn is_child() -> bool {
    env::var_os(IS_CHILD).is_some()
}

/// Runs the test `name` (with its modules) in a child with these variables, and waits until it has
/// passed.
pub fn run(name: &str, variables: &[(&str, &str)]) {
    let output = command(name, variables).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaints}");
    assert!(said.contains("1 passed"), "no test is called {name}: {said}");
}

/// Starts the test `name` in a child, to be killed.
pub fn start(name: &str, variables: &[(&str, &str)]) -> Running {
    Running(command(name, variables).spawn().expect("the program runs"))
}

/// A child that is killed when this is dropped, also if the test fails.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().expect("the child runs");
        self.0.wait().expect("the child was started");
    }
}

fn command(name: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env::current_exe().expect("this test is a program"));
    command.args(["--exact", name, "--nocapture"]).env(IS_CHILD, "1");
    for name in PROXY_VARIABLES {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command
}
