//! A process that is killed at random moments, and resumed.

use std::{
    collections::HashMap,
    env,
    process::{Child, Command, Stdio},
    time::Duration,
};

use imagekiln::Client;
use imagekiln_batch::{Batch, Job, Resolution, State};
use imagekiln_simulator::Config;
use imagekiln_testbed::{Runtime, Trial, test};

use crate::support::{Backend, Fixture, PRICE, assert_equal, is_picture, job, open};

const LEDGER: &str = "IMAGEKILN_TEST_LEDGER";
const DIRECTORY: &str = "IMAGEKILN_TEST_DIRECTORY";
const SERVICE: &str = "IMAGEKILN_TEST_SERVICE";
const KEY: &str = "IMAGEKILN_TEST_KEY";
const JOBS: usize = 40;
const KILLS: u64 = 5;
/// The shortest lease, because the tests wait until it expires.
const LEASE: Duration = Duration::from_secs(1);

fn jobs() -> impl Iterator<Item = Job> {
    (0..JOBS).map(|number| job(&format!("{number}"), &format!("fox {number}")))
}

/// Whether this process is a child of the test.
pub fn is_child() -> bool {
    env::var_os(LEDGER).is_some()
}

/// The child: runs the batch to its end.
pub fn run_child() {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client =
            Client::builder().api_key(env::var(KEY).unwrap()).base_url(env::var(SERVICE).unwrap());
        let ledger = open(&env::var(LEDGER).unwrap()).await;
        let batch = Batch::open(client, ledger).unwrap().jobs(jobs()).max_active(6).lease(LEASE);
        batch.save_to(env::var(DIRECTORY).unwrap()).run().await.unwrap();
    });
}

fn start(fixture: &Fixture) -> Child {
    Command::new(env::current_exe().unwrap())
        .env(LEDGER, fixture.ledger_name())
        .env(DIRECTORY, fixture.output())
        .env(SERVICE, fixture.simulator.base_url())
        .env(KEY, fixture.simulator.api_key())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the child exits, without blocking the simulator.
async fn finish(mut child: Child) {
    let status = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    assert!(status.success());
}

/// The ids of the billed tasks by the name of their job.
fn billed(fixture: &Fixture) -> HashMap<String, String> {
    let mut billed = HashMap::new();
    for task in fixture.simulator.tasks() {
        let name = task.request["prompt"].as_str().unwrap().split(' ').nth(1).unwrap().to_owned();
        assert_eq!(billed.insert(name, task.id), None, "submitted twice");
    }
    billed
}

pub fn tests() -> Vec<Trial> {
    let trial = |backend: Backend| {
        let name = format!("killed::a_killed_process_loses_no_billed_task::{backend}");
        test(name, backend.requirements(), Runtime::MultiThread, async move || {
            a_killed_process_loses_no_billed_task(backend).await;
        })
    };
    Backend::ALL.map(trial).into()
}

async fn a_killed_process_loses_no_billed_task(backend: Backend) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let rules = ["reply-lost:0.1", "error-after:0.05", "html-502@poll:0.2", "truncated:0.2"];
    let config = Config {
        ready_after: Duration::from_millis(50),
        faults: rules.map(str::to_owned).into(),
        seed: Some(seed),
        ..Config::default()
    };
    let fixture = Fixture::with(backend, config).await;
    for kill in 1..=KILLS {
        let mut child = start(&fixture);
        // Each process submits a few jobs before it is killed.
        let accepted = kill * JOBS as u64 / (KILLS + 1);
        while fixture.accepted() < accepted && child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_micros(random.u64(..60_000))).await;
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "process {kill} failed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    finish(start(&fixture)).await;
    let unknown = resolve(&fixture).await;
    fixture.simulator.faults().clear();
    finish(start(&fixture)).await;
    compare(&fixture, unknown).await;
}

/// Resolves the unknown jobs with the simulator's tasks, and returns the number of billed ones.
async fn resolve(fixture: &Fixture) -> u64 {
    let ledger = fixture.ledger().await;
    let billed = billed(fixture);
    let mut lost = 0;
    for job in ledger.jobs().await.unwrap() {
        if job.state == State::Unknown {
            let is_paid = billed.contains_key(&job.name);
            let resolution = if is_paid { Resolution::Paid } else { Resolution::NotPaid };
            ledger.resolve(&job.name, resolution).await.unwrap();
            lost += u64::from(is_paid);
        }
    }
    lost
}

async fn compare(fixture: &Fixture, lost: u64) {
    let ledger = fixture.ledger().await;
    let report = ledger.report().await.unwrap();
    println!("{report}");
    assert_eq!(fixture.accepted(), JOBS as u64);
    assert_eq!(report.count(State::Saved), JOBS as u64 - lost);
    assert_eq!(report.count(State::Failed), lost);
    assert_equal(report.credits() + PRICE * lost as f64, fixture.charged());
    let billed = billed(fixture);
    for job in ledger.jobs().await.unwrap() {
        if job.state == State::Saved {
            assert_eq!(job.task_id.as_ref(), billed.get(&job.name));
            assert!(is_picture(job.location.unwrap()));
        }
    }
    let saved = report.count(State::Saved);
    assert_eq!(fixture.files(), [saved, saved, 0], "pictures, descriptions, others");
}
