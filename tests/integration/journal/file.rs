//! The file of a journal: private, locked, tolerant of an incomplete last line, and bounded in
//! size.

#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::{fs, path::Path};

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    ErrorKind, TaskRef,
    journal::{FileJournal, Journal as _},
};

/// Submits a request with a journal at `path`, which then contains a task with this id.
async fn submit(service: &ScriptedServer, path: &Path, id: &str) -> TaskRef {
    let client =
        samples::builder(service).journal(FileJournal::open(path).unwrap()).build().unwrap();
    service.reply(samples::accepted(service, id));
    client.submit(fox()).await.unwrap().reference().clone()
}

async fn count(path: &Path) -> usize {
    FileJournal::open(path).unwrap().entries().await.unwrap().len()
}

#[tokio::test]
async fn an_incomplete_last_line_is_dropped() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    submit(&service, &path, "t1").await;
    let complete = fs::read(&path).unwrap();
    for incomplete in [&b"{"[..], b"{\"intent\":{\"id\":\"x", b"\0\0\0\0", b"\xff\xfe"] {
        fs::write(&path, [&complete, incomplete].concat()).unwrap();
        assert_eq!(count(&path).await, 1);
        assert_eq!(fs::read(&path).unwrap(), complete);
    }
    fs::write(&path, &complete[..complete.len() - 1]).unwrap();
    assert_eq!(count(&path).await, 1, "only the newline is missing");
    submit(&service, &path, "t2").await;
    assert_eq!(count(&path).await, 2);
}

#[tokio::test]
async fn a_file_that_is_not_a_journal_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    for text in ["milk\nbread\n", "milk", "{\"name\": \"fox\"}", "{}\n"] {
        fs::write(&path, text).unwrap();
        let error = FileJournal::open(&path).unwrap_err();
        assert_kind(&error, ErrorKind::Journal);
        assert!(error.to_string().contains("notes.txt"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    for path in [directory.path().join("missing").join("tasks.jsonl"), directory.path().into()] {
        assert_kind(&FileJournal::open(path).unwrap_err(), ErrorKind::Journal);
    }
    #[cfg(unix)]
    assert_kind(&FileJournal::open("/dev/null").unwrap_err(), ErrorKind::Journal);
}

#[test]
fn a_journal_can_be_opened_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    let journal = FileJournal::open(&path).unwrap();
    let error = FileJournal::open(&path).unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert!(error.to_string().contains("give each process its own journal"), "{error}");
    drop(journal);
    FileJournal::open(&path).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_private_and_links_are_resolved() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    submit(&service, &path, "t1").await;
    for file in fs::read_dir(directory.path()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let link = directory.path().join("link");
    symlink(&path, &link).unwrap();
    let journal = FileJournal::open(&link).unwrap();
    assert!(FileJournal::open(&path).is_err());
    assert_eq!(journal.entries().await.unwrap().len(), 1);
}

#[tokio::test]
async fn closed_entries_are_removed_from_the_file() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    submit(&service, &path, "t1").await;
    let client =
        samples::builder(&service).journal(FileJournal::open(&path).unwrap()).build().unwrap();
    service.otherwise(|_| Reply::status(422));
    for _ in 0..1_100 {
        client.submit(fox()).await.unwrap_err();
    }
    drop(client);
    let lines = fs::read_to_string(&path).unwrap().lines().count();
    assert!((2..1_300).contains(&lines), "{lines} of 2202 lines");
    assert_eq!(count(&path).await, 1);
    assert!(!directory.path().join("tasks.jsonl.new").exists());
}
