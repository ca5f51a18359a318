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
    journal::{Directory, Journal as _, Record, State},
};

const SERVICE: &str = "IMAGEKILN_TEST_SERVICE";
const JOURNAL: &str = "IMAGEKILN_TEST_JOURNAL";

/// Submits a request and waits until the process is killed.
async fn submit_and_wait() {
    let journal = Directory::open(env::var(JOURNAL).unwrap()).unwrap();
    let builder =
        Client::builder().api_key(KEY).base_url(env::var(SERVICE).unwrap()).journal(journal);
    let _ = builder.build().unwrap().submit(fox()).await.unwrap().wait().await.unwrap();
    unreachable!("the parent process kills this one first");
}

/// Returns the record of a child's submission. The child is killed after this many requests.
async fn killed_after(requests: usize, name: &str, service: &ScriptedServer) -> Record {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let variables = [(SERVICE, &*service.url("")), (JOURNAL, path.to_str().unwrap())];
    let child = child::start(name, &variables);
    service.wait_for_requests(requests).await;
    let journal = Directory::open(&path).unwrap();
    assert!(journal.open_records().await.unwrap().is_empty(), "the child still works on it");
    let listed = Directory::find(&path, 1).unwrap().unwrap().unwrap();
    assert!(listed.is_in_use);
    drop(child);
    let mut records = journal.open_records().await.unwrap();
    records.pop().unwrap().unwrap()
}

#[tokio::test]
async fn a_process_killed_before_the_response_leaves_an_unknown_submission() {
    if child::is_child() {
        return submit_and_wait().await;
    }
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let name = "journal::killed::a_process_killed_before_the_response_leaves_an_unknown_submission";
    let record = killed_after(1, name, &service).await;
    assert_eq!((record.state(), record.task()), (&State::Unknown, None));
}

#[tokio::test]
async fn a_process_killed_after_the_response_leaves_the_task() {
    if child::is_child() {
        return submit_and_wait().await;
    }
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1")).reply(Reply::silence());
    let name = "journal::killed::a_process_killed_after_the_response_leaves_the_task";
    let record = killed_after(2, name, &service).await;
    let task = record.task().unwrap();
    assert_eq!((task.id(), task.cost()), ("t1", Some(4.0)));
    assert_eq!((record.state(), record.intent().operation()), (&State::Accepted, "gen-2-pro"));
}
