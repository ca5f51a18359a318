//! A killed process leaves a journal that the next process can use.

use std::env;

use crate::support::{
    child,
    reply::Reply,
    samples::{self, KEY, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client,
    journal::{Entry, FileJournal, Journal as _},
};

const SERVICE: &str = "IMAGEKILN_TEST_SERVICE";
const JOURNAL: &str = "IMAGEKILN_TEST_JOURNAL";

/// Submits a request and waits until the process is killed.
async fn submit_and_wait() {
    let journal = FileJournal::open(env::var(JOURNAL).unwrap()).unwrap();
    let builder =
        Client::builder().api_key(KEY).base_url(env::var(SERVICE).unwrap()).journal(journal);
    let _ = builder.build().unwrap().submit(fox()).await.unwrap().wait().await.unwrap();
    unreachable!("the parent process kills this one first");
}

/// Returns the entries of a child's journal. The child is killed after this many requests.
async fn killed_after(requests: usize, name: &str, service: &ScriptedServer) -> Vec<Entry> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    let variables = [(SERVICE, &*service.url("")), (JOURNAL, path.to_str().unwrap())];
    let child = child::start(name, &variables);
    service.wait_for_requests(requests).await;
    assert!(FileJournal::open(&path).is_err(), "the journal is not locked");
    drop(child);
    FileJournal::open(&path).unwrap().entries().await.unwrap()
}

#[tokio::test]
async fn a_process_killed_before_the_response_leaves_an_unknown_submission() {
    if child::is_child() {
        return submit_and_wait().await;
    }
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let name = "journal::killed::a_process_killed_before_the_response_leaves_an_unknown_submission";
    let entries = killed_after(1, name, &service).await;
    assert!(matches!(entries.as_slice(), [Entry::Unknown(_)]), "{entries:?}");
}

#[tokio::test]
async fn a_process_killed_after_the_response_leaves_the_task() {
    if child::is_child() {
        return submit_and_wait().await;
    }
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1")).reply(Reply::silence());
    let name = "journal::killed::a_process_killed_after_the_response_leaves_the_task";
    let entries = killed_after(2, name, &service).await;
    let [Entry::Accepted(intent, task)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((intent.operation(), task.id(), task.cost()), ("gen-2-pro", "t1", Some(4.0)));
}
