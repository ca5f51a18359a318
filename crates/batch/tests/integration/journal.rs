//! The ledger as the journal of a client, and decisions about unknown jobs.

use imagekiln::{
    Billing, SubmitOptions, TaskRef, Unfinished,
    journal::{Intent, Journal as _, Origin, Step},
    types::Gen2Pro,
};
use imagekiln_batch::{ErrorKind, JobState, Ledger, Resolution};
use imagekiln_testbed::Trial;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{Backend, Fixture, both, is_picture, job, reason, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_single_submission_is_resumed_from_the_ledger),
        both(submissions_of_a_process_that_runs_are_not_resumed_by_others),
        both(only_a_worker_can_submit_a_job),
        both(an_unknown_job_is_not_submitted_again_by_itself),
        both(a_person_resolves_an_unknown_job),
        both(a_paid_job_without_a_task_fails),
        both(a_task_that_a_person_found_is_handed_in),
        both(only_the_task_of_a_lost_response_is_handed_in),
        both(tasks_of_two_regions_may_have_the_same_id),
        both(a_task_is_adopted_once),
    ]
}

fn fox() -> Gen2Pro {
    Gen2Pro::new("a red fox").width(64).height(64)
}

async fn a_single_submission_is_resumed_from_the_ledger(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let client = fixture.client().journal(fixture.ledger().await).build().unwrap();
    let id = client.submit(fox()).await.unwrap().id().to_owned();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    client.submit_with(fox(), SubmitOptions::default().origin("row 17")).await.unwrap_err();
    client.submit(fox().width(16)).await.unwrap_err();
    drop(client);

    let client = fixture.client().journal(fixture.ledger().await).build().unwrap();
    let unfinished = client.resume().await.unwrap();
    let [Unfinished::Task(task, _), Unfinished::Unknown(record)] = unfinished.as_slice() else {
        panic!("{unfinished:?}");
    };
    assert_eq!((task.id(), record.intent().label()), (id.as_str(), Some("row 17")));
    task.wait().await.unwrap().save(fixture.directory.path().join("fox.jpg")).await.unwrap();
    client.dismiss(record).await.unwrap();
    assert!(client.resume().await.unwrap().is_empty());
}

async fn submissions_of_a_process_that_runs_are_not_resumed_by_others(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let first = fixture.ledger().await;
    let second = match backend {
        Backend::Sqlite => Ledger::open_to_manage(fixture.ledger_name()).await.unwrap(),
        Backend::Postgres => fixture.ledger().await,
    };
    let client = |ledger: &Ledger| fixture.client().journal(ledger.clone()).build().unwrap();
    let task = client(&first).submit(fox()).await.unwrap();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    client(&first).submit(fox()).await.unwrap_err();
    let of_second = client(&second).submit(fox()).await.unwrap();

    let [Unfinished::Task(own, _)] = &client(&second).resume().await.unwrap()[..] else { panic!() };
    assert_eq!(own.id(), of_second.id());
    first.close().await;
    second.close().await;
    let rest = client(&fixture.ledger().await).resume().await.unwrap();
    let [Unfinished::Task(found, _), Unfinished::Unknown(_), Unfinished::Task(..)] = &rest[..]
    else {
        panic!("{rest:?}");
    };
    assert_eq!(found.id(), task.id());
}

async fn only_a_worker_can_submit_a_job(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("fox", "a red fox")]).await.unwrap();
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    let ticket = json!({"imagekiln_batch": {"job": 1, "worker": 1}});
    let options = SubmitOptions::default().origin(Origin::new("fox").context(&ticket));
    let error = client.submit_with(fox(), options).await.unwrap_err();
    assert_eq!(error.billing(), Billing::NotBilled);
    assert_eq!(error.kind(), imagekiln::ErrorKind::Journal);
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Queued, 0));
}

/// A ledger with a job whose response was lost.
async fn with_unknown_job(fixture: &Fixture) -> Ledger {
    let ledger = fixture.ledger().await;
    let report = fixture.batch(&ledger).jobs([job("fox", "a [[reply-lost]] fox")]).run().await;
    assert_eq!(report.unwrap().count(JobState::Unknown), 1);
    fixture.reopen(ledger).await
}

async fn an_unknown_job_is_not_submitted_again_by_itself(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let mut ledger = with_unknown_job(&fixture).await;
    assert!(reason(&ledger, "fox").await.contains("connection"));
    for _ in 0..2 {
        let mut batch = fixture.batch(&ledger);
        batch.run().await.unwrap();
        batch.run().await.unwrap();
        drop(batch);
        ledger = fixture.reopen(ledger).await;
    }
    assert_eq!(state(&ledger, "fox").await, JobState::Unknown);
    assert_eq!(fixture.accepted(), 1);
    // Entries of jobs belong to the batch.
    let client = fixture.client().journal(ledger).build().unwrap();
    assert!(client.resume().await.unwrap().is_empty());
}

async fn a_person_resolves_an_unknown_job(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown_job(&fixture).await;
    let status = ledger.jobs().resolve("fox", Resolution::NotPaid).await.unwrap();
    assert_eq!((status.state, status.task_id), (JobState::Queued, None));
    let error = ledger.jobs().resolve("fox", Resolution::NotPaid).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(error.to_string(), "job `fox` is queued, not unknown; nothing was changed");
    fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(state(&ledger, "fox").await, JobState::Saved);
    let error = ledger.jobs().resolve("wolf", Resolution::Paid).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
}

async fn a_paid_job_without_a_task_fails(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown_job(&fixture).await;
    let status = ledger.jobs().resolve("fox", Resolution::Paid).await.unwrap();
    assert_eq!(status.state, JobState::Failed);
    assert!(status.reason.unwrap().contains("response was lost"));
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Failed), fixture.accepted()), (1, 1));
    assert_eq!(report.rows[0].without_cost, 1);
}

async fn a_task_that_a_person_found_is_handed_in(backend: Backend) {
    for resolved in [None, Some(Resolution::Paid), Some(Resolution::NotPaid)] {
        let fixture = Fixture::new(backend).await;
        let ledger = with_unknown_job(&fixture).await;
        if let Some(resolution) = resolved {
            ledger.jobs().resolve("fox", resolution).await.unwrap();
        }
        let [task] = fixture.simulator.tasks().try_into().unwrap();
        let mut batch = fixture.batch(&ledger);
        let status = batch.resolve_with_task("fox", &task.id).await.unwrap();
        assert_eq!((status.state, status.task_id), (JobState::Submitted, Some(task.id)));
        batch.run().await.unwrap();
        let status = ledger.jobs().get("fox").await.unwrap().unwrap();
        assert!(is_picture(status.location.unwrap()));
        assert_eq!((status.state, fixture.accepted()), (JobState::Saved, 1));
    }
}

async fn only_the_task_of_a_lost_response_is_handed_in(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown_job(&fixture).await;
    let [lost] = fixture.simulator.tasks().try_into().unwrap();
    let mut batch = fixture.batch(&ledger).jobs([job("wolf", "a wolf")]);
    batch.run().await.unwrap();
    let wolf = ledger.jobs().get("wolf").await.unwrap().unwrap().task_id.unwrap();
    for (name, task, kind, part) in [
        ("fox", "00000000-0000", ErrorKind::Client, "the service does not know the task"),
        ("fox", &*wolf, ErrorKind::State, "belongs to another submission"),
        ("wolf", &lost.id, ErrorKind::State, "is saved, not waiting for its task"),
        ("owl", &lost.id, ErrorKind::State, "the ledger has no job `owl`"),
    ] {
        let error = batch.resolve_with_task(name, task).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    // A poll that fails proves nothing.
    fixture.simulator.faults().add("html-502@poll:always").unwrap();
    let error = batch.resolve_with_task("fox", &lost.id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Client);
    assert_eq!(state(&ledger, "fox").await, JobState::Unknown);
    assert_eq!(state(&ledger, "wolf").await, JobState::Saved);
}

async fn tasks_of_two_regions_may_have_the_same_id(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown_job(&fixture).await;
    let [lost] = fixture.simulator.tasks().try_into().unwrap();
    let regional = json!({"id": "other", "operation": "gen-pro-1.1-ultra-finetuned", "at": 0});
    let regional: Intent = serde_json::from_value(regional).unwrap();
    ledger.intend(&regional).await.unwrap();
    let task = TaskRef::new(&lost.id, "https://regional.example.com/poll", None);
    ledger.advance("other", &Step::Accepted(task)).await.unwrap();

    let batch = fixture.batch(&ledger);
    let job = batch.resolve_with_task("fox", &lost.id).await.unwrap();
    assert_eq!((job.state, job.task_id), (JobState::Submitted, Some(lost.id)));
}

/// One paid picture does not count for two submissions, whoever adopts its task first.
async fn a_task_is_adopted_once(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let other = fixture.another(&ledger).await;
    let lost = |number: usize| -> Intent {
        let lost = json!({ "id": number.to_string(), "operation": "gen-2-pro", "at": 0 });
        serde_json::from_value(lost).unwrap()
    };
    for number in 0..16 {
        ledger.intend(&lost(number)).await.unwrap();
    }
    let mut adopting = JoinSet::new();
    for number in 0..16 {
        let lost = lost(number);
        let ledger = if number % 2 == 0 { &ledger } else { &other }.clone();
        adopting.spawn(async move {
            let found = TaskRef::new("t9", "http://127.0.0.1:9/poll", None);
            ledger.adopt(&lost, &found).await.unwrap()
        });
    }
    let adopted = adopting.join_all().await.into_iter().filter(|is_adopted| *is_adopted);
    assert_eq!(adopted.count(), 1);
    let records = ledger.open_records().await.unwrap();
    let tasks = records.iter().filter_map(|record| record.as_ref().unwrap().task());
    assert_eq!((records.len(), tasks.count()), (16, 1));
}
