//! Runs while the service accepts no submissions, on a clock that the tests move. Only this crate
//! can give a ledger another clock.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use imagekiln::{Client, journal::Directory, types::Gen2Pro};
use imagekiln_simulator::{Config, Credits, Organization, Simulator};
use tempfile::TempDir;
use tokio::{
    runtime::Handle,
    time::{Instant, advance, sleep},
};

use super::Batch;
use crate::{Error, ErrorKind, Job, JobState, Ledger, Report, Scope, ledger::Clocks};

const HOUR: Duration = Duration::from_secs(3600);

/// Those in flight when an outage begins: the first eight, and those that started before the third
/// outcome. Then the probes of an hour.
const IN_FLIGHT: usize = 8 + 2;
const PROBES: usize = 15;

struct Fixture {
    simulator: Simulator,
    directory: TempDir,
    ledger: Ledger,
}

impl Fixture {
    async fn new(config: Config) -> Self {
        let simulator = Simulator::start(config).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (started, runtime) = (Instant::now(), Handle::current());
        let elapsed = move || {
            // The database has a runtime of its own, whose clock is not paused.
            let _paused = runtime.enter();
            started.elapsed()
        };
        let lease = Arc::new(elapsed.clone());
        let wall = Arc::new(move || UNIX_EPOCH + Duration::from_secs(1_800_000_000) + elapsed());
        let clocks = Clocks { wall, lease };
        let path = directory.path().join("ledger.db");
        let ledger = Ledger::open_logging(&path, clocks, Box::new(Directory::open)).await.unwrap();
        Self { simulator, directory, ledger }
    }

    fn batch(&self, jobs: usize) -> Batch {
        let client =
            Client::builder().api_key(self.simulator.api_key()).base_url(self.simulator.base_url());
        let job = |number: usize| {
            let request = Gen2Pro::new(format!("fox {number}")).width(64).height(64);
            Job::new(format!("fox-{number}"), format!("{number}.jpg"), request)
        };
        Batch::open(client, self.ledger.clone())
            .unwrap()
            .jobs((0..jobs).map(job))
            .save_to(self.directory.path().join("pictures"))
    }

    /// Makes time pass in jumps: a run looks at its ledger every second.
    async fn pass(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            advance(Duration::from_secs(20)).await;
            sleep(Duration::from_secs(2)).await;
        }
    }

    /// Runs a batch while `during` happens.
    async fn run(&self, mut batch: Batch, during: impl Future) -> Result<Report, Error> {
        tokio::join!(batch.run(), during).0
    }

    /// Returns how many submissions have arrived.
    fn submissions(&self) -> usize {
        let requests = self.simulator.requests();
        requests.iter().filter(|request| request.method == "POST").count()
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_500s_costs_a_handful_and_the_run_goes_on() {
    let fixture = Fixture::new(Config::default()).await;
    let faults = fixture.simulator.faults();
    faults.add("error-before@submission:always").unwrap();
    let hour = async {
        fixture.pass(HOUR).await;
        let outage = fixture.ledger.outage().await.unwrap().unwrap();
        assert_eq!(outage.kind, "outage");
        assert!(outage.reason.contains("500") && outage.pauses > 10, "{outage:?}");
        assert!(outage.lasted > HOUR - Duration::from_secs(60), "{outage:?}");
        faults.clear();
        fixture.submissions()
    };
    let mut lost = 0;
    let report = fixture.run(fixture.batch(60), async { lost = hour.await }).await.unwrap();
    assert!((IN_FLIGHT..=IN_FLIGHT + PROBES).contains(&lost), "{lost}");
    assert_eq!(report.count(JobState::Unknown), lost as u64);
    assert_eq!(report.count(JobState::Saved), 60 - lost as u64);
    assert_eq!(fixture.submissions(), 60);
    assert_eq!(fixture.ledger.outage().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_by_itself_after_three_hours() {
    let fixture = Fixture::new(Config::default()).await;
    fixture.simulator.faults().add("error-before@submission:always").unwrap();
    let started = Instant::now();
    let mut batch = fixture.batch(90);
    let error = tokio::select! {
        ended = batch.run() => ended.unwrap_err(),
        () = fixture.pass(4 * HOUR) => panic!("the run goes on"),
    };
    assert_eq!(error.kind(), ErrorKind::Outage, "{error}");
    assert!(started.elapsed() > 3 * HOUR, "{:?}", started.elapsed());
    let report = fixture.ledger.report().await.unwrap();
    let lost = fixture.submissions();
    assert!(lost <= IN_FLIGHT + 3 * PROBES, "{lost}");
    assert_eq!(report.count(JobState::Queued), 90 - lost as u64);
}

/// An account with credits for this many pictures.
fn with_credits_for(pictures: u64) -> Config {
    let credits = Credits::from_hundredths(pictures * 300);
    let organization = Organization { credits, ..Organization::new("Default") };
    Config { organizations: vec![organization], ..Config::default() }
}

async fn add_credits(fixture: &Fixture) {
    let url = format!("{}/api/organizations/default/credits", fixture.simulator.control_url());
    let body = r#"{"amount": 1000}"#;
    let request = reqwest::Client::new().post(url).header("content-type", "application/json");
    request.body(body).send().await.unwrap().error_for_status().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_without_credits_pauses_until_there_are_some() {
    let fixture = Fixture::new(with_credits_for(5)).await;
    let person = async {
        fixture.pass(HOUR).await;
        let outage = fixture.ledger.outage().await.unwrap().unwrap();
        assert_eq!(outage.kind, "payment", "{outage:?}");
        let report = fixture.ledger.report().await.unwrap();
        // What was paid is there.
        assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (5, 7));
        add_credits(&fixture).await;
        let before = Instant::now();
        fixture.ledger.resume(Scope::Ledger).await.unwrap();
        let is_over = async || fixture.ledger.outage().await.unwrap().is_none();
        while !is_over().await {
            sleep(Duration::from_millis(100)).await;
        }
        assert!(before.elapsed() < Duration::from_secs(5), "a pause that nobody ended");
    };
    let report = fixture.run(fixture.batch(12), person).await.unwrap();
    assert_eq!(report.count(JobState::Saved), 12);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_never_had_credits_ends_at_once_unless_it_waits_for_jobs() {
    let fixture = Fixture::new(with_credits_for(0)).await;
    let error = fixture.run(fixture.batch(12), async {}).await.unwrap_err();
    assert_eq!(error.client_error().unwrap().kind(), imagekiln::ErrorKind::Payment);
    assert_eq!(fixture.ledger.report().await.unwrap().count(JobState::Queued), 12);
    // Nobody asked the service twelve times.
    let asked = fixture.submissions();
    assert!(asked <= IN_FLIGHT, "{asked}");

    let web_app = fixture.batch(12).wait_for_jobs().stop_when(sleep(2 * HOUR));
    let credits = async {
        fixture.pass(HOUR).await;
        add_credits(&fixture).await;
    };
    let report = fixture.run(web_app, credits).await.unwrap();
    assert_eq!(report.count(JobState::Saved), 12);
}
