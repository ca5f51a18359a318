//! Files that people edit, copy and share.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
};

use imagekiln::{
    journal::{Directory, Disk, Journal as _, Listed, Step},
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

/// A file of a journal that cannot be read stays as it is. From another one, a process that takes
/// its record over reads the same, and can close it.
pub fn journal(data: &[u8]) {
    let folder = folder();
    let path = folder.path();
    let directory = Directory::open_on(path, Arc::new(Unsynced)).expect("a journal");
    let file = path.join("open/1.json");
    fs::write(&file, data).expect("a file");
    let find = || Directory::find(path, 1).expect("the file can be read").expect("a record");
    let before = find();
    let open = run(directory.take_over()).expect("the record can be taken over");
    let Ok(Listed { record, .. }) = before else {
        assert_eq!((open, fs::read(&file).expect("the file")), (vec![before], data.to_owned()));
        return;
    };
    let same = |found: Result<Listed, _>| found.expect("a record").record == record;
    assert_eq!(open.len(), usize::from(!record.state().is_closed()));
    assert!(open.into_iter().all(same) && same(find()));
    run(directory.advance(record.intent().id(), &Step::Settled)).expect("it can be closed");
    let closed = find().expect("a record").record;
    assert!(closed.state().is_closed() && closed.intent() == record.intent());
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

/// In memory, if the system has such a file system.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("a folder")
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
