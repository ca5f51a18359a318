//! A process that runs a command line of `kiln`.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use imagekiln::{API_KEY_VARIABLE, BASE_URL_VARIABLE, journal::Directory, middleware::Middleware};
use imagekiln_cli::process::{Input, Process, Stream};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::{
    process::{self, Failing},
    services::Payer,
    world::World,
};

/// Longer than all limits of the client together, in seconds.
const LONGEST: u32 = 3600;

/// What a command did. It was killed if it has no exit code.
pub(super) struct Outcome {
    pub(super) code: Option<u8>,
    pub(super) results: Vec<Value>,
    pub(super) events: Vec<Value>,
    /// How the disk of its history failed.
    pub(super) failing: Option<Failing>,
}

/// A process that runs a command line.
pub(super) struct Running {
    process: Arc<Process>,
    disk: Arc<process::Process>,
    stdout: Printed,
    stderr: Printed,
    /// Each client of the process has a clone.
    clients: Clients,
}

impl Running {
    /// Nothing of the process fails but the disk of its history.
    pub(super) fn new(world: &mut World, state: PathBuf, disk: Arc<process::Process>) -> Self {
        let (stdout, stderr, clients) = <(Printed, Printed, Clients)>::default();
        let variables: [(&str, OsString); 4] = [
            (API_KEY_VARIABLE, Payer::FIRST.api_key().into()),
            (BASE_URL_VARIABLE, world.services.base_url(0).into()),
            ("KILN_STATE_DIR", state.into()),
            ("KILN_CONFIG_DIR", world.path("config").into()),
        ];
        let (settings, middleware) = (world.settings(), clients.clone());
        let storage = Arc::clone(&disk);
        let process = Process {
            variable: Arc::new(move |name| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| value.clone())
            }),
            directory: PathBuf::new(),
            home: None,
            temporary: world.path(""),
            stdin: Input::new(io::empty()),
            stdout: Stream::new(stdout.clone()),
            stderr: Stream::new(stderr.clone()),
            has_signals: false,
            client: Arc::new(move |client| settings(client).middleware(middleware.clone())),
            journal: Arc::new(move |path| Directory::open_on(path, Arc::clone(&storage) as _)),
            seed: Arc::new(|range| *range.start()),
        };
        Self { process: Arc::new(process), disk, stdout, stderr, clients }
    }

    /// Returns the exit code, or `None` if the process dies first.
    pub(super) async fn run(&self, words: &[String], death: Option<Duration>) -> Option<u8> {
        let words = ["kiln", "--json"].into_iter().chain(words.iter().map(String::as_str));
        let words = words.map(OsString::from).collect();
        let running = imagekiln_cli::execute(words, Arc::clone(&self.process));
        match death {
            Some(death) => timeout(death, running).await.ok(),
            None => Some(running.await),
        }
    }

    /// Waits for submissions in flight: nothing of this process is left when the next one begins.
    pub(super) async fn end(self, code: Option<u8>) -> Result<Outcome> {
        let Self { process, disk, stdout, stderr, clients } = self;
        drop(process);
        let failing = disk.trouble.disk.map(|(failing, ..)| failing);
        for _ in 0..LONGEST {
            if Arc::strong_count(&clients.0) == 1 {
                let (results, events) = (stdout.lines()?, stderr.lines()?);
                return Ok(Outcome { code, results, events, failing });
            }
            sleep(Duration::from_secs(1)).await;
        }
        anyhow::bail!("submissions never ended")
    }
}

/// Counts the clients of a process, whose submissions outlive a command that is dropped.
#[derive(Clone, Default)]
struct Clients(Arc<()>);

impl Middleware for Clients {}

/// What a process printed.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    fn lines(&self) -> Result<Vec<Value>> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = serde_json::Deserializer::from_slice(&text).into_iter();
        lines.collect::<Result<_, _>>().context("kiln printed something else than JSON")
    }
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
