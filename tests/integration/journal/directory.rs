//! The files of a journal in a directory, and the processes that share it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::UNIX_EPOCH,
};

use serde_json::json;
use tokio::runtime;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, ErrorKind, TaskRef, Unfinished,
    journal::{Directory, Disk, Intent, Journal as _, Listed, State, Step},
};

fn client(service: &ScriptedServer, path: &Path) -> Client {
    samples::builder(service).journal(Directory::open(path).unwrap()).build().unwrap()
}

/// Submits a request with a separate client, as this task.
async fn submit(service: &ScriptedServer, path: &Path, id: &str) {
    service.reply(samples::accepted(service, id));
    let _ = client(service, path).submit(fox()).await.unwrap();
}

/// Returns the records that can be read, oldest first.
fn list(path: &Path) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Directory::list(path).unwrap().flatten().collect();
    listed.reverse();
    listed
}

/// Returns the ids of the tasks, oldest first. `?` is a submission without a task.
fn ids(path: &Path) -> Vec<String> {
    let id = |listed: Listed| listed.record.task().map_or("?".to_owned(), |task| task.id().into());
    list(path).into_iter().map(id).collect()
}

fn numbers(path: &Path) -> Vec<u64> {
    list(path).into_iter().map(|listed| listed.number).collect()
}

fn open_file(path: &Path, number: u64) -> PathBuf {
    path.join("open").join(format!("{number}.json"))
}

fn intent(id: &str) -> Intent {
    let intent = json!({"id": id, "operation": "gen-2-pro", "at": 1, "label": id});
    serde_json::from_value(intent).unwrap()
}

fn accepted(id: &str) -> Step {
    Step::Accepted(TaskRef::new(id, "http://127.0.0.1:9/poll", None))
}

/// A journal with three accepted tasks, `t1` to `t3`.
async fn three(path: &Path) -> Directory {
    let journal = Directory::open(path).unwrap();
    for id in ["1", "2", "3"] {
        journal.intend(&intent(id)).await.unwrap();
        journal.advance(id, &accepted(&format!("t{id}"))).await.unwrap();
    }
    journal
}

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

#[tokio::test]
async fn several_clients_use_a_directory_and_continue_those_that_have_ended() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let clients = [client(&service, path), client(&service, path)];
    for (client, id) in clients.iter().zip(["t1", "t2"]) {
        service.reply(samples::accepted(&service, id));
        let _ = client.submit(fox()).await.unwrap();
    }
    let [first, second] = clients;
    assert_eq!(first.resume().await.unwrap().len(), 1);
    assert_eq!(second.resume().await.unwrap().len(), 1);
    assert_eq!(numbers(path), [1, 2]);
    assert!(list(path).iter().all(|listed| listed.is_in_use));
    drop(first);
    assert_eq!(second.resume().await.unwrap().len(), 2);
    drop(second);
    assert!(list(path).iter().all(|listed| !listed.is_in_use));
    let third = client(&service, path);
    assert_eq!(third.resume().await.unwrap().len(), 2);
    assert_eq!(ids(path), ["t1", "t2"]);
    assert_eq!(third.resume().await.unwrap().len(), 2);
    let locks = fs::read_dir(path.join("processes")).unwrap().count();
    assert_eq!(locks, 1, "those of processes that own nothing are removed");
}

/// Only one of several processes continues a record, whatever they do at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_claimed_once() {
    let directory = tempfile::tempdir().unwrap();
    drop(three(directory.path()).await);
    let journals = [(); 8].map(|()| Directory::open(directory.path()).unwrap());
    let asked = journals
        .clone()
        .map(|journal| tokio::spawn(async move { journal.open_records().await.unwrap().len() }));
    let mut taken = 0;
    for asked in asked {
        taken += asked.await.unwrap();
    }
    assert_eq!(taken, 3);
}

/// Cleaners remove files by their age, and nothing touches the lock of a process that waits.
#[tokio::test]
async fn a_process_whose_lock_was_removed_keeps_its_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = three(path).await;
    let remove = || {
        let locks = fs::read_dir(path.join("processes")).unwrap();
        locks.for_each(|lock| fs::remove_file(lock.unwrap().path()).unwrap());
    };
    remove();
    let other = Directory::open(path).unwrap();
    assert!(list(path).iter().all(|listed| listed.is_in_use));
    assert_eq!(other.open_records().await.unwrap().len(), 0);
    // The next change writes it again, and others see when the process ends.
    journal.advance("1", &Step::Settled).await.unwrap();
    assert_eq!(fs::read_dir(path.join("processes")).unwrap().count(), 1);
    drop(journal);
    assert_eq!(other.open_records().await.unwrap().len(), 2);
}

/// A process that does not ask for the open records of others must not keep them.
#[tokio::test]
async fn a_process_that_only_submits_leaves_open_records_to_others() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    submit(&service, path, "t1").await;
    let submitting = client(&service, path);
    assert!(!list(path)[0].is_in_use);
    assert_eq!(client(&service, path).resume().await.unwrap().len(), 1);
    drop(submitting);
}

/// A process may be stopped while it has the lock of a file. Others say so after some seconds, and
/// go on with everything else.
#[tokio::test]
async fn a_stopped_process_keeps_others_from_its_record_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = three(path).await;
    let stopped = File::open(open_file(path, 2)).unwrap();
    stopped.lock().unwrap();
    journal.intend(&intent("4")).await.unwrap();
    journal.advance("1", &Step::Settled).await.unwrap();
    assert_eq!(ids(path), ["t1", "t2", "t3", "?"]);
    assert_eq!(journal.open_records().await.unwrap().len(), 3);
    let error = journal.advance("2", &Step::Settled).await.unwrap_err().to_string();
    let process =
        format!("process {}, or another one, has had its lock for 5 s", std::process::id());
    assert!(error.contains(&process), "{error}");
    drop(stopped);
    journal.advance("2", &Step::Settled).await.unwrap();
}

#[tokio::test]
async fn writes_at_the_same_time_lose_nothing() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let client = client(&service, directory.path());
    let ids: Vec<String> = (1..=64).map(|id| format!("t{id}")).collect();
    ids.iter().for_each(|id| {
        service.reply(samples::accepted(&service, id));
    });
    let submissions = ids.iter().map(|_| client.submit(fox()));
    for task in futures_util::future::join_all(submissions).await {
        let _ = task.unwrap();
    }
    drop(client);
    let listed = list(directory.path());
    assert!(listed.iter().all(|listed| *listed.record.state() == State::Accepted));
    assert_eq!(numbers(directory.path()), (1..=64).collect::<Vec<_>>());
}

/// No runtime waits for what another one has not done.
#[test]
fn two_runtimes_share_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Directory::open(directory.path()).unwrap();
    let [idle, driven] =
        [(); 2].map(|()| runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let mut first = Box::pin({
        let journal = journal.clone();
        async move { journal.intend(&intent("1")).await }
    });
    // Begun on a runtime that nobody drives any further.
    idle.block_on(async { assert!(futures_util::poll!(&mut first).is_pending()) });
    driven.block_on(journal.intend(&intent("2"))).unwrap();
    idle.block_on(first).unwrap();
    assert_eq!(list(directory.path()).len(), 2);
}

/// What is written to a removed file is lost.
#[tokio::test]
async fn a_journal_that_was_removed_accepts_nothing() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let client = client(&service, &path);
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox()).await }
    });
    service.wait_for_requests(1).await;
    fs::remove_dir_all(&path).unwrap();
    rest.send(samples::accepted(&service, "t1").bytes());
    let error = submission.await.unwrap().unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert_eq!(error.task().map(|task| task.id()), Some("t1"));
    let error = client.submit(fox()).await.unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert_eq!(error.task(), None);
    assert_eq!(service.posts().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state").join("journal");
    let journal = three(&path).await;
    journal.advance("1", &Step::Settled).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in ["", "open", "closed", "closed/0", "processes"] {
        assert_eq!(mode(&path.join(folder)), 0o700, "{folder}");
    }
    for file in ["open/2.json", "closed/0/1.json"] {
        assert_eq!(mode(&path.join(file)), 0o600, "{file}");
    }
}

#[tokio::test]
async fn closed_records_are_kept_until_the_program_forgets_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = Directory::open(path).unwrap();
    journal.intend(&intent("open")).await.unwrap();
    let submissions = (0..2_100).map(|number| {
        let journal = journal.clone();
        async move {
            let id = number.to_string();
            journal.intend(&intent(&id)).await.unwrap();
            journal.advance(&id, &Step::NotBilled).await.unwrap();
        }
    });
    futures_util::future::join_all(submissions).await;
    let newest_first = Directory::list(path).unwrap().map(|listed| listed.unwrap().number);
    assert_eq!(newest_first.collect::<Vec<_>>(), (1..=2_101).rev().collect::<Vec<_>>());
    let found = Directory::find(path, 1_500).unwrap().unwrap().unwrap();
    assert_eq!((found.number, found.record.state()), (1_500, &State::NotBilled));
    assert_eq!(Directory::find(path, 2_102).unwrap(), None);

    journal.forget_closed(1_000).await.unwrap();
    let kept: Vec<u64> = (1_000..=2_101).collect();
    assert_eq!(numbers(path), [&[1], &kept[..]].concat());
    drop(journal);
    let next = Directory::open(path).unwrap();
    next.intend(&intent("next")).await.unwrap();
    assert_eq!(numbers(path).last(), Some(&2_102));
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

/// The space for each acceptance is on the disk before the request is sent.
#[tokio::test]
async fn the_space_for_an_acceptance_is_written_before_the_submission_is_sent() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let client = client(&service, directory.path());
    service.reply(Reply::silence());
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox()).await }
    });
    service.wait_for_requests(1).await;
    let text = fs::read_to_string(open_file(directory.path(), 1)).unwrap();
    let lines: Vec<usize> = text.lines().skip(1).map(str::len).collect();
    assert_eq!(lines, [127, 4_095, 4_095]);
    submission.abort();
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
    };
    journal.advance("1", &polled("Ready")).await.unwrap();
    let [listed] = &list(directory.path())[..] else { panic!("not one record") };
    assert_eq!(listed.record.state(), &State::Ready);
    assert_eq!(listed.record.task().unwrap().polling_url().reveal(), url);
    assert!(listed.is_in_use);
}

/// A task belongs to one submission, wherever its record is.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_adopted_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let closed = three(path).await;
    closed.advance("3", &Step::Settled).await.unwrap();
    let journals = [(); 8].map(|()| Directory::open(path).unwrap());
    let found = TaskRef::new("t9", "http://127.0.0.1:9/poll", None);
    let mut adopting = Vec::new();
    for (number, journal) in journals.into_iter().enumerate() {
        let id = format!("unknown-{number}");
        journal.intend(&intent(&id)).await.unwrap();
        for taken in ["t1", "t3"] {
            let taken = TaskRef::new(taken, "http://127.0.0.1:9/poll", None);
            assert!(!journal.adopt(&id, &taken).await.unwrap());
        }
        let found = found.clone();
        adopting.push(tokio::spawn(async move { journal.adopt(&id, &found).await.unwrap() }));
    }
    let mut adopted = 0;
    for adopting in adopting {
        adopted += usize::from(adopting.await.unwrap());
    }
    assert_eq!(adopted, 1);
    assert_eq!(ids(path).iter().filter(|id| *id == "t9").count(), 1);
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
