//! Jobs per second, memory and the time to resume, against a simulator in another process.
//!
//!     cargo bench --package imagekiln-batch --bench fleet

use std::{
    env, fs,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use imagekiln::{Client, ClientBuilder, types::Gen2Pro};
use imagekiln_batch::{Batch, Job, Ledger};
use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::{
    bench::{figure, is_bench},
    postgres::cluster,
};
use tokio::{runtime::Runtime, task::JoinSet, time::Instant};

const ACTIVE: usize = 24;

/// The jobs whose tasks are ready at once, and those whose tasks stay active.
const JOBS: usize = 2_000;
const MANY: usize = 10_000;

/// The number of jobs of each kind when the program only has to work.
const FEW: usize = 20;

const LEDGER: &str = "IMAGEKILN_BENCH_LEDGER";
const OUTPUT: &str = "IMAGEKILN_BENCH_OUTPUT";
const MAX_ACTIVE: &str = "IMAGEKILN_BENCH_ACTIVE";
const COUNT: &str = "IMAGEKILN_BENCH_JOBS";

fn jobs() -> usize {
    if is_bench() { JOBS } else { FEW }
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
    let batch = Batch::open(client, open(ledger).await).unwrap();
    batch.max_active(active).save_to(output).resume().await.unwrap();
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
    if name.starts_with("postgres:") {
        Ledger::connect(name).await.unwrap()
    } else {
        Ledger::open(name).await.unwrap()
    }
}

async fn add_jobs(ledger: &str, count: usize) {
    let job = |number| Job::new(format!("{number}"), format!("{number}.jpg"), request(number));
    open(ledger).await.add((0..count).map(job)).await.unwrap();
}

/// A simulator, and processes that run batches.
struct Bench {
    simulator: Simulator,
    directory: tempfile::TempDir,
}

impl Bench {
    async fn new(ready_after: Duration) -> Self {
        let config = Config { ready_after, max_active_tasks: many(), ..Config::default() };
        let simulator = Simulator::start(config).await.unwrap();
        Self { simulator, directory: tempfile::tempdir().unwrap() }
    }

    fn sqlite(&self) -> String {
        self.directory.path().join("ledger.db").to_str().unwrap().to_owned()
    }

    fn start(&self, ledger: &str, active: usize) -> Child {
        Command::new(env::current_exe().unwrap())
            .env(LEDGER, ledger)
            .env(OUTPUT, self.directory.path().join("pictures"))
            .env(MAX_ACTIVE, active.to_string())
            .env(COUNT, jobs().to_string())
            .env("IMAGEKILN_API_KEY", self.simulator.api_key())
            .env("IMAGEKILN_BASE_URL", self.simulator.base_url())
            .spawn()
            .unwrap()
    }

    /// Runs so many workers to their end, and returns the jobs per second.
    async fn jobs_per_second(&self, ledger: &str, workers: usize) -> f64 {
        let started = Instant::now();
        let children: Vec<Child> = (0..workers).map(|_| self.start(ledger, ACTIVE)).collect();
        for mut child in children {
            let ended = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
            assert!(ended.success());
        }
        jobs() as f64 / started.elapsed().as_secs_f64()
    }

    async fn wait_for(&self, reached: impl Fn(&Simulator) -> bool) {
        while !reached(&self.simulator) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn measure() {
    let baseline = Bench::new(Duration::ZERO).await.jobs_per_second("", 1).await;
    figure("batch.client.rate", "jobs/s", vec![baseline]);
    for (name, workers) in [("sqlite_1", 1), ("postgres_1", 1), ("postgres_3", 3)] {
        let bench = Bench::new(Duration::ZERO).await;
        let ledger =
            if name.starts_with("sqlite") { bench.sqlite() } else { cluster().create_database() };
        add_jobs(&ledger, jobs()).await;
        let speed = bench.jobs_per_second(&ledger, workers).await;
        figure(&format!("batch.{name}.rate"), "jobs/s", vec![speed]);
        figure(&format!("batch.{name}.against_client"), "ratio", vec![speed / baseline]);
    }
    many_active_jobs().await;
}

/// Measures 10,000 jobs whose tasks are not ready, and resuming them.
async fn many_active_jobs() {
    let many = many();
    let bench = Bench::new(Duration::from_secs(3600)).await;
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
