//! `--record DIR`: stores a redacted copy of each exchange with the service.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use time::UtcDateTime;

use crate::{failure::Failure, output::Output};
use imagekiln::{
    middleware::Purpose,
    recording::{Recorder, Recording},
};

/// Writes each recording to a new file in a directory.
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
    format!("{}-{number:04}-{operation}-{purpose}.json", stamp(recording.recorded_at))
}

/// For example `20261122T081500Z`.
fn stamp(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok());
    let at = at.unwrap_or(UtcDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.as_hms();
    format!("{year:04}{:02}{day:02}T{hour:02}{minute:02}{second:02}Z", u8::from(month))
}
