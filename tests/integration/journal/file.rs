//! The journal's file: private, locked, tolerant of a torn line, and never larger than it needs to
//! be.

use std::{fs, path::Path};

use imagekiln::{
    ErrorKind, TaskRef,
    journal::{FileJournal, Journal as _},
};

use crate::support::{
    answer::Answer,
    samples::{self, assert_kind, fox},
    scripted::ScriptedServer,
};

/// Submits with a journal at `path`, so that it has a task of this id.
async fn submit(service: &ScriptedServer, path: &Path, id: &str) -> TaskRef {
    let client =
        samples::builder(service).journal(FileJournal::open(path).unwrap()).build().unwrap();
    service.answer(samples::accepted(service, id));
    client.submit(fox()).await.unwrap().reference().clone()
}

async fn count(path: &Path) -> usize {
    FileJournal::open(path).unwrap().entries().await.unwrap().len()
}

#[tokio::test]
async fn a_torn_last_line_is_dropped_and_the_journal_goes_on() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    submit(&service, &path, "t1").await;
    let whole = fs::read(&path).unwrap();
    for torn in [&b"{"[..], b"{\"intent\":{\"id\":\"x", b"\0\0\0\0", b"\xff\xfe"] {
        fs::write(&path, [&whole, torn].concat()).unwrap();
        assert_eq!(count(&path).await, 1);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(count(&path).await, 1, "only the newline was torn off");
    submit(&service, &path, "t2").await;
    assert_eq!(count(&path).await, 2);
}

#[tokio::test]
async fn a_file_that_is_not_a_journal_is_left_as_it_is() {
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
fn it_is_open_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    let journal = FileJournal::open(&path).unwrap();
    let error = FileJournal::open(&path).unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert!(error.to_string().contains("give each process a journal of its own"), "{error}");
    drop(journal);
    FileJournal::open(&path).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_it_and_links_lead_to_the_same_journal() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
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
async fn what_is_closed_does_not_stay_in_the_file() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    submit(&service, &path, "t1").await;
    let client =
        samples::builder(&service).journal(FileJournal::open(&path).unwrap()).build().unwrap();
    service.otherwise(|_| Answer::status(422));
    for _ in 0..1_100 {
        client.submit(fox()).await.unwrap_err();
    }
    drop(client);
    let lines = fs::read_to_string(&path).unwrap().lines().count();
    assert!((2..1_300).contains(&lines), "{lines} of 2202 lines");
    assert_eq!(count(&path).await, 1);
    assert!(!directory.path().join("tasks.jsonl.new").exists());
}
