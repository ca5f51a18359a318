//! Jobs per second, memory and the time to resume, against a simulator in another process.
//!
//!     cargo bench --package imagekiln-batch --bench fleet [rates|old|waiting|many|adding]

mod measures;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Duration,
};

use imagekiln::{Client, ClientBuilder, types::Gen2Pro};
use imagekiln_batch::{Batch, Job, JobState, Ledger, Scope};
use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::{
    bench::{figure, is_bench},
    postgres::cluster,
};
use rusqlite::Connection;
use tokio::{runtime::Runtime, task::JoinSet, time::Instant};

use self::measures::{cpu_time_of_children, flushes_per_second, kilobytes_per_job, linked};

const ACTIVE: usize = 24;

/// The cap of the fleet whose work waits.
const WAITING: usize = 400;

/// The jobs whose tasks are ready at once, and those whose tasks stay active.
const JOBS: usize = 2_000;
const MANY: usize = 10_000;

/// The jobs of a ledger that is old.
const OLD: usize = 100_000;

/// The number of jobs of each kind when the program only has to work.
const FEW: usize = 20;

const LEDGER: &str = "IMAGEKILN_BENCH_LEDGER";
const OUTPUT: &str = "IMAGEKILN_BENCH_OUTPUT";
const MAX_ACTIVE: &str = "IMAGEKILN_BENCH_ACTIVE";
const COUNT: &str = "IMAGEKILN_BENCH_JOBS";
const BUDGET: &str = "IMAGEKILN_BENCH_BUDGET";

fn jobs() -> usize {
    if is_bench() { JOBS } else { FEW }
}

fn rounds() -> usize {
    if is_bench() { 3 } else { 1 }
}

fn old() -> usize {
    if is_bench() { OLD } else { FEW }
}

fn many() -> usize {
    if is_bench() { MANY } else { FEW }
}

fn main() {
    let runtime = Runtime::new().unwrap();
    match env::var(LEDGER) {
        Ok(ledger) => runtime.block_on(run_batch(&ledger)),
        Err(_) => runtime.block_on(measure()),
    }
}

/// The child: runs the jobs of a ledger, or submits without a ledger if the name is empty.
async fn run_batch(ledger: &str) {
    let output = env::var(OUTPUT).unwrap();
    let active = env::var(MAX_ACTIVE).unwrap().parse().unwrap();
    let client = ClientBuilder::from_env().unwrap();
    if ledger.is_empty() {
        return run_client(client.build().unwrap(), Path::new(&output)).await;
    }
    let mut batch = Batch::open(client, open(ledger).await).unwrap().max_active(active);
    if let Ok(budget) = env::var(BUDGET) {
        batch = batch.budget(budget.parse::<f64>().unwrap());
    }
    batch.save_to(output).run().await.unwrap();
}

/// The baseline: the same requests with the client alone.
async fn run_client(client: Client, output: &Path) {
    fs::create_dir_all(output).unwrap();
    let mut active = JoinSet::new();
    let count = env::var(COUNT).unwrap().parse().unwrap();
    for number in 0..count {
        if active.len() == ACTIVE {
            active.join_next().await.unwrap().unwrap();
        }
        let (client, path) = (client.clone(), output.join(format!("{number}.jpg")));
        active.spawn(async move {
            let task = client.submit(request(number)).await.unwrap();
            task.wait().await.unwrap().save(path).await.unwrap();
        });
    }
    active.join_all().await;
}

fn request(number: usize) -> Gen2Pro {
    Gen2Pro::new(format!("fox {number}")).width(64).height(64)
}

async fn open(name: &str) -> Ledger {
    Ledger::open(name).await.unwrap()
}

async fn add_jobs(ledger: &str, count: usize) {
    let job = |number| Job::new(format!("{number}"), format!("{number}.jpg"), request(number));
    open(ledger).await.jobs().add((0..count).map(job)).await.unwrap();
}

/// Adds copies of the first job, which is saved, to a ledger in a file.
fn add_old_jobs(ledger: &str, count: usize) {
    let numbers = format!(
        "WITH RECURSIVE old (number) AS (
            SELECT 1000001 UNION ALL SELECT number + 1 FROM old WHERE number < {})",
        1_000_000 + count
    );
    let copies = [
        "INSERT INTO submissions
            (id, intent_id, operation, pixels, record, state, task_id, cost, sent_at, accepted_at)
         {numbers} SELECT old.number, CAST(old.number AS TEXT), operation, pixels, record, state,
            task_id, cost, sent_at, accepted_at FROM submissions, old WHERE submissions.id = 1",
        "INSERT INTO jobs (id, name, number, target, operation, request, request_sha256, pixels,
            state, submission, location, added_at, ready_at, changed_at)
         {numbers} SELECT old.number, 'old-' || old.number, old.number, 'old-' || old.number,
            operation, request, request_sha256, pixels, state, old.number, location || old.number,
            added_at, ready_at, changed_at FROM jobs, old WHERE jobs.id = 1",
        "UPDATE submissions SET job = id WHERE id > 1000000",
    ]
    .map(|copy| copy.replace("{numbers}", &numbers))
    .join(";\n");
    Connection::open(ledger).unwrap().execute_batch(&copies).unwrap();
}

/// A simulator, and processes that run batches.
struct Bench {
    simulator: Simulator,
    directory: PathBuf,
    /// In credits.
    budget: Option<&'static str>,
    jobs: usize,
}

impl Bench {
    async fn new(root: &Path, ready_after: Duration) -> Self {
        let config = Config { ready_after, max_active_tasks: many(), ..Config::default() };
        let simulator = Simulator::start(config).await.unwrap();
        // Removed at the end, because ext4 creates files slowly while others were just removed.
        let directory = tempfile::tempdir_in(root).unwrap().keep();
        Self { simulator, directory, budget: None, jobs: jobs() }
    }

    fn sqlite(&self) -> String {
        self.directory.join("ledger.db").to_str().unwrap().to_owned()
    }

    fn start(&self, ledger: &str, active: usize) -> Child {
        Command::new(env::current_exe().unwrap())
            .env(LEDGER, ledger)
            .env(OUTPUT, self.directory.join("pictures"))
            .env(MAX_ACTIVE, active.to_string())
            .env(COUNT, self.jobs.to_string())
            .envs(self.budget.map(|budget| (BUDGET, budget)))
            .env("IMAGEKILN_API_KEY", self.simulator.api_key())
            .env("IMAGEKILN_BASE_URL", self.simulator.base_url())
            .spawn()
            .unwrap()
    }

    /// Adds the jobs, and runs so many workers to their end. Returns the jobs per second.
    async fn new_jobs_per_second(&self, ledger: &str, workers: usize) -> f64 {
        add_jobs(ledger, self.jobs).await;
        self.jobs_per_second(ledger, workers, ACTIVE).await
    }

    /// Runs so many workers to their end, and returns the jobs per second.
    async fn jobs_per_second(&self, ledger: &str, workers: usize, active: usize) -> f64 {
        let started = Instant::now();
        let children: Vec<Child> = (0..workers).map(|_| self.start(ledger, active)).collect();
        for mut child in children {
            let ended = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
            assert!(ended.success());
        }
        let rate = self.jobs as f64 / started.elapsed().as_secs_f64();
        if !ledger.is_empty() {
            let report = open(ledger).await.reports().jobs().await.unwrap();
            assert!(report.rows.iter().all(|row| row.state == JobState::Saved), "{report}");
        }
        rate
    }

    async fn wait_for(&self, reached: impl Fn(&Simulator) -> bool) {
        while !reached(&self.simulator) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn measure() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let wanted = |name: &str| env::args().skip(1).all(|part| part == "--bench" || part == name);
    if wanted("rates") {
        rates(root).await;
    }
    if wanted("old") {
        old_ledger(root).await;
    }
    if wanted("waiting") {
        waiting(root).await;
    }
    if wanted("many") {
        many_active_jobs(root).await;
    }
    if wanted("adding") {
        for (name, is_linked) in [("sqlite", false), ("postgres", false), ("linked", true)] {
            adding(root, name, is_linked).await;
        }
    }
}

/// Measures how long single jobs take from `add` to the saved picture, before and while another
/// connection adds 100,000 jobs.
async fn adding(root: &Path, name: &str, is_linked: bool) {
    let bench = Bench::new(root, Duration::ZERO).await;
    let ledger = match name {
        "sqlite" => bench.sqlite(),
        _ if is_linked => linked(&cluster().create_database()),
        _ => cluster().create_database(),
    };
    let workers = if name == "sqlite" { 1 } else { 3 };
    let worker = open(&ledger).await;
    let mut active = JoinSet::new();
    for _ in 0..workers {
        let ledger = if workers == 1 { worker.clone() } else { open(&ledger).await };
        let client = Client::builder().api_key(bench.simulator.api_key());
        let batch = Batch::open(client.base_url(bench.simulator.base_url()), ledger).unwrap();
        let mut batch = batch.save_to(bench.directory.join("pictures")).wait_for_jobs();
        active.spawn(async move { batch.run().await.map(drop) });
    }
    let manager = Ledger::open_to_manage(&ledger).await.unwrap();
    let many = Scope::Group("many".to_owned());
    manager.limits().pause(many).await.unwrap();
    let mut number = 0;
    let mut slowest = async |until: &mut (dyn Future<Output = ()> + Unpin)| {
        let mut slowest = Duration::ZERO;
        loop {
            number += 1;
            let (job, started) = (format!("probe-{number}"), Instant::now());
            worker
                .jobs()
                .add([Job::new(&job, format!("{job}.jpg"), request(number))])
                .await
                .unwrap();
            while worker.jobs().get(&job).await.unwrap().unwrap().state != JobState::Saved {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            slowest = slowest.max(started.elapsed());
            let is_over = tokio::time::timeout(Duration::from_millis(100), &mut *until).await;
            if is_over.is_ok() {
                return slowest.as_secs_f64();
            }
        }
    };
    let before = slowest(&mut Box::pin(tokio::time::sleep(Duration::from_secs(5)))).await;
    let job = |number| Job::new(format!("{number}"), format!("{number}.jpg"), request(number));
    let jobs = (0..old()).map(|number| job(number).group("many"));
    let started = Instant::now();
    let during = slowest(&mut Box::pin(async { manager.jobs().add(jobs).await.unwrap() })).await;
    figure(&format!("batch.adding_{name}.time"), "s", vec![started.elapsed().as_secs_f64()]);
    figure(&format!("batch.adding_{name}.before"), "s", vec![before]);
    figure(&format!("batch.adding_{name}.delay"), "s", vec![during - before]);
    assert!(active.try_join_next().is_none(), "a worker ended");
}

/// Measures new ledgers with tasks that are ready at once, in alternating rounds.
async fn rates(root: &Path) {
    let mut client = Vec::new();
    let scenarios = [("sqlite_1", 1), ("postgres_1", 1), ("postgres_4", 4)];
    let mut rates = scenarios.map(|_| Vec::new());
    let mut times = scenarios.map(|_| Vec::new());
    let mut disk = Vec::new();
    for _ in 0..rounds() {
        let bench = Bench::new(root, Duration::ZERO).await;
        client.push(bench.jobs_per_second("", 1, ACTIVE).await);
        let results = rates.iter_mut().zip(&mut times);
        for ((name, workers), (rates, times)) in scenarios.iter().zip(results) {
            let mut bench = Bench::new(root, Duration::ZERO).await;
            let is_file = name.starts_with("sqlite");
            if !is_file {
                // The start of a process counts less.
                bench.jobs *= 4;
            }
            let ledger = if is_file { bench.sqlite() } else { cluster().create_database() };
            let before = cpu_time_of_children();
            rates.push(bench.new_jobs_per_second(&ledger, *workers).await);
            times.push(cpu_time_of_children() - before);
            if is_file {
                disk.push(kilobytes_per_job(&ledger, bench.jobs));
            }
        }
    }
    let flushes = if is_bench() { 10_000 } else { 1 };
    figure("batch.disk", "flushes/s", vec![flushes_per_second(root, flushes)]);
    let ratios = |rates: &[f64], others: &[f64]| {
        rates.iter().zip(others).map(|(rate, other)| rate / other).collect::<Vec<_>>()
    };
    for ((name, _), rates) in scenarios.iter().zip(&rates) {
        figure(&format!("batch.{name}.rate"), "jobs/s", rates.clone());
        figure(&format!("batch.{name}.against_client"), "ratio", ratios(rates, &client));
    }
    figure("batch.client.rate", "jobs/s", client);
    figure("batch.postgres.4_to_1", "ratio", ratios(&rates[2], &rates[1]));
    figure("batch.file_per_job", "KB", disk);
    figure("batch.postgres.4_to_1.cpu", "ratio", ratios(&times[2], &times[1]));
}

/// Measures a ledger with 100,000 old jobs, with and without a budget, against an empty one.
async fn old_ledger(root: &Path) {
    let mut ratios = [("old", None, Vec::new()), ("old_budget", Some("1000000000"), Vec::new())];
    let (mut reports, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..rounds() {
        let bench = Bench::new(root, Duration::ZERO).await;
        let empty = bench.new_jobs_per_second(&bench.sqlite(), 1).await;
        for (_, budget, ratios) in &mut ratios {
            let bench = Bench { budget: *budget, ..Bench::new(root, Duration::ZERO).await };
            let ledger = bench.sqlite();
            add_jobs(&ledger, 1).await;
            bench.jobs_per_second(&ledger, 1, ACTIVE).await;
            add_old_jobs(&ledger, old());
            let opened = open(&ledger).await;
            let started = Instant::now();
            let saved = opened.reports().jobs().await.unwrap().count(JobState::Saved);
            reports.push(started.elapsed().as_secs_f64());
            assert_eq!(saved, old() as u64 + 1);
            drop(opened);
            nothing.push(jobs() as f64 / bench.jobs_per_second(&ledger, 1, ACTIVE).await);
            ratios.push(bench.new_jobs_per_second(&ledger, 1).await / empty);
        }
    }
    for (name, _, ratios) in ratios {
        figure(&format!("batch.{name}.against_empty"), "ratio", ratios);
    }
    figure("batch.old.report", "s", reports);
    figure("batch.old.nothing", "s", nothing);
}

/// Measures processes that wait for a slow link to the database and for tasks of a second.
async fn waiting(root: &Path) {
    let mut rates = Vec::new();
    for workers in [1, 4] {
        let mut bench = Bench::new(root, Duration::from_secs(1)).await;
        // The start and the end of a run take a second each.
        bench.jobs *= 4;
        let database = cluster().create_database();
        add_jobs(&database, bench.jobs).await;
        let rate = bench.jobs_per_second(&linked(&database), workers, WAITING).await;
        figure(&format!("batch.waiting_{workers}.rate"), "jobs/s", vec![rate]);
        rates.push(rate);
    }
    figure("batch.waiting.4_to_1", "ratio", vec![rates[1] / rates[0]]);
}

/// Measures 10,000 jobs whose tasks are not ready, and resuming them.
async fn many_active_jobs(root: &Path) {
    let many = many();
    let bench = Bench::new(root, Duration::from_secs(3600)).await;
    let ledger = bench.sqlite();
    add_jobs(&ledger, many).await;
    let mut child = bench.start(&ledger, many);
    bench.wait_for(|simulator| simulator.counts().accepted >= many as u64).await;
    let polls = bench.simulator.counts().polls;
    bench.wait_for(|simulator| simulator.counts().polls >= polls + many as u64).await;
    figure("batch.resident", "MiB", vec![resident(&child)]);
    child.kill().unwrap();
    child.wait().unwrap();
    let polls = bench.simulator.counts().polls;
    let started = Instant::now();
    let mut child = bench.start(&ledger, many);
    bench.wait_for(|simulator| simulator.counts().polls >= polls + many as u64).await;
    let seconds = started.elapsed().as_secs_f64();
    figure("batch.resume", "s", vec![seconds]);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns the resident memory of a process in MiB.
fn resident(child: &Child) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024.0
}
