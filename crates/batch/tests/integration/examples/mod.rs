//! The products among the examples, as processes that are killed and started again.

mod bot;
mod web_app;

use std::{
    env,
    ffi::OsStr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use imagekiln_simulator::{Config, WebhookSettings};
use imagekiln_testbed::Trial;

use crate::support::{Backend, Fixture};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![web_app::tests(), bot::tests()]
}

/// The faults that a product has to survive.
const FAULTS: [&str; 6] = [
    "reply-lost:0.2",
    "error-after:0.1",
    "html-502@poll:0.1",
    "spurious-not-found:0.05",
    "truncated:0.1",
    "early-expiry:0.1",
];

/// A simulator with tasks that take so long, and a directory.
async fn fixture(backend: Backend, ready_after: Duration) -> Fixture {
    // The service repeats webhooks soon, because nobody receives them after a kill.
    let retry_after = [200, 500, 1000, 2000, 5000].map(Duration::from_millis).into();
    let webhooks = WebhookSettings { retry_after, ..WebhookSettings::default() };
    Fixture::with(backend, Config { ready_after, webhooks, ..Config::default() }).await
}

/// Returns the command that starts an example, which Cargo builds for the tests.
fn command(name: &str, fixture: &Fixture) -> Command {
    let tests = env::current_exe().unwrap();
    let program: PathBuf = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    let mut command = Command::new(program);
    command
        .current_dir(&fixture.directory)
        .env("IMAGEKILN_API_KEY", fixture.simulator.api_key())
        .env("IMAGEKILN_BASE_URL", fixture.simulator.base_url())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// A process that is killed when the test ends.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Asks the process to stop, as Ctrl-C does, and waits until it has ended with success.
    fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only if it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn path_of(fixture: &Fixture, file: impl AsRef<OsStr>) -> String {
    fixture.directory.path().join(file.as_ref()).to_str().unwrap().to_owned()
}
