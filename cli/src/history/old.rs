//! The histories of earlier versions: a file `N.json` for each submission, and a lock `N.lock`,
//! held by the process that works on it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    destination::{Destination, StoredPath},
    entry::{Kept, STANDARD_OUTPUT},
};
use crate::{failure::Failure, output::Output, text::json};
use imagekiln::{
    DELIVERY_VALIDITY, TaskRef, TaskStatus,
    journal::{Intent, Record, Step},
};

/// A submission in a separate file.
pub struct Old {
    pub number: u64,
    pub record: Record,
    /// `None` if another process has it.
    pub lock: Option<OldLock>,
    path: PathBuf,
}

/// The lock of an old submission, which may not exist, or be on a file system without locks.
pub struct OldLock(
    #[expect(dead_code, reason = "the lock is held until it is dropped")] Option<File>,
);

/// Reads the old submissions of a directory. Damaged files stay, and are warnings.
pub fn read(
    directory: &Path,
    output: &Output,
    try_lock: fn(&File) -> Result<(), TryLockError>,
) -> Result<Vec<Old>, Failure> {
    let unreadable = |error| {
        Failure::file(format!("could not read the history in {}", directory.display()), error)
    };
    let files = match fs::read_dir(directory) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut found = Vec::new();
    for file in files {
        let path = file.map_err(unreadable)?.path();
        let Some(number) = number_of(&path) else { continue };
        // Locked before it is read, so that its process has ended.
        let lock = lock(&path, try_lock);
        match fs::read(&path).and_then(|text| Ok(record_of(&text)?)) {
            Ok(record) => found.push(Old { number, record, lock, path }),
            // Another process has just moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                output.warning(&format!("could not read {}: {error}", path.display()));
            }
        }
    }
    Ok(found)
}

impl Old {
    /// Removes the files of a submission that the journal has. Files that can't be removed stay.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

fn lock(path: &Path, try_lock: fn(&File) -> Result<(), TryLockError>) -> Option<OldLock> {
    let Ok(file) = File::open(path.with_extension("lock")) else { return Some(OldLock(None)) };
    match try_lock(&file) {
        Err(TryLockError::WouldBlock) => None,
        Ok(()) | Err(TryLockError::Error(_)) => Some(OldLock(Some(file))),
    }
}

fn number_of(path: &Path) -> Option<u64> {
    let text = path.file_name()?.to_str()?.strip_suffix(".json")?;
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

#[derive(Deserialize)]
struct OldEntry {
    intent: Value,
    prompt: Option<String>,
    destination: Destination,
    task: Option<TaskRef>,
    end: Option<End>,
}

/// The reason why a submission is finished.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum End {
    Saved {
        path: Option<StoredPath>,
    },
    Failed,
    Moderated,
    Expired,
    #[serde(other)]
    Dismissed,
}

/// Reads the content of a file as the record of a submission.
pub fn record_of(text: &[u8]) -> serde_json::Result<Record> {
    let OldEntry { intent, prompt, destination, task, end } = serde_json::from_slice(text)?;
    let kept = serde_json::to_value(Kept { request: None, prompt, destination, index: 0 })?;
    let intent: Intent = serde_json::from_value(json::with(intent, [("context", kept)]))?;
    let mut record = Record::new(intent);
    let accepted = task.map(Step::Accepted);
    for step in accepted.into_iter().chain(end.into_iter().flat_map(steps)) {
        record.advance(&step);
    }
    Ok(record)
}

/// The steps that lead to an end.
fn steps(end: End) -> Vec<Step> {
    let polled = |status| Step::Polled { status, at: UNIX_EPOCH };
    match end {
        End::Saved { path } => {
            let path = path.map_or(STANDARD_OUTPUT.into(), |path| path.path().to_owned());
            let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            vec![Step::Saved { path, bytes, sha256: None }]
        }
        End::Failed => vec![polled(TaskStatus::Error)],
        End::Moderated => vec![polled(TaskStatus::RequestModerated)],
        End::Expired => {
            let given_at = UNIX_EPOCH + DELIVERY_VALIDITY;
            vec![polled(TaskStatus::Ready), Step::Refused { given_at }]
        }
        End::Dismissed => vec![Step::Settled],
    }
}
