//! Prices by the size of the picture.

use imagekiln::{
    Request, Submit as _, TaskRef,
    journal::{Intent, Journal as _, JournalError, Step},
    types::Gen2Pro,
};
use imagekiln_batch::{ErrorKind, Job, JobState, Ledger, Price, Resolution, Scope};
use imagekiln_simulator::{Config, Credits, Price as Charge, Prices as Charges};
use imagekiln_testbed::Trial;
use serde_json::{from_value, json};

use crate::support::{Backend, Fixture, MISCOUNTED, all, assert_equal, both};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_budget_allows_the_jobs_whose_sizes_fit),
        both(a_known_cost_replaces_what_was_reserved_for_the_size),
        both(a_lost_submission_is_reserved_by_its_size_until_it_is_resolved),
        both(a_submission_without_a_job_counts_with_its_size),
    ]
}

const TEN: Price = Price { credits: 0.0, per_megapixel: 10.0 };

/// A service that charges this for a megapixel, in hundredths of a credit.
async fn charging(backend: Backend, hundredths: u64) -> Fixture {
    let each = Charge {
        submission: Credits::ZERO,
        output_megapixel: Credits::from_hundredths(hundredths),
        ..Charge::default()
    };
    let prices = Charges { each, ..Charges::default() };
    let config = Config { prices, pixels_per_megapixel: 1_000_000, ..Config::default() };
    Fixture::with(backend, config).await
}

/// A request for a picture of this size in hundredths of a megapixel.
fn of_size(hundredths: i64) -> Request {
    Gen2Pro::new("a fox").width(100 * hundredths).height(100).into_request()
}

fn sized(name: &str, hundredths: i64) -> Job {
    Job::new(name, format!("{name}.jpg"), of_size(hundredths)).group("anna")
}

/// Returns why the ledger refuses an intent.
async fn refused(ledger: &Ledger, intent: &Intent) -> String {
    match ledger.intend(intent).await {
        Err(JournalError::Refused(refusal)) => refusal.to_string(),
        other => panic!("{other:?}"),
    }
}

async fn names(ledger: &Ledger, state: JobState) -> String {
    let jobs = all(ledger).await;
    jobs.into_iter().filter(|job| job.state == state).map(|job| job.name).collect()
}

async fn a_budget_allows_the_jobs_whose_sizes_fit(backend: Backend) {
    let anna = Scope::Group("anna".to_owned());
    for scope in [None, Some(Scope::Ledger), Some(anna)] {
        let fixture = charging(backend, 1000).await;
        let ledger = fixture.ledger().await;
        let sizes = [("a", 50), ("b", 50), ("c", 20), ("d", 20), ("e", 10), ("f", 10)];
        let batch = fixture.batch(&ledger).jobs(sizes.map(|(name, size)| sized(name, size)));
        let mut batch = match scope.clone() {
            None => batch.budget(8.0).price(TEN),
            Some(scope) => {
                ledger.limits().set_price("gen-2-pro", Some(TEN)).await.unwrap();
                ledger.limits().set_budget(scope, Some(8.0)).await.unwrap();
                batch
            }
        };
        batch.run().await.unwrap();
        assert_eq!(names(&ledger, JobState::Saved).await, "ace", "{scope:?}");
        assert_equal(fixture.charged(), 8.0);
        let jobs = all(&ledger).await;
        let reason = jobs[5].reason.as_deref().unwrap_or_default();
        let end = "8.00 of 8.00 credits are spent or reserved, and a submission of 0.1 megapixels \
                   may cost 1.00";
        assert!(reason.ends_with(end), "{scope:?}: {reason}");
        assert_eq!(jobs[0].pixels, 500_000);
        assert_eq!(fixture.count(MISCOUNTED).await, 0);
    }
}

async fn a_known_cost_replaces_what_was_reserved_for_the_size(backend: Backend) {
    let fixture = charging(backend, 100).await;
    let ledger = fixture.ledger().await;
    ledger.limits().set_price("gen-2-pro", Some(TEN)).await.unwrap();
    ledger.limits().set_budget(Scope::Ledger, Some(8.0)).await.unwrap();
    let jobs = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|name| sized(name, 50));
    let mut batch = fixture.batch(&ledger).jobs(jobs).max_active(1);
    batch.run().await.unwrap();
    // Each costs 0.50, but any other one may cost 5.00: the price stays.
    assert_eq!(names(&ledger, JobState::Saved).await, "abcdefg");
    let limits = ledger.limits().list().await.unwrap();
    assert_eq!((limits[0].credits, limits[0].without_cost), (3.5, 0));
    // A smaller one fits.
    let small = sized("small", 10);
    assert!(ledger.limits().refusal(&of_size(10), None).await.unwrap().is_none());
    batch = batch.jobs([small]);
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 8);
    assert_eq!(fixture.count(MISCOUNTED).await, 0);
}

async fn a_lost_submission_is_reserved_by_its_size_until_it_is_resolved(backend: Backend) {
    let fixture = charging(backend, 1000).await;
    let ledger = fixture.ledger().await;
    ledger.limits().set_price("gen-2-pro", Some(TEN)).await.unwrap();
    ledger.limits().set_budget(Scope::Ledger, Some(8.0)).await.unwrap();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let jobs = [("a", 50), ("b", 50), ("c", 30)].map(|(name, size)| sized(name, size));
    let mut batch = fixture.batch(&ledger).jobs(jobs).max_active(1);
    batch.run().await.unwrap();
    assert_eq!(names(&ledger, JobState::Unknown).await, "a");
    assert_eq!(names(&ledger, JobState::Saved).await, "c");
    let report = ledger.reports().jobs().await.unwrap();
    let estimated = |state| {
        let row = report.rows.iter().find(|row| row.state == state).unwrap();
        (row.without_cost, row.estimated)
    };
    assert_eq!((estimated(JobState::Unknown), estimated(JobState::Saved)), ((1, 5.0), (0, 0.0)));
    let spending = ledger.reports().spending().await.unwrap();
    assert_eq!((spending[0].credits, spending[0].estimated), (3.0, 5.0));
    let metrics = ledger.reports().metrics().await.unwrap();
    let line = r#"imagekiln_batch_estimated_credits{operation="gen-2-pro"} 5"#;
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
    let lost = ledger.jobs().get("a").await.unwrap().unwrap();
    assert_equal(
        ledger.limits().prices().await.unwrap().of("gen-2-pro").unwrap().of_all(1, lost.pixels),
        5.0,
    );

    let refusal = ledger.limits().refusal(&of_size(50), None).await.unwrap().unwrap();
    assert!(refusal.to_string().contains("8.00 of 8.00 credits"), "{refusal}");
    drop(batch);
    let ledger = fixture.reopen(ledger).await;
    ledger.jobs().resolve("a", Resolution::NotPaid).await.unwrap();
    assert!(ledger.limits().refusal(&of_size(50), None).await.unwrap().is_none());
    assert_eq!(fixture.count(MISCOUNTED).await, 0);
}

async fn a_submission_without_a_job_counts_with_its_size(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let price: Price = "1+2/MP".parse().unwrap();
    ledger.limits().set_price("gen-2-pro", Some(price)).await.unwrap();
    ledger.limits().set_budget(Scope::Ledger, Some(11.0)).await.unwrap();
    let intent = |id: &str| -> Intent {
        from_value(json!({ "id": id, "operation": "gen-2-pro", "at": 1_795_673_076 })).unwrap()
    };
    let of_sides = |id: &str, width: u64, height: u64| -> Intent {
        let mut intent = serde_json::to_value(intent(id)).unwrap();
        (intent["width"], intent["height"]) = (width.into(), height.into());
        from_value(intent).unwrap()
    };
    ledger.intend(&intent("a")).await.unwrap();
    assert_eq!(ledger.reports().spending().await.unwrap()[0].estimated, 9.0);
    let refusal = refused(&ledger, &intent("b")).await;
    let numbers = "9.00 of 11.00 credits are spent or reserved, and a submission of 4 megapixels \
                   may cost 9.00";
    assert!(refusal.contains(numbers), "{refusal}");
    let refusal = refused(&ledger, &of_sides("b", 1000, 510)).await;
    assert!(refusal.contains("a submission of 0.51 megapixels may cost 2.02"), "{refusal}");
    ledger.intend(&of_sides("half", 1000, 500)).await.unwrap();
    assert_eq!(ledger.reports().spending().await.unwrap()[0].estimated, 11.0);
    ledger.advance("half", &Step::NotBilled).await.unwrap();
    // A job has its own size, too.
    assert!(ledger.limits().refusal(&of_size(50), None).await.unwrap().is_none());
    let refusal = ledger.limits().refusal(&of_size(51), None).await.unwrap().unwrap();
    assert_eq!(refusal.kind(), ErrorKind::Budget);

    ledger.advance("a", &Step::NotBilled).await.unwrap();
    ledger.intend(&intent("b")).await.unwrap();
    let task = json!({ "id": "b", "polling_url": "http://localhost/poll", "cost": 2.5 });
    let task: TaskRef = from_value(task).unwrap();
    ledger.advance("b", &Step::Accepted(task)).await.unwrap();
    let refusal = refused(&ledger, &intent("c")).await;
    assert!(refusal.contains("2.50 of 11.00 credits"), "{refusal}");
    assert_eq!(fixture.count(MISCOUNTED).await, 0);
}
