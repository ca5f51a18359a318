//! How long runs wait while the service accepts no submissions, on a clock that the tests move.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use imagekiln::{
    Client, ClientBuilder,
    journal::Directory,
    types::{Gen2Flex, Gen2Pro},
};
use imagekiln_batch::{
    Batch, Error, ErrorKind, Job, JobState, Ledger, Outage, Report, Scope,
    fuzzing::{Clocks, open_ledger},
};
use imagekiln_simulator::{Config, Credits, Organization, Project, ProjectKey, Simulator};
use imagekiln_testbed::{Runtime, Trial, name_of, test};
use tempfile::TempDir;
use tokio::{
    runtime::Handle,
    time::{Instant, advance, sleep},
};

use crate::support::all;

pub fn tests() -> Vec<Vec<Trial>> {
    vec![vec![
        paused(an_hour_of_500s_costs_a_handful_and_the_run_goes_on),
        paused(a_run_ends_by_itself_after_three_hours),
        paused(a_run_without_credits_pauses_until_there_are_some),
        paused(a_run_that_never_had_credits_ends_at_once_unless_it_waits_for_jobs),
        paused(a_run_whose_budget_allows_no_submission_does_not_wait_for_the_service),
        paused(a_refusal_of_one_model_does_not_hold_back_the_others),
    ]]
}

/// Creates a test on a paused clock.
fn paused<F>(run: impl Fn() -> F + Copy + Send + 'static) -> Trial
where
    F: Future<Output = ()>,
{
    test(name_of(&run), &[], Runtime::Paused, async move || run().await)
}

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
        let ledger = open_ledger(&path, clocks, Directory::open).await.unwrap();
        Self { simulator, directory, ledger }
    }

    fn client(&self) -> ClientBuilder {
        Client::builder().api_key(self.simulator.api_key()).base_url(self.simulator.base_url())
    }

    fn batch(&self, jobs: usize) -> Batch {
        let job = |number: usize| {
            let request = Gen2Pro::new(format!("fox {number}")).width(64).height(64);
            Job::new(format!("fox-{number}"), format!("{number}.jpg"), request)
        };
        Batch::open(self.client(), self.ledger.clone())
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

    async fn outage(&self) -> Option<Outage> {
        self.ledger.limits().outages().await.unwrap().pop()
    }

    /// Returns how many submissions have arrived.
    fn submissions(&self) -> usize {
        let requests = self.simulator.requests();
        requests.iter().filter(|request| request.method == "POST").count()
    }
}

async fn an_hour_of_500s_costs_a_handful_and_the_run_goes_on() {
    let fixture = Fixture::new(Config::default()).await;
    let faults = fixture.simulator.faults();
    faults.add("error-before@submission:always").unwrap();
    let hour = async {
        fixture.pass(HOUR).await;
        let outage = fixture.outage().await.unwrap();
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
    assert_eq!(fixture.outage().await, None);
}

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
    let report = fixture.ledger.reports().jobs().await.unwrap();
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

async fn a_run_without_credits_pauses_until_there_are_some() {
    let fixture = Fixture::new(with_credits_for(5)).await;
    let person = async {
        fixture.pass(HOUR).await;
        let outage = fixture.outage().await.unwrap();
        assert_eq!(outage.kind, "payment", "{outage:?}");
        let report = fixture.ledger.reports().jobs().await.unwrap();
        // What was paid is there.
        assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (5, 7));
        add_credits(&fixture).await;
        let before = Instant::now();
        fixture.ledger.limits().unpause(Scope::Ledger).await.unwrap();
        let is_over = async || fixture.outage().await.is_none();
        while !is_over().await {
            sleep(Duration::from_millis(100)).await;
        }
        assert!(before.elapsed() < Duration::from_secs(5), "a pause that nobody ended");
    };
    let report = fixture.run(fixture.batch(12), person).await.unwrap();
    assert_eq!(report.count(JobState::Saved), 12);
}

async fn a_run_that_never_had_credits_ends_at_once_unless_it_waits_for_jobs() {
    let fixture = Fixture::new(with_credits_for(0)).await;
    let error = fixture.run(fixture.batch(12), async {}).await.unwrap_err();
    assert_eq!(error.client_error().unwrap().kind(), imagekiln::ErrorKind::Payment);
    assert_eq!(fixture.ledger.reports().jobs().await.unwrap().count(JobState::Queued), 12);
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

/// Nobody sends the probe that would end the outage.
async fn a_run_whose_budget_allows_no_submission_does_not_wait_for_the_service() {
    let fixture = Fixture::new(with_credits_for(0)).await;
    fixture.run(fixture.batch(4), async {}).await.unwrap_err();
    assert_eq!(fixture.outage().await.unwrap().kind, "payment");
    let mut poor = fixture.batch(4).budget(2.0).price(3.0);
    let report = tokio::select! {
        ended = poor.run() => ended.unwrap(),
        () = fixture.pass(HOUR) => panic!("the run goes on"),
    };
    assert_eq!(report.count(JobState::Queued), 4);
}

/// The project of the key has no access to one of two models.
async fn a_refusal_of_one_model_does_not_hold_back_the_others() {
    let key = ProjectKey { name: "ci".to_owned(), key: "web-key".into() };
    let project = Project {
        name: "Web".to_owned(),
        keys: vec![key],
        endpoints: Some(vec!["gen-2-pro".to_owned()]),
        ..Project::default()
    };
    let organization = Organization { projects: vec![project], ..Organization::new("Acme") };
    let config = Config { organizations: vec![organization], ..Config::default() };
    let fixture = Fixture::new(config).await;
    let job = |number: usize| {
        let (name, file) = (format!("fox-{number}"), format!("{number}.jpg"));
        if number.is_multiple_of(2) {
            return Job::new(name, file, Gen2Flex::new("a fox").width(64).height(64));
        }
        Job::new(name, file, Gen2Pro::new("a fox").width(64).height(64))
    };
    let mut batch = Batch::open(fixture.client().api_key("web-key"), fixture.ledger.clone())
        .unwrap()
        .jobs((0..20).map(job))
        .save_to(fixture.directory.path().join("pictures"));
    let error = batch.run().await.unwrap_err();
    assert_eq!(error.client_error().unwrap().kind(), imagekiln::ErrorKind::Auth);
    let outage = fixture.outage().await.unwrap();
    assert_eq!(outage.scope, Scope::Operation("gen-2-flex".to_owned()));
    for job in all(&fixture.ledger).await {
        let is_flex = job.operation == "gen-2-flex";
        assert_eq!(job.state, if is_flex { JobState::Queued } else { JobState::Saved }, "{job:?}");
        let reason = job.reason.unwrap_or_default();
        assert_eq!(reason.starts_with("submissions to gen-2-flex pause"), is_flex, "{reason}");
    }
    let refused = fixture.submissions() - 10;
    assert!(refused <= IN_FLIGHT, "{refused}");
}
