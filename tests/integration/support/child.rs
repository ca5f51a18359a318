//! Reruns a test in a child process with its own environment, because all tests in a process share
//! one.

use std::{
    env,
    process::{Child, Command},
};

/// Set in the child.
const IS_CHILD: &str = "IMAGEKILN_TEST_IS_CHILD";

/// The proxy variables that HTTP clients read. A child has only those that the test sets.
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

/// Runs the test `name` (including its modules) in a child with these variables, and waits until it
/// has passed.
pub fn run(name: &str, variables: &[(&str, &str)]) {
    let output = command(name, variables).output().expect("the program runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("1 passed"), "no test has the name {name}: {stdout}");
}

/// Starts the test `name` in a child, which the caller kills.
pub fn start(name: &str, variables: &[(&str, &str)]) -> Running {
    Running(command(name, variables).spawn().expect("the program runs"))
}

/// A running child, which is killed on drop.
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
