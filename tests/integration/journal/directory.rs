//! The files of a journal: private, locked, written ahead, tolerant of an incomplete last line, and
//! bounded in size.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::Duration,
};

use tokio::{task::spawn_blocking, time::timeout};

use crate::support::{
    reply::Reply,
    samples::{self, assert_kind, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, ErrorKind,
    journal::{Directory, Journal as _, Listed, State, Step},
};

fn client(service: &ScriptedServer, path: &Path) -> Client {
    samples::builder(service).journal(Directory::open(path).unwrap()).build().unwrap()
}

/// Submits a request with a separate client, as this task.
async fn submit(service: &ScriptedServer, path: &Path, id: &str) {
    service.reply(samples::accepted(service, id));
    let _ = client(service, path).submit(fox()).await.unwrap();
}

/// Returns the ids of the tasks, oldest first. `?` is a submission without a task.
fn ids(path: &Path) -> Vec<String> {
    let id = |listed: Listed| listed.record.task().map_or("?".to_owned(), |task| task.id().into());
    Directory::list(path).unwrap().into_iter().rev().map(id).collect()
}

/// Returns the content of a log, and the length of its lines. Behind them are zeros.
fn read(log: &Path) -> (Vec<u8>, usize) {
    let text = fs::read(log).unwrap();
    let length = text.iter().position(|byte| *byte == 0).unwrap();
    (text, length)
}

#[tokio::test]
async fn an_incomplete_last_line_is_dropped() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (path, log) = (directory.path(), directory.path().join("log-1.jsonl"));
    submit(&service, path, "t1").await;
    let (text, length) = read(&log);
    // A crash may leave any prefix, with zeros behind it.
    for cut in 0..=length {
        let mut torn = text.clone();
        torn[cut..].fill(0);
        fs::write(&log, &torn).unwrap();
        let lines = text[..cut].iter().filter(|byte| **byte == b'\n').count();
        let expected: &[&str] = [&[][..], &["?"], &["t1"]][lines];
        assert_eq!(ids(path), expected, "cut at {cut}");
    }
    // A process continues a log without open records.
    let settled = str::from_utf8(&text[..length]).unwrap().replace("accepted", "settled");
    for incomplete in [&b"{"[..], b"{\"number\":2", b"\xff\xfe"] {
        fs::write(&log, [settled.as_bytes(), incomplete].concat()).unwrap();
        submit(&service, path, "t2").await;
        assert_eq!(ids(path), ["t1", "t2"]);
    }
}

/// A later version, or another program, may have written it. It may name a task.
#[tokio::test]
async fn an_unreadable_line_is_kept_and_hides_no_other() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (path, log) = (directory.path(), directory.path().join("log-1.jsonl"));
    submit(&service, path, "t1").await;
    let (text, length) = read(&log);
    fs::write(&log, [&text[..length], b"{\"name\": \"fox\"}\n"].concat()).unwrap();
    submit(&service, path, "t2").await;
    assert_eq!(ids(path), ["t1", "t2"]);
    assert!(fs::read_to_string(&log).unwrap().contains("{\"name\": \"fox\"}\n"));
}

#[tokio::test]
async fn files_of_other_programs_are_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes.json");
    fs::write(&notes, "{\"name\": \"fox\"}").unwrap();
    drop(Directory::open(directory.path()).unwrap());
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
    let listed = Directory::list(path).unwrap();
    assert_eq!(listed.iter().map(|listed| listed.number).collect::<Vec<_>>(), [2, 1]);
    assert!(listed.iter().all(|listed| listed.is_in_use));
    drop(first);
    assert_eq!(second.resume().await.unwrap().len(), 2);
    drop(second);
    assert!(Directory::list(path).unwrap().iter().all(|listed| !listed.is_in_use));
    let third = client(&service, path);
    let (second, first) = (third.resume().await.unwrap(), ids(path));
    assert_eq!((second.len(), first), (2, vec!["t1".to_owned(), "t2".to_owned()]));
    let logs = fs::read_dir(path).unwrap().filter(|file| {
        file.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "jsonl")
    });
    assert_eq!(logs.count(), 2, "logs are used again");
}

/// A process that tries the lock of a log has it for a moment, but does not own the log. Two of
/// them could each leave its records to the other.
#[tokio::test]
async fn a_process_waits_while_another_one_tries_the_locks() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    submit(&service, &path, "t1").await;
    let journal = Directory::open(&path).unwrap();
    let locked = |name: &str| {
        let file = File::open(path.join(name)).unwrap();
        file.lock().unwrap();
        file
    };
    let moment = Duration::from_millis(200);
    // Dropped in this order: who has `numbers` must find the log free.
    let tried = ["log-1.lock", "numbers"].map(locked);
    let list = path.clone();
    let mut listed = spawn_blocking(move || Directory::list(list).unwrap());
    assert!(timeout(moment, &mut listed).await.is_err());
    drop(tried);
    assert!(!listed.await.unwrap()[0].is_in_use);
    let tried = ["log-1.lock", "numbers"].map(locked);
    let mut taken_over = tokio::spawn(async move { journal.records().await.unwrap() });
    assert!(timeout(moment, &mut taken_over).await.is_err());
    drop(tried);
    assert_eq!(taken_over.await.unwrap().len(), 1);
}

/// A process that does not ask for the open records of others must not keep them.
#[tokio::test]
async fn a_process_that_only_submits_leaves_open_records_to_others() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    submit(&service, path, "t1").await;
    let submitting = client(&service, path);
    let in_use = Directory::list(path).unwrap().into_iter().map(|listed| listed.is_in_use);
    assert_eq!(in_use.collect::<Vec<_>>(), [false]);
    assert_eq!(client(&service, path).resume().await.unwrap().len(), 1);
    drop(submitting);
    // Not without limit: a program may never ask for them.
    for id in 2..30 {
        submit(&service, path, &format!("t{id}")).await;
    }
    let logs = fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name());
    let logs = logs.filter(|name| name.to_str().unwrap().ends_with(".jsonl"));
    assert_eq!((ids(path).len(), logs.count()), (29, 9));
    assert_eq!(client(&service, path).resume().await.unwrap().len(), 29);
}

#[tokio::test]
async fn an_included_record_keeps_its_number_and_its_latest_state() {
    let service = ScriptedServer::start().await;
    let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    submit(&service, one.path(), "t1").await;
    let record = Directory::list(one.path()).unwrap().remove(0).record;
    let before = client(&service, other.path());
    let journal = Directory::open(other.path()).unwrap();
    journal.include(vec![(7, record.clone())]).await.unwrap();
    // Numbers are larger in processes that opened the directory before, too.
    service.reply(samples::accepted(&service, "t2"));
    let _ = before.submit(fox()).await.unwrap();
    let numbers = || Directory::list(other.path()).unwrap().into_iter().map(|one| one.number);
    assert_eq!(numbers().collect::<Vec<_>>(), [8, 7]);

    let second = Directory::open(other.path()).unwrap();
    second.include(vec![(7, record.clone())]).await.unwrap();
    second.advance(record.intent().id(), &Step::Settled).await.unwrap();
    let state = |listed: Listed| (listed.number, listed.record.state().clone());
    let states = Directory::list(other.path()).unwrap().into_iter().map(state);
    assert_eq!(states.collect::<Vec<_>>(), [(8, State::Accepted), (7, State::Settled)]);
    drop(journal);
    // The log with the earlier state is used again.
    let again = Directory::open(other.path()).unwrap();
    let states = again.records().await.unwrap().into_iter().map(state);
    assert!(states.collect::<Vec<_>>().contains(&(7, State::Settled)));
    drop(second);
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
    let listed = Directory::list(directory.path()).unwrap();
    assert_eq!(listed.len(), 64);
    assert!(listed.iter().all(|listed| *listed.record.state() == State::Accepted));
    let numbers: Vec<u64> = listed.iter().map(|listed| listed.number).collect();
    assert_eq!(numbers, (1..=64).rev().collect::<Vec<_>>());
}

/// Lines that are written to a removed file are lost.
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

/// A log must not be emptied because its records are in one that is gone.
#[tokio::test]
async fn the_log_of_another_process_is_kept_if_the_own_one_was_removed() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (path, theirs) = (directory.path(), directory.path().join("log-1.jsonl"));
    submit(&service, path, "t1").await;
    let before = fs::read(&theirs).unwrap();
    let journal = Directory::open(path).unwrap();
    assert_eq!(journal.records().await.unwrap().len(), 1);
    // A backup may bring it back.
    fs::write(&theirs, before).unwrap();
    fs::remove_file(path.join("log-2.jsonl")).unwrap();
    assert_kind(&journal.records().await.unwrap_err(), ErrorKind::Journal);
    assert_eq!(ids(path), ["t1"]);
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state").join("journal");
    submit(&service, &path, "t1").await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[tokio::test]
async fn closed_records_are_removed_and_open_ones_never() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    submit(&service, path, "t1").await;
    let journal = Directory::open_keeping(path, 3).unwrap();
    let client = samples::builder(&service).journal(journal).build().unwrap();
    service.otherwise(|_| Reply::status(422));
    for _ in 0..600 {
        client.submit(fox()).await.unwrap_err();
    }
    drop(client);
    let text = fs::read(path.join("log-2.jsonl")).unwrap();
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    assert!((1..1_000).contains(&lines), "{lines} of 1200 lines");
    let listed = Directory::list(path).unwrap();
    assert!(listed.len() < 400, "{} records", listed.len());
    assert_eq!(listed.last().unwrap().number, 1);
    assert_eq!(listed.last().unwrap().record.state(), &State::Accepted);
    // The numbers continue, even if nothing remembers the last one.
    fs::write(path.join("numbers"), "").unwrap();
    let last = listed.first().unwrap().number;
    submit(&ScriptedServer::start().await, path, "t2").await;
    assert_eq!(Directory::list(path).unwrap().first().unwrap().number, last + 1);
}

/// The space for each acceptance is on the disk before the request is sent.
#[tokio::test]
async fn the_space_for_an_acceptance_is_written_before_the_submission_is_sent() {
    let service = ScriptedServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let client = client(&service, path);
    service.reply(Reply::silence());
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox()).await }
    });
    service.wait_for_requests(1).await;
    let (text, end) = read(&path.join("log-1.jsonl"));
    assert!(text.len() - end >= 4096, "{} bytes", text.len() - end);
    assert!(text[end..].iter().all(|byte| *byte == 0));
    submission.abort();
}

#[test]
fn the_log_of_a_killed_process_is_read_up_to_its_zeros() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = File::create(directory.path().join("log-1.jsonl")).unwrap();
    log.write_all(&[0; 4096]).unwrap();
    assert!(Directory::list(directory.path()).unwrap().is_empty());
    drop(Directory::open(directory.path()).unwrap());
}
