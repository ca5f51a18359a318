//! Groups, limits and other changes while workers run.

use std::{
    collections::HashMap,
    fs,
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use imagekiln::{Billing, SubmitOptions, journal::Origin, types::Gen2Pro};
use imagekiln_batch::{Error, ErrorKind, Filter, Job, JobState, Ledger, Scope};
use imagekiln_testbed::Trial;
use serde_json::json;
use tokio::time;

use crate::support::{
    Backend, Fixture, PRICE, all, assert_equal, both, flex, job, jobs, named, state,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_paused_ledger_submits_nothing_until_it_is_resumed),
        both(a_pause_does_not_keep_a_foreign_ledger_waiting),
        both(a_paused_group_does_not_delay_the_others),
        both(the_budget_of_each_group_holds_for_its_jobs),
        both(a_budget_of_any_scope_holds_for_jobs),
        both(a_group_has_at_most_as_many_active_tasks_as_its_cap),
        both(an_operation_has_at_most_as_many_active_tasks_as_its_cap),
        both(an_operation_has_at_most_as_many_submissions_a_minute_as_its_rate),
        both(the_journal_of_a_client_refuses_what_a_budget_does_not_allow),
        both(a_submission_needs_a_group_that_limits_can_name),
        both(jobs_with_a_higher_priority_are_submitted_first),
        both(a_job_that_is_not_submitted_can_be_cancelled),
        both(the_spending_agrees_with_the_account),
        both(a_watch_sees_what_another_process_changes),
        both(a_watch_that_is_dropped_loses_no_change),
        both(a_job_keeps_the_values_of_the_program),
    ]
}

/// Opens the ledger as another process does that manages it.
async fn manage(fixture: &Fixture, backend: Backend) -> Ledger {
    match backend {
        Backend::Sqlite => Ledger::open_to_manage(fixture.ledger_name()).await.unwrap(),
        Backend::Postgres => fixture.ledger().await,
    }
}

fn group(name: &str, jobs: usize) -> impl Iterator<Item = Job> {
    (0..jobs).map(move |number| job(&format!("{name}-{number}"), "a fox").group(name))
}

/// Why the ledger refused a submission.
pub fn refusal(refused: &imagekiln::Error) -> &Error {
    refused.refusal().unwrap().downcast_ref().unwrap()
}

fn two_groups() -> Vec<Job> {
    group("anna", 5).chain(group("ben", 3)).collect()
}

async fn a_paused_ledger_submits_nothing_until_it_is_resumed(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let manager = manage(&fixture, backend).await;
    manager.limits().pause(Scope::Ledger).await.unwrap();
    let mut batch = fixture.batch(&ledger).jobs(jobs(3));
    let resume = async {
        time::sleep(Duration::from_secs(60)).await;
        assert_eq!(fixture.accepted(), 0);
        assert!(manager.limits().list().await.unwrap()[0].is_paused);
        manager.limits().unpause(Scope::Ledger).await.unwrap();
    };
    let (report, ()) = tokio::join!(batch.run(), resume);
    assert_eq!(report.unwrap().count(JobState::Saved), 3);
    assert!(manager.limits().list().await.unwrap().is_empty());
    if backend == Backend::Sqlite {
        let error = fixture.batch(&manager).run().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked);
    }
}

async fn a_pause_does_not_keep_a_foreign_ledger_waiting(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    let other = fixture.new_ledger().await;
    other.limits().pause(Scope::Ledger).await.unwrap();
    let mut batch = fixture.batch(&other).jobs(jobs(2));
    let ended = time::timeout(Duration::from_secs(3600), batch.run()).await;
    assert_eq!(ended.unwrap().unwrap_err().kind(), ErrorKind::Foreign);
}

async fn a_paused_group_does_not_delay_the_others(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().pause(Scope::Group("anna".to_owned())).await.unwrap();
    let mut batch = fixture.batch(&ledger).jobs(two_groups()).max_active(1);
    let manager = manage(&fixture, backend).await;
    let resume = async {
        while fixture.accepted() < 3 {
            time::sleep(Duration::from_secs(1)).await;
        }
        for number in 0..3 {
            assert_ne!(state(&manager, &format!("ben-{number}")).await, JobState::Queued);
        }
        manager.limits().unpause(Scope::Group("anna".to_owned())).await.unwrap();
    };
    let (report, ()) = tokio::join!(batch.run(), resume);
    assert_eq!(report.unwrap().count(JobState::Saved), 8);
}

async fn the_budget_of_each_group_holds_for_its_jobs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().set_budget(Scope::EachGroup, Some(2.0 * PRICE)).await.unwrap();
    let others = jobs(2);
    let mut batch = fixture.batch(&ledger).jobs(two_groups().into_iter().chain(others));
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (6, 4));
    let queued = Filter { group: Some("anna".to_owned()), ..Filter::states([JobState::Queued]) };
    let queued = ledger.jobs().page(&queued, 0, 10).await.unwrap();
    assert_eq!(queued.len(), 3);
    let reason = "the budget of the group `anna` is used up: 6.00 of 6.00 credits are spent or \
                  reserved, and the submission may cost 3.00";
    assert!(queued.iter().all(|job| job.reason.as_deref() == Some(reason)), "{queued:?}");
    // A larger budget of its own lets the jobs of the group continue.
    let anna = Scope::Group("anna".to_owned());
    ledger.limits().set_budget(anna.clone(), Some(4.0 * PRICE)).await.unwrap();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 8);
    let limits = ledger.limits().list().await.unwrap();
    let of_anna = limits.iter().find(|limit| limit.scope == anna).unwrap();
    assert_equal(of_anna.credits, 4.0 * PRICE);
}

async fn a_budget_of_any_scope_holds_for_jobs(backend: Backend) {
    let operation = Scope::Operation("gen-2-pro".to_owned());
    let anna = Scope::Group("anna".to_owned());
    for scope in [Scope::Ledger, operation, anna, Scope::EachGroup] {
        let (fixture, ledger) = Fixture::with_ledger(backend).await;
        ledger.limits().set_budget(scope.clone(), Some(2.0 * PRICE)).await.unwrap();
        let report = fixture.batch(&ledger).jobs(group("anna", 5)).run().await.unwrap();
        let states = (report.count(JobState::Saved), report.count(JobState::Queued));
        assert_eq!((states, fixture.accepted()), ((2, 3), 2), "{scope}");
    }
}

/// Runs the jobs, and returns the highest numbers of active tasks by group and operation.
async fn most_active(fixture: &Fixture, ledger: &Ledger, jobs: Vec<Job>) -> HashMap<String, i64> {
    let counts = Arc::new(Mutex::new(HashMap::<String, (i64, i64)>::new()));
    let counted = Arc::clone(&counts);
    let saved = jobs.len() as u64;
    let mut batch = fixture.batch(ledger).jobs(jobs).on_change(move |job| {
        let change = match job.state {
            JobState::Submitted => 1,
            JobState::Saved => -1,
            _ => return,
        };
        for name in job.group.iter().chain([&job.operation]) {
            let mut counts = counted.lock().unwrap();
            let (now, most) = counts.entry(name.clone()).or_default();
            *now += change;
            *most = (*most).max(*now);
        }
    });
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), saved);
    drop(batch);
    let counts = counts.lock().unwrap();
    counts.iter().map(|(name, (_, most))| (name.clone(), *most)).collect()
}

async fn a_group_has_at_most_as_many_active_tasks_as_its_cap(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().set_max_active(Scope::EachGroup, Some(1)).await.unwrap();
    ledger.limits().set_max_active(Scope::Group("ben".to_owned()), Some(2)).await.unwrap();
    let most = most_active(&fixture, &ledger, two_groups()).await;
    assert_eq!((most["anna"], most["ben"], most["gen-2-pro"]), (1, 2, 3));
}

async fn an_operation_has_at_most_as_many_active_tasks_as_its_cap(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let operation = Scope::Operation("gen-2-pro".to_owned());
    ledger.limits().set_max_active(operation, Some(2)).await.unwrap();
    let jobs = jobs(6).into_iter().chain((0..4).map(flex)).collect();
    let most = most_active(&fixture, &ledger, jobs).await;
    assert_eq!((most["gen-2-pro"], most["gen-2-flex"]), (2, 4));
}

/// In real time, because the clock of the ledger is not paused.
async fn an_operation_has_at_most_as_many_submissions_a_minute_as_its_rate(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    // One each 255 ms, after four at once.
    let operation = Scope::Operation("gen-2-pro".to_owned());
    ledger.limits().set_rate(operation.clone(), Some(240)).await.unwrap();
    let report = fixture.batch(&ledger).jobs(jobs(9)).run().await.unwrap();
    assert_eq!(report.count(JobState::Saved), 9);
    let time = "SELECT MAX(sent_at) - MIN(sent_at) FROM imagekiln.submissions";
    assert!(fixture.count(time).await > 900, "{} ms", fixture.count(time).await);
    ledger.limits().set_rate(operation, None).await.unwrap();
    ledger.limits().set_rate(Scope::Ledger, Some(1)).await.unwrap();
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    let _task = client.submit(Gen2Pro::new("a fox")).await.unwrap();
    let refused = client.submit(Gen2Pro::new("a fox")).await.unwrap_err();
    let refusal = refusal(&refused);
    assert_eq!(refusal.kind(), ErrorKind::Rate);
    let start = "the rate of the ledger, 1 a minute, is used up; try again in ";
    assert!(refusal.to_string().starts_with(start), "{refusal}");
    for (scope, rate) in [(Scope::EachGroup, 1), (Scope::Ledger, 0), (Scope::Ledger, 6001)] {
        let error = ledger.limits().set_rate(scope, Some(rate)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
    }
}

async fn the_journal_of_a_client_refuses_what_a_budget_does_not_allow(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    let submit = async |group: &str| {
        let request = Gen2Pro::new("a fox").width(64).height(64);
        let options = SubmitOptions::default().origin(Origin::new("direct").group(group));
        client.submit_with(request, options).await
    };
    ledger.limits().set_budget(Scope::EachGroup, Some(PRICE)).await.unwrap();
    let _tasks = [submit("anna").await.unwrap(), submit("ben").await.unwrap()];
    let refused = submit("anna").await.unwrap_err();
    let of_anna = refusal(&refused);
    assert_eq!(of_anna.kind(), ErrorKind::Budget);
    assert!(of_anna.to_string().starts_with("the budget of the group `anna` is used up"));
    assert_eq!(of_anna.limited_scope(), Some(&Scope::Group("anna".to_owned())));
    ledger.limits().set_budget(Scope::EachGroup, None).await.unwrap();
    ledger.limits().set_max_active(Scope::Group("ben".to_owned()), Some(1)).await.unwrap();
    let refused = submit("ben").await.unwrap_err();
    assert_eq!(refusal(&refused).kind(), ErrorKind::ActiveTasks);
    ledger.limits().set_budget(Scope::Group("carl".to_owned()), Some(0.0)).await.unwrap();
    let refused = submit("carl").await.unwrap_err().refusal().unwrap().to_string();
    assert!(refused.contains(": 0.00 of 0.00 credits are spent"), "{refused}");
    ledger.limits().pause(Scope::Ledger).await.unwrap();
    let refused = submit("anna").await.unwrap_err();
    let refusal = refusal(&refused);
    let expected = (ErrorKind::Paused, Some(&Scope::Ledger));
    assert_eq!((refusal.kind(), refusal.limited_scope()), expected);
    assert_eq!(fixture.accepted(), 2);
}

async fn a_submission_needs_a_group_that_limits_can_name(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().set_budget(Scope::EachGroup, Some(0.0)).await.unwrap();
    let client = fixture.client().journal(ledger).build().unwrap();
    for group in [String::new(), "a".repeat(201)] {
        let options = SubmitOptions::default().origin(Origin::new("direct").group(group));
        let refused = client.submit_with(Gen2Pro::new("a fox"), options).await.unwrap_err();
        assert_eq!(refused.billing(), Billing::NotBilled, "{refused}");
    }
    assert_eq!(fixture.accepted(), 0);
}

async fn jobs_with_a_higher_priority_are_submitted_first(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let jobs = (0..6).map(|number| job(&number.to_string(), "a fox").priority(number % 3));
    ledger.jobs().add(jobs).await.unwrap();
    assert_eq!(ledger.jobs().set_priority(&named("3"), 9).await.unwrap(), 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let submitted = Arc::clone(&order);
    let mut batch = fixture.batch(&ledger).max_active(1).on_change(move |job| {
        if job.state == JobState::Submitted {
            submitted.lock().unwrap().push(job.name.clone());
        }
    });
    batch.run().await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["3", "2", "5", "1", "4", "0"]);
}

async fn a_job_that_is_not_submitted_can_be_cancelled(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let manager = manage(&fixture, backend).await;
    let mut batch = fixture.batch(&ledger).jobs(two_groups()).max_active(1);
    let cancel = async {
        while fixture.accepted() == 0 {
            time::sleep(Duration::from_millis(50)).await;
        }
        // What is at the target of a cancelled job does not matter.
        fs::write(fixture.output().join("ben-1.jpg"), "mine").unwrap();
        manager.jobs().cancel(&Filter::default()).await.unwrap()
    };
    // The worker has claimed all of them.
    let (report, cancelled) = tokio::join!(batch.run(), cancel);
    let report = report.unwrap();
    assert_eq!(report.count(JobState::Cancelled), cancelled);
    assert_eq!(report.count(JobState::Saved) + cancelled, 8);
    assert_eq!(fixture.accepted(), 8 - cancelled);
    assert!(cancelled >= 1);
    let workers = "SELECT COUNT(*) FROM imagekiln.workers";
    assert_eq!(fixture.count(workers).await, 1, "the worker took it for a lost lease");
    assert_eq!(manager.jobs().retry(&named("ben-2"), None).await.unwrap(), 1);
    assert_eq!(batch.run().await.unwrap().count(JobState::Cancelled), cancelled - 1);
}

async fn the_spending_agrees_with_the_account(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let mut batch = fixture.batch(&ledger).jobs(two_groups()).max_active(1);
    batch.run().await.unwrap();
    let spending = ledger.reports().spending().await.unwrap();
    let groups: Vec<_> = spending.iter().map(|row| row.group.as_deref().unwrap()).collect();
    assert_eq!(groups, ["anna", "ben"]);
    assert_eq!((spending[0].submissions, spending[0].without_cost), (5, 1));
    assert_equal(spending[0].estimated, PRICE);
    let counted: f64 = spending.iter().map(|row| row.credits + row.estimated).sum();
    assert_equal(counted, fixture.charged());
    let report = ledger.reports().jobs().await.unwrap();
    assert_equal(report.rows.iter().map(|row| row.credits + row.estimated).sum(), counted);
    let metrics = ledger.reports().metrics().await.unwrap();
    for sample in ["credits_total{operation=\"gen-2-pro\"} 21", "jobs{state=\"unknown\""] {
        assert!(metrics.contains(&format!("\nimagekiln_batch_{sample}")), "{sample}: {metrics}");
    }
}

async fn a_watch_sees_what_another_process_changes(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add([job("old", "a fox")]).await.unwrap();
    let mut watch = manage(&fixture, backend).await.jobs().watch().await.unwrap();
    let mut batch = fixture.batch(&ledger).jobs(jobs(3));
    let follow = async {
        let mut states = HashMap::new();
        while states.values().filter(|state| **state == JobState::Saved).count() < 4 {
            for job in watch.changed().await.unwrap() {
                states.insert(job.name, job.state);
            }
        }
        assert_eq!(states.len(), 4);
        let more = time::timeout(Duration::from_secs(60), watch.changed()).await;
        assert!(more.is_err(), "{more:?}");
    };
    let (report, ()) = tokio::join!(batch.run(), follow);
    assert_eq!(report.unwrap().count(JobState::Saved), 4);
}

async fn a_watch_that_is_dropped_loses_no_change(backend: Backend) {
    let (_fixture, ledger) = Fixture::with_ledger(backend).await;
    for polls in 0..6 {
        let mut watch = ledger.jobs().watch().await.unwrap();
        ledger.jobs().add([job(&polls.to_string(), "a fox")]).await.unwrap();
        let seen = {
            let mut changed = pin!(watch.changed());
            let mut left = polls;
            let poll = poll_fn(|context| {
                if left == 0 {
                    return Poll::Ready(None);
                }
                left -= 1;
                changed.as_mut().poll(context).map(Some)
            });
            poll.await
        };
        if seen.is_none() {
            let later = time::timeout(Duration::from_secs(60), watch.changed()).await;
            assert_eq!(later.expect("the change is lost").unwrap().len(), 1, "{polls} polls");
        }
    }
}

async fn a_job_keeps_the_values_of_the_program(backend: Backend) {
    let ledger = Fixture::new(backend).await.ledger().await;
    let metadata = json!({ "order": 17 });
    let fox = job("fox", "a fox").group("anna").metadata(metadata.clone()).priority(-2);
    ledger.jobs().add([fox.clone(), job("wolf", "a wolf")]).await.unwrap();
    // The same job is not added twice.
    ledger.jobs().add([fox]).await.unwrap();
    let of_anna = Filter { group: Some("anna".to_owned()), ..Filter::default() };
    let (status, request) =
        ledger.jobs().page_with_requests(&of_anna, 0, 10).await.unwrap().remove(0);
    assert_eq!((status.metadata, status.priority), (Some(metadata), -2));
    assert_eq!(request, ledger.jobs().request("fox").await.unwrap().unwrap());
    for wrong in [
        job("fox", "a fox").group("ben"),
        job("empty", "a fox").group(""),
        job("long", "a fox").group("x".repeat(201)),
        job("large", "a fox").metadata("x".repeat(16 * 1024).into()),
    ] {
        let error = ledger.jobs().add([wrong]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Job, "{error}");
    }
    assert_eq!(all(&ledger).await.len(), 2);
}
