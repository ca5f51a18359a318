//! Files that people edit, copy and share.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
};

use imagekiln::{
    journal::{Directory, Disk, Listed, Record},
    recording::Recording,
};
use imagekiln_cli::fuzzing;
use tempfile::TempDir;

use crate::{exchange::SECRET, service::run};

/// A recording that is read is the same after it was written.
pub fn recording(data: &[u8]) {
    let Ok(recording) = serde_json::from_slice::<Recording>(data) else { return };
    let text = serde_json::to_string(&recording).expect("JSON");
    assert_eq!(serde_json::from_str::<Recording>(&text).expect("a recording"), recording);
}

/// A submission of the history has the same state after it was written, and is written as before.
pub fn history(data: &[u8]) {
    let Some((state, text)) = fuzzing::history(data) else { return };
    assert_eq!(fuzzing::history(&text), Some((state, text)));
}

/// A log has the same lines after another process took it over. If a write is interrupted anywhere,
/// all complete lines before it are still read, whether zeros follow or nothing.
pub fn journal(data: &[u8]) {
    let read = take_over(data);
    assert_eq!(list(data), read.records);
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    assert_eq!(take_over(complete_lines(&data[..end])), read);
    assert_eq!(take_over(&read.text), read);
    let cut = data.len() * 7919 % (read.text.len() + 1);
    let written = &read.text[..cut];
    let complete = list(complete_lines(written));
    assert_eq!(complete, read.records[..complete.len()]);
    for torn in [written.to_vec(), [written, &[0; 8]].concat(), [written, b"\0{}\n"].concat()] {
        assert_eq!(list(&torn), complete);
    }
}

fn complete_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    &text[..end]
}

/// A log that another process wrote, in the log of the one that took it over.
#[derive(Debug, PartialEq)]
struct TakenOver {
    records: Vec<(u64, Record)>,
    /// The lines of the log.
    text: Vec<u8>,
}

/// A disk of a machine that does not crash.
struct Unsynced;

impl Disk for Unsynced {
    fn sync(&self, _: &File, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

fn take_over(log: &[u8]) -> TakenOver {
    let folder = folder();
    let path = folder.path();
    let directory = Directory::open_on(path, usize::MAX, Arc::new(Unsynced)).expect("a journal");
    fs::write(path.join("log-2.jsonl"), log).expect("a log");
    let records = numbered(run(directory.records()).expect("the log can be taken over"));
    let mut text = fs::read(path.join("log-1.jsonl")).expect("the log of this process");
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
    TakenOver { records, text }
}

/// In memory, if the system has such a file system.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("a folder")
}

/// Returns the records of a log that no process uses.
fn list(log: &[u8]) -> Vec<(u64, Record)> {
    let folder = folder();
    fs::write(folder.path().join("log-1.jsonl"), log).expect("a log");
    numbered(Directory::list(folder.path()).expect("the log can be read"))
}

fn numbered(listed: Vec<Listed>) -> Vec<(u64, Record)> {
    listed.into_iter().rev().map(|listed| (listed.number, listed.record)).collect()
}

/// An error of `config.toml` names a line of it, has no control characters, and does not quote a
/// value.
pub fn config_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Err(error) = fuzzing::config(text) else { return };
    assert!(!error.contains(|c: char| c.is_control() && c != '\n'), "{error:?}");
    let line = error.split_once(", line ").and_then(|(_, rest)| rest.split_once(':'));
    let line: usize = line.and_then(|(line, _)| line.parse().ok()).expect("a line");
    assert!((1..=text.matches('\n').count() + 1).contains(&line), "line {line}");
    let is_value = |line: &str| match (line.find('='), line.find(SECRET)) {
        (_, None) => true,
        (Some(equals), Some(at)) => equals < at && !line.contains('{'),
        (None, Some(_)) => false,
    };
    if text.lines().all(is_value) {
        assert!(!error.contains(SECRET), "{error}");
    }
}
