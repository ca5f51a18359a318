//! The connection to the service, or to a simulator in this process, and what a command shows and
//! keeps of its exchanges.

pub mod session;

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
    failure::Failure,
    history::list::rfc3339,
    output::Output,
    process::Stream,
    terminal::{self, counted_down},
};
use imagekiln::{
    ErrorKind,
    middleware::{Middleware, Purpose, Retry},
    recording::{Recorder, Recording},
};

/// Waits of this length are worth a line where there is no spinner.
const LONG: Duration = Duration::from_secs(5);

/// Shows waits in the spinner. Without one, prints long waits once for each cause in a row.
pub struct Retries {
    output: Output,
    /// The cause that was printed last.
    printed: Mutex<Option<String>>,
}

impl Retries {
    pub fn new(output: &Output) -> Self {
        Self { output: output.clone(), printed: Mutex::new(None) }
    }
}

impl Middleware for Retries {
    fn retry(&self, retry: &Retry<'_>) {
        let cause = cause(retry);
        let text = format!("{cause}; {}", next(retry));
        if terminal::wait(&text, retry.wait) || retry.wait < LONG {
            return;
        }
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.as_ref() != Some(&cause) {
            self.output.note(&counted_down(&text, retry.wait));
            *printed = Some(cause);
        }
    }
}

/// For example `the service asks to wait 6 s (429)`.
fn cause(retry: &Retry<'_>) -> String {
    let error = retry.error;
    let asked = error.retry_after().filter(|wait| !wait.is_zero());
    let text = match (asked, retry.purpose, error.kind()) {
        (Some(wait), ..) => format!("the service asks to wait {} s", wait.as_secs()),
        (None, Purpose::Download, _) => "the download failed".to_owned(),
        (None, _, ErrorKind::Network) => "the service is unreachable".to_owned(),
        (None, _, ErrorKind::RateLimited) => "the service is busy".to_owned(),
        (None, _, ErrorKind::Response) => "the response is unreadable".to_owned(),
        _ => "the service failed".to_owned(),
    };
    match error.status() {
        Some(status) => format!("{text} ({status})"),
        None => text,
    }
}

/// For example `attempt 2 of 6`.
fn next(retry: &Retry<'_>) -> String {
    match (retry.attempts, retry.purpose) {
        (Some(attempts), _) => format!("attempt {} of {attempts}", retry.failures + 1),
        (None, Purpose::Poll) => "next poll".to_owned(),
        (None, _) => format!("attempt {}", retry.failures + 1),
    }
}

/// `--record DIR`: writes a redacted copy of each exchange to a new file in a directory.
pub struct Recordings {
    path: PathBuf,
    /// The number in the name of the last file.
    last: AtomicU32,
    warned: AtomicBool,
    output: Output,
}

impl Recordings {
    /// Creates the directory, if it does not exist.
    pub fn create(path: &Path, output: &Output) -> Result<Self, Failure> {
        let failed = |error| {
            let message = format!("could not create the directory {}", path.display());
            Failure::file(message, error).advise("nothing was sent; check the path of --record")
        };
        fs::create_dir_all(path).map_err(failed)?;
        let (last, warned) = (AtomicU32::new(0), AtomicBool::new(false));
        Ok(Self { path: path.to_owned(), last, warned, output: output.clone() })
    }

    /// Writes the file under a temporary name, which only its owner can read, and then links it to
    /// a name that does not exist.
    fn write(&self, recording: &Recording) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".recording-").tempfile_in(&self.path)?;
        serde_json::to_writer_pretty(&mut file, recording)?;
        file.write_all(b"\n")?;
        loop {
            let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            let path = self.path.join(file_name(recording, number));
            match file.persist_noclobber(path) {
                Ok(_) => return Ok(()),
                // The name was taken, for example by another process.
                Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = failed.file;
                }
                Err(failed) => return Err(failed.error),
            }
        }
    }
}

impl Recorder for Recordings {
    /// Warns once if a file can't be written: the exchange itself has succeeded.
    fn record(&self, recording: Recording) {
        if let Err(error) = self.write(&recording)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            let directory = self.path.display();
            self.output.warning(&format!("could not record an exchange in {directory}: {error}"));
        }
    }
}

/// For example `20261122T081500Z-0001-gen-2-pro-submit.json`.
fn file_name(recording: &Recording, number: u32) -> String {
    let operation = recording.operation.as_deref().unwrap_or("task");
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let operation: String =
        operation.chars().take(60).map(|c| if plain(c) { c } else { '-' }).collect();
    let operation = operation.trim_matches(['-', '.']);
    let purpose = match recording.purpose {
        Purpose::Submission => "submit",
        Purpose::Poll => "poll",
        _ => "other",
    };
    let at =
        rfc3339(UNIX_EPOCH + Duration::from_secs(recording.recorded_at)).replace(['-', ':'], "");
    format!("{at}-{number:04}-{operation}-{purpose}.json")
}

/// Logs what the SDK does to standard error, if there is no log yet: the steps at verbosity 1, also
/// polls and retries from 2. The SDK's events contain no secrets.
pub fn log(stderr: &Stream, verbosity: u8, json: bool) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // Only the SDK's events: those of its dependencies contain full URLs with the signed query.
    let ours = Targets::new().with_target("imagekiln", level);
    let stderr = stderr.clone();
    let events = fmt::layer().with_writer(move || stderr.clone()).with_ansi(false);
    let events = if json { events.json().boxed() } else { events.without_time().boxed() };
    // Fails only if a subscriber is already installed, which is fine.
    let _ = tracing_subscriber::registry().with(events.with_filter(ours)).try_init();
}
