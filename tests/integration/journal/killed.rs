//! A process that is killed at any moment leaves a journal that the next one can use.

use std::env;

use imagekiln::{
    Client,
    journal::{Entry, FileJournal, Journal as _},
};

use crate::support::{
    answer::Answer,
    child,
    samples::{self, KEY, fox},
    scripted::ScriptedServer,
};

const SERVICE: &str = "IMAGEKILN_TEST_SERVICE";
const JOURNAL: &str = "IMAGEKILN_TEST_JOURNAL";

/// Submits and waits until it is killed.
async fn submit_and_wait() {
    let journal = FileJournal::open(env::var(JOURNAL).unwrap()).unwrap();
    let builder =
        Client::builder().api_key(KEY).base_url(env::var(SERVICE).unwrap()).journal(journal);
    let _ = builder.build().unwrap().submit(fox()).await.unwrap().wait().await.unwrap();
    unreachable!("it is killed before");
}

/// What the journal of a child holds that was killed after so many requests.
async fn killed_after(requests: usize, name: &str, service: &ScriptedServer) -> Vec<Entry> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tasks.jsonl");
    let variables = [(SERVICE, &*service.url("")), (JOURNAL, path.to_str().unwrap())];
    let child = child::start(name, &variables);
    service.wait_for_requests(requests).await;
    assert!(FileJournal::open(&path).is_err(), "the child has it locked");
    drop(child);
    FileJournal::open(&path).unwrap().entries().await.unwrap()
}

#[tokio::test]
async fn before_the_response_it_is_unknown_whether_the_task_exists() {
    if child::is_child() {
        return submit_and_wait().await;
    }
    let service = ScriptedServer::start().await;
    service.answer(Answer::silence());
    let name = "journal::killed::before_the_response_it_is_unknown_whether_the_task_exists";
    let entries = killed_after(1, name, &service).await;
    assert!(matches!(entries.as_slice(), [Entry::Unknown(_)]), "{entries:?}");
}

#[tokio::test]
async fn after_the_response_the_task_is_known() {
    if child::is_child() {
        return submit_and_wait().await;
    }
    let service = ScriptedServer::start().await;
    service.answer(samples::accepted(&service, "t1")).answer(Answer::silence());
    let name = "journal::killed::after_the_response_the_task_is_known";
    let entries = killed_after(2, name, &service).await;
    let [Entry::Accepted(intent, task)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((intent.operation(), task.id(), task.cost()), ("gen-2-pro", "t1", Some(4.0)));
}
