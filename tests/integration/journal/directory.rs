//! The files of a journal in a directory, and the processes that share it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde_json::json;
use tokio::runtime;

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, fox, submit_in_background},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, ErrorKind, TaskRef,
    journal::{Directory, Intent, Journal as _, Listed, State, Step},
};

pub(super) fn client(service: &ScriptedServer, path: &Path) -> Client {
    samples::builder(service).journal(Directory::open(path).unwrap()).build().unwrap()
}

/// Submits a request with a separate client, as this task.
pub(super) async fn submit(service: &ScriptedServer, path: &Path, id: &str) {
    service.reply(samples::accepted(service, id));
    let _ = client(service, path).submit(fox()).await.unwrap();
}

/// Returns the records that can be read, oldest first.
pub(super) fn list(path: &Path) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Directory::list(path).unwrap().flatten().collect();
    listed.reverse();
    listed
}

/// Returns the ids of the tasks, oldest first. `?` is a submission without a task.
pub(super) fn ids(path: &Path) -> Vec<String> {
    let id = |listed: Listed| listed.record.task().map_or("?".to_owned(), |task| task.id().into());
    list(path).into_iter().map(id).collect()
}

pub(super) fn numbers(path: &Path) -> Vec<u64> {
    list(path).into_iter().map(|listed| listed.number).collect()
}

pub(super) fn open_file(path: &Path, number: u64) -> PathBuf {
    path.join("open").join(format!("{number}.json"))
}

pub(super) fn intent(id: &str) -> Intent {
    let intent = json!({"id": id, "operation": "gen-2-pro", "at": 1, "label": id});
    serde_json::from_value(intent).unwrap()
}

pub(super) fn accepted(id: &str) -> Step {
    Step::Accepted(TaskRef::new(id, "http://127.0.0.1:9/poll", None))
}

/// A journal with three accepted tasks, `t1` to `t3`.
pub(super) async fn three(path: &Path) -> Directory {
    let journal = Directory::open(path).unwrap();
    for id in ["1", "2", "3"] {
        journal.intend(&intent(id)).await.unwrap();
        journal.advance(id, &accepted(&format!("t{id}"))).await.unwrap();
    }
    journal
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
    let process = format!(
        "process {}, or another one, has had its lock for 5 s; continue or end that process",
        std::process::id()
    );
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
    let submission = submit_in_background(&client);
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

/// The space for each acceptance is on the disk before the request is sent.
#[tokio::test]
async fn the_space_for_an_acceptance_is_written_before_the_submission_is_sent() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let client = client(&service, directory.path());
    service.reply(Reply::silence());
    let submission = submit_in_background(&client);
    service.wait_for_requests(1).await;
    let text = fs::read_to_string(open_file(directory.path(), 1)).unwrap();
    let lines: Vec<usize> = text.lines().skip(1).map(str::len).collect();
    assert_eq!(lines, [127, 4_095, 4_095]);
    submission.abort();
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
            assert!(!journal.adopt(&intent(&id), &taken).await.unwrap());
        }
        let found = found.clone();
        let adopt = async move { journal.adopt(&intent(&id), &found).await.unwrap() };
        adopting.push(tokio::spawn(adopt));
    }
    let mut adopted = 0;
    for adopting in adopting {
        adopted += usize::from(adopting.await.unwrap());
    }
    assert_eq!(adopted, 1);
    assert_eq!(ids(path).iter().filter(|id| *id == "t9").count(), 1);
}
