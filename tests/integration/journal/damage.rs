//! What cleaners, full disks, crashes and people do to the files of a journal.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::UNIX_EPOCH,
};

use super::directory::{accepted, client, ids, intent, list, numbers, open_file, submit, three};
use crate::support::{samples::assert_kind, scripted::ScriptedServer};
use imagekiln::{
    ErrorKind, TaskRef, Unfinished,
    journal::{Directory, Disk, Journal as _, State, Step},
};

/// Returns the contents of all files in a directory, and in those below it.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for file in fs::read_dir(path).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push(fs::read(path).unwrap());
        }
    }
    found
}

/// Whatever happens to a file, the other records stay, new ones get their own files, and bytes that
/// are not understood are kept.
#[tokio::test]
async fn damage_to_a_file_is_the_loss_of_one_record_at_most() {
    let directory = tempfile::tempdir().unwrap();
    let template = directory.path().join("template");
    drop(three(&template).await);
    let text = fs::read(open_file(&template, 2)).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap();
    let cuts = [0, 1, first, first + 1, first + 129, first + 1_000, text.len() - 1];
    let mut damages: Vec<Vec<u8>> = cuts.iter().map(|cut| text[..*cut].to_vec()).collect();
    for (at, byte) in [(0, 0), (first / 2, 0), (first + 200, 0), (first + 200, b'!'), (first, b' ')]
    {
        let mut damaged = text.clone();
        damaged[at] = byte;
        damages.push(damaged);
    }
    damages.push([&text[..], b"{\"name\": \"fox\"}"].concat());
    damages.push([&text[..], &text[..]].concat());
    damages.push(vec![0; text.len()]);
    for (index, damaged) in damages.into_iter().enumerate() {
        let path = directory.path().join(index.to_string());
        let journal = three(&path).await;
        fs::write(open_file(&path, 2), &damaged).unwrap();
        // The process that wrote it goes on, and so does another one.
        let settled = journal.advance("2", &Step::Settled).await;
        journal.intend(&intent("4")).await.unwrap();
        journal.advance("3", &Step::Settled).await.unwrap();
        drop(journal);
        let other = Directory::open(&path).unwrap();
        let open = other.open_records().await.unwrap();
        let open: Vec<_> = open.iter().flatten().map(|record| record.intent().id()).collect();
        let (one, four) = (open.contains(&"1"), open.contains(&"4"));
        assert!(one && four && !open.contains(&"3"), "damage {index}: {open:?}");
        let unreadable = Directory::list(&path).unwrap().filter_map(Result::err);
        let unreadable: Vec<_> = unreadable.collect();
        assert_eq!(unreadable.len(), usize::from(settled.is_err()), "{unreadable:?}");
        if let [unreadable] = &unreadable[..] {
            assert_eq!((unreadable.number, &unreadable.path), (2, &open_file(&path, 2)));
        }
        assert!(contents(&path).contains(&damaged), "damage {index} is gone");
    }
}

/// A process that was stopped, a cleaner or a person may leave anything.
#[cfg(unix)]
#[tokio::test]
async fn pipes_and_directories_in_place_of_files_stop_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(three(path).await);
    fs::remove_file(open_file(path, 1)).unwrap();
    fs::create_dir(open_file(path, 1)).unwrap();
    fs::remove_file(open_file(path, 2)).unwrap();
    let processes: Vec<_> = fs::read_dir(path.join("processes")).unwrap().collect();
    let lock = processes[0].as_ref().unwrap().path();
    fs::remove_file(&lock).unwrap();
    let pipes = [open_file(path, 2), lock, path.join("processes/1.lock"), path.join("open/9.json")];
    let made = Command::new("mkfifo").args(pipes).status().unwrap();
    assert!(made.success());
    let journal = Directory::open(path).unwrap();
    journal.intend(&intent("4")).await.unwrap();
    let open = journal.open_records().await.unwrap();
    assert_eq!(open.iter().flatten().filter(|it| it.intent().id() == "4").count(), 1);
    assert_eq!(numbers(path), [3, 10]);
    assert_eq!(Directory::list(path).unwrap().filter(Result::is_err).count(), 3);
}

#[tokio::test]
async fn files_of_other_programs_are_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    drop(three(directory.path()).await);
    let notes = directory.path().join("open/notes.json");
    fs::write(&notes, "{\"name\": \"fox\"}").unwrap();
    let journal = Directory::open(directory.path()).unwrap();
    assert_eq!(journal.open_records().await.unwrap().len(), 3);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "{\"name\": \"fox\"}");
    let error = Directory::open(&notes).unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert!(error.to_string().contains("notes.json"), "{error}");
}

/// A disk on which nothing new fits, once it is full.
#[derive(Default)]
struct Filling {
    is_full: AtomicBool,
}

impl Filling {
    fn room(&self, is_there: bool) -> io::Result<()> {
        let is_full = self.is_full.load(Ordering::Relaxed) && !is_there;
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for Filling {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.room(false)?;
        File::options().read(true).write(true).create_new(true).open(path)
    }

    fn write(&self, file: &File, _: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.room(at + bytes.len() as u64 <= file.metadata()?.len())?;
        std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_takes_acceptances_and_is_resumed_from() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let disk = Arc::new(Filling::default());
    let journal = Directory::open_on(path, Arc::clone(&disk) as _).unwrap();
    for id in ["1", "2", "3"] {
        journal.intend(&intent(id)).await.unwrap();
    }
    disk.is_full.store(true, Ordering::Relaxed);
    journal.intend(&intent("4")).await.unwrap_err();
    journal.advance("1", &accepted("t1")).await.unwrap();
    journal.advance("2", &accepted("t2")).await.unwrap();
    drop(journal);

    let journal = Directory::open_on(path, Arc::clone(&disk) as _).unwrap();
    assert_eq!(journal.open_records().await.unwrap().len(), 3);
    journal.advance("1", &Step::Settled).await.unwrap();
    journal.advance("3", &Step::Settled).await.unwrap();
    // A task counts, even if a person gave its submission up.
    journal.advance("3", &accepted("t3")).await.unwrap();
    let open = |journal: Directory| async move {
        let open = journal.open_records().await.unwrap();
        open.into_iter().map(|record| record.unwrap().intent().id().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(open(journal.clone()).await, ["2", "3"]);
    assert_eq!(ids(path), ["t1", "t2", "t3"]);
    disk.is_full.store(false, Ordering::Relaxed);
    assert_eq!(open(journal).await, ["2", "3"]);
    assert!(!open_file(path, 1).exists(), "it is moved when there is room");
    assert_eq!(ids(path), ["t1", "t2", "t3"]);
}

/// A polling URL or a path may be longer than the space that was written for it.
#[tokio::test]
async fn what_is_longer_than_its_space_replaces_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Directory::open(directory.path()).unwrap();
    journal.intend(&intent("1")).await.unwrap();
    let url = format!("http://127.0.0.1:9/poll?signature={}", "s".repeat(10_000));
    let task = TaskRef::new("t1", url.as_str(), None);
    journal.advance("1", &Step::Accepted(task)).await.unwrap();
    let polled = |status: &str| Step::Polled {
        status: status.into(),
        at: UNIX_EPOCH,
        date: Some(UNIX_EPOCH),
        details: None,
    };
    journal.advance("1", &polled("Ready")).await.unwrap();
    let [listed] = &list(directory.path())[..] else { panic!("not one record") };
    assert_eq!(listed.record.state(), &State::Ready);
    assert_eq!(listed.record.task().unwrap().polling_url().reveal(), url);
    assert!(listed.is_in_use);
}

/// A crash between two steps of a change leaves both files.
#[tokio::test]
async fn a_record_in_both_places_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = three(path).await;
    let open = fs::read(open_file(path, 1)).unwrap();
    journal.advance("1", &Step::Settled).await.unwrap();
    fs::write(open_file(path, 1), open).unwrap();
    let states = || list(path).into_iter().map(|listed| listed.record.state().clone());
    let expected = [State::Settled, State::Accepted, State::Accepted];
    assert_eq!(states().collect::<Vec<_>>(), expected);
    assert_eq!(journal.open_records().await.unwrap().len(), 2);
    assert!(!open_file(path, 1).exists());
    assert_eq!(states().collect::<Vec<_>>(), expected);
}

/// Somebody may copy the files of another journal, whose numbers begin with 1, too.
#[tokio::test]
async fn a_record_of_another_journal_with_its_number_is_kept() {
    let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let theirs = Directory::open(other.path()).unwrap();
    theirs.intend(&intent("theirs")).await.unwrap();
    theirs.advance("theirs", &accepted("t9")).await.unwrap();
    theirs.advance("theirs", &Step::Settled).await.unwrap();
    let text = fs::read(other.path().join("closed/0/1.json")).unwrap();

    let path = one.path();
    let journal = three(path).await;
    fs::create_dir(path.join("closed/0")).unwrap();
    fs::write(path.join("closed/0/1.json"), &text).unwrap();
    assert_eq!(journal.open_records().await.unwrap().len(), 3);
    assert_eq!(ids(path), ["t1", "t2", "t3"]);
    journal.advance("1", &Step::Settled).await.unwrap();
    let [listed, ..] = &list(path)[..] else { panic!("no record") };
    assert_eq!(listed.record.intent().id(), "1");
    assert_eq!(listed.record.state(), &State::Settled);
    assert!(contents(path).contains(&text));
}

/// A program that asks its journal what it has submitted must not be told less than there is.
#[tokio::test]
async fn an_unreadable_record_is_returned_by_resume() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    submit(&service, path, "t1").await;
    fs::write(open_file(path, 1), "{").unwrap();
    let unfinished = client(&service, path).resume().await.unwrap();
    let [Unfinished::Unreadable(file)] = &unfinished[..] else { panic!("{unfinished:?}") };
    assert_eq!(file.path, open_file(path, 1));
    let text = file.to_string();
    assert!(text.contains("1.json is unreadable: its first line is incomplete"), "{text}");
}
