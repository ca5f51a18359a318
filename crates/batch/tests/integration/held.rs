//! Jobs that a limit holds back: their reasons, and their order.

use imagekiln_batch::{Filter, Job, JobState, JobStatus, Scope};
use imagekiln_testbed::{Runtime, Trial};

use crate::support::{Backend, Fixture, PRICE, both, each, job, jobs};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(every_queued_job_that_a_limit_holds_back_has_its_reason),
        each(Runtime::MultiThread, jobs_are_submitted_in_their_order),
    ]
}

/// The first five jobs are those of a group.
fn grouped(number: usize) -> Job {
    let job = job(&number.to_string(), "a fox");
    if number < 5 { job.group("anna") } else { job }
}

async fn every_queued_job_that_a_limit_holds_back_has_its_reason(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add((0..8).map(grouped)).await.unwrap();
    let has_reason = async |reason: &str, count: usize| {
        let is_held = |job: &JobStatus| job.reason.as_deref().is_some_and(|it| it.contains(reason));
        let all = Filter::default();
        let listed = ledger.jobs().list(&all).await.unwrap();
        let requested = ledger.jobs().page_with_requests(&all, 0, usize::MAX).await.unwrap();
        let requested: Vec<_> = requested.into_iter().map(|(job, _)| job).collect();
        for jobs in [&listed, &requested] {
            let held = jobs.iter().filter(|job| is_held(job)).count();
            assert_eq!(held, count, "{reason} {jobs:?}");
        }
        let first = ledger.jobs().get("0").await.unwrap().unwrap();
        assert!(is_held(&first), "{reason} {first:?}");
        // Nothing holds back the others.
        assert_eq!(listed.iter().filter(|job| job.reason.is_none()).count(), 8 - count);
    };
    let anna = Scope::Group("anna".to_owned());
    ledger.limits().pause(anna.clone()).await.unwrap();
    has_reason("the group `anna` is paused", 5).await;
    ledger.limits().unpause(anna).await.unwrap();
    ledger.limits().set_budget(Scope::Ledger, Some(0.0)).await.unwrap();
    has_reason("the budget of the ledger is used up", 8).await;
    ledger.limits().set_budget(Scope::Ledger, None).await.unwrap();
    ledger.limits().set_max_active(Scope::Ledger, Some(0)).await.unwrap();
    has_reason("the ledger may have 0 active tasks", 8).await;
    ledger.limits().set_max_active(Scope::Ledger, None).await.unwrap();
    let outage = "INSERT INTO imagekiln.outages (operation, since, until, pauses, kind, reason)
        VALUES ('gen-2-pro', 0, 9000000000000, 1, 'auth', 'no access')";
    fixture.execute(outage).await;
    has_reason("submissions to gen-2-pro", 8).await;
}

/// Also those that start at the same moment.
async fn jobs_are_submitted_in_their_order(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().set_price("gen-2-pro", Some(PRICE.into())).await.unwrap();
    for (cap, pictures) in [(Some(1), 6_u32), (None, 30), (Some(3), 60)] {
        ledger.limits().set_max_active(Scope::Ledger, cap).await.unwrap();
        let other = fixture.another(&ledger).await;
        let mut batch = fixture.batch(&other).jobs(jobs(60)).budget(f64::from(pictures) * PRICE);
        batch.run().await.unwrap();
        let report = ledger.reports().jobs().await.unwrap();
        assert_eq!(report.count(JobState::Saved), u64::from(pictures));
        let overtaken = "SELECT COUNT(*) FROM imagekiln.submissions one
            JOIN imagekiln.submissions other ON one.id < other.id AND one.job > other.job";
        assert_eq!(fixture.count(overtaken).await, 0);
        let last = fixture.count("SELECT MAX(job) FROM imagekiln.submissions").await;
        assert_eq!(last, i64::from(pictures));
    }
}
