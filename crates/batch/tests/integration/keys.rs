//! Idempotency keys of clients whose journal is a ledger, and names of jobs, which are the same.

use std::{path::PathBuf, time::Duration};

use imagekiln::{
    Client, ErrorKind, Once, Task,
    journal::{Key, State},
    types::Gen2Pro,
};
use imagekiln_batch::{ErrorKind as BatchError, JobState, Ledger, Scope};
use imagekiln_testbed::Trial;
use tokio::time;

use crate::support::{Backend, Fixture, both, chain, job, named, reason, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_key_is_paid_once_on_a_ledger),
        both(a_lost_response_leaves_its_key_undecided),
        both(a_job_is_the_picture_of_its_name),
        both(a_job_is_submitted_by_its_batch_only),
        both(a_key_is_no_name_for_a_job),
        both(a_retried_job_is_the_next_attempt),
    ]
}

fn fox() -> Gen2Pro {
    Gen2Pro::new("a red fox").width(64).height(64)
}

fn client(fixture: &Fixture, ledger: &Ledger) -> Client {
    fixture.client().journal(ledger.clone()).build().unwrap()
}

fn task(once: Once) -> Task {
    let Once::Task(task) = once else { panic!("{once:?}") };
    task
}

fn saved(once: Once) -> PathBuf {
    let Once::Saved { path, .. } = once else { panic!("{once:?}") };
    path
}

async fn a_key_is_paid_once_on_a_ledger(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let other = fixture.another(&ledger).await;
    let clients = [client(&fixture, &ledger), client(&fixture, &other)];
    let submit = |client: usize| clients[client].submit_once("cover", fox());
    let (a, b, c) = tokio::join!(submit(0), submit(1), submit(0));
    let tasks = [a, b, c].map(|once| task(once.unwrap()));
    assert!(tasks.iter().all(|task| task.id() == tasks[0].id()));
    assert_eq!(fixture.accepted(), 1);
    // Another key is another picture, and a submission that was not sent is no attempt.
    ledger.limits().pause(Scope::Ledger).await.unwrap();
    clients[0].submit_once("back", fox()).await.unwrap_err();
    assert!(clients[0].attempts("back").await.unwrap().is_empty());
    ledger.limits().unpause(Scope::Ledger).await.unwrap();
    let _ = task(clients[0].submit_once("back", fox()).await.unwrap());
    assert_eq!(fixture.accepted(), 2);

    let path = fixture.directory.path().join("fox.jpg");
    tasks[0].wait().await.unwrap().save(&path).await.unwrap();
    drop((clients, tasks, other));
    let ledger = fixture.reopen(ledger).await;
    let client = client(&fixture, &ledger);
    assert_eq!(saved(client.submit_once("cover", fox()).await.unwrap()), path);
    let error = client.submit_once("cover", fox().seed(8)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyConflict, "{error}");
    assert_eq!(fixture.accepted(), 2);
}

async fn a_lost_response_leaves_its_key_undecided(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let first = client(&fixture, &ledger);
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    first.submit_once("cover", fox()).await.unwrap_err();
    let error = first.submit_once("cover", fox()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Undecided, "{error}");
    let [record] = &first.attempts("cover").await.unwrap()[..] else { panic!("not one attempt") };
    first.dismiss(record).await.unwrap();
    let error = first.submit_once("cover", fox()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Undecided, "{error}");
    assert_eq!(fixture.accepted(), 1);
    let second = Key::new("cover").attempt(2);
    let paid = task(first.submit_once(second.clone(), fox()).await.unwrap());
    assert_eq!(task(first.submit_once(second, fox()).await.unwrap()).id(), paid.id());
    assert_eq!(first.attempts("cover").await.unwrap().len(), 2);
    assert_eq!(fixture.accepted(), 2);

    // A process that ended during its submission leaves no mark but the time.
    // Other features put the members in another order.
    let sent = "UPDATE imagekiln.submissions SET sent_at = sent_at - 900001, record =
        REPLACE(REPLACE(record, '\"is_lost\":true,', ''), ',\"is_lost\":true', '')";
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    first.submit_once("back", fox()).await.unwrap_err();
    fixture.execute(sent).await;
    let error = first.submit_once("back", fox()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Undecided, "{error}");
    fixture.execute("UPDATE imagekiln.submissions SET sent_at = sent_at + 900001").await;
    let error = first.submit_once("back", fox()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InProgress, "{error}");
}

async fn a_job_is_the_picture_of_its_name(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.batch(&ledger).jobs([job("cover", "a red fox")]).run().await.unwrap();
    let path = ledger.jobs().get("cover").await.unwrap().unwrap().location.unwrap();
    let client = client(&fixture, &ledger);
    for _ in 0..2 {
        assert_eq!(saved(client.submit_once("cover", fox()).await.unwrap()), PathBuf::from(&path));
        let error = client.submit_once("cover", fox().seed(8)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeyConflict, "{error}");
        ledger.jobs().archive(Duration::ZERO).await.unwrap();
        assert!(ledger.jobs().get("cover").await.unwrap().is_none());
    }
    assert_eq!(fixture.accepted(), 1);
    // A name that a person removes is free.
    fixture.batch(&ledger).jobs([job("back", "a red fox")]).run().await.unwrap();
    ledger.jobs().forget(&named("back")).await.unwrap();
    let _ = task(client.submit_once("back", fox()).await.unwrap());
    assert_eq!(fixture.accepted(), 3);
}

async fn a_job_is_submitted_by_its_batch_only(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("cover", "a red fox")]).await.unwrap();
    let client = client(&fixture, &ledger);
    let error = client.submit_once("cover", fox()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal);
    let reason = chain(&error);
    assert!(reason.contains("the ledger has a job `cover`, which a batch submits"), "{reason}");
    assert_eq!(fixture.accepted(), 0);
    fixture.batch(&ledger).run().await.unwrap();
    let _ = saved(client.submit_once("cover", fox()).await.unwrap());
    assert_eq!(fixture.accepted(), 1);
}

async fn a_key_is_no_name_for_a_job(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let client = client(&fixture, &ledger);
    let paid = task(client.submit_once("cover", fox()).await.unwrap());
    let error = ledger.jobs().add([job("cover", "a red fox")]).await.unwrap_err();
    assert_eq!(error.kind(), BatchError::Job);
    let expected = "`cover` is the key of a submission without a job; give the job another name";
    assert_eq!(error.to_string(), expected);

    // Another process adds the job at the same moment.
    ledger.jobs().add([job("other", "a red fox")]).await.unwrap();
    fixture.execute("UPDATE imagekiln.jobs SET name = 'cover', target = 'cover.jpg'").await;
    let report = time::timeout(Duration::from_secs(60), fixture.batch(&ledger).run()).await;
    assert_eq!(report.unwrap().unwrap().count(JobState::Failed), 1);
    let why = reason(&ledger, "cover").await;
    assert_eq!(why, "the ledger has a submission with the key `cover`");
    assert_eq!(fixture.accepted(), 1);
    assert_eq!(task(client.submit_once("cover", fox()).await.unwrap()).id(), paid.id());
}

async fn a_retried_job_is_the_next_attempt(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let prompt = "a fox [[error]]";
    let request = Gen2Pro::new(prompt).width(64).height(64);
    fixture.batch(&ledger).jobs([job("cover", prompt)]).run().await.unwrap();
    let client = client(&fixture, &ledger);
    let error = client.submit_once("cover", request.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFailed, "{error}");
    // The batch decides about the next one.
    let second = Key::new("cover").attempt(2);
    client.submit_once(second.clone(), request.clone()).await.unwrap_err();
    assert_eq!(fixture.accepted(), 1);
    ledger.jobs().retry(&named("cover"), None).await.unwrap();
    fixture.batch(&ledger).run().await.unwrap();
    let error = client.submit_once(second, request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFailed, "{error}");
    let attempts = client.attempts("cover").await.unwrap();
    assert!(attempts.iter().all(|record| matches!(record.state(), State::Failed(_))));
    assert_eq!((attempts.len(), fixture.accepted()), (2, 2));
    assert_eq!(state(&ledger, "cover").await, JobState::Failed);
}
