//! Kills and suspends the processes of a program whose engine delivers jobs to
//! `Dispatcher::advance`, and those of the engine. Then compares the ledger with what the simulator
//! charged: every paid picture is saved, and none is paid for twice.
//!
//!     cargo run --package imagekiln-engines -- graphile|nats PROGRAM
//!
//! `.ci/engines` builds the examples and runs both. Needs PostgreSQL, and for `nats` nats-server.

mod end;
mod fleet;
mod nodes;
mod process;

use std::{
    collections::{HashMap, HashSet},
    env,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use imagekiln::{Client, types::Gen2Pro};
use imagekiln_batch::{Batch, Filter, Job, JobState, JobStatus, Ledger, Scope};
use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::postgres::Cluster;
use tempfile::TempDir;
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};

use self::{fleet::Fleet, nodes::Nodes, process::Process};

const JOBS: u64 = 500;

/// The number of workers that are killed.
const KILLS: u64 = 12;

/// The cap of the ledger on active tasks, which is the limit of the service, too. The workers
/// continue up to 64 jobs at the same time, so many names have to be delivered again.
const ACTIVE: usize = 24;

/// The longest time until the service has accepted, or the ledger shows, what the proof waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The leases of the workers, and of the names that the queue has delivered to them, in seconds.
const LEASE: u64 = 4;

/// How long a process or a server is suspended: others take over what it had.
const SUSPENSION: Duration = Duration::from_secs(LEASE + 3);

/// The number of jobs that are saved while the queue cannot record it.
const UNRECORDED: usize = 3;

/// What happens besides the kills of workers, each before the kill with its number.
const FAULTS: &[(u64, &str, Fault)] = &[
    (1, "nats", Fault::LeaderKilled),
    (2, "", Fault::WorkerSuspended),
    (4, "nats", Fault::MajorityKilled),
    (4, "graphile", Fault::DatabaseKilled),
    (7, "nats", Fault::LeaderSuspended),
];

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// A server of the engine is killed: the leader of the queue.
    LeaderKilled,
    /// Two of three servers are killed, after they were suspended until some jobs were saved.
    MajorityKilled,
    /// The leader does not respond for a while.
    LeaderSuspended,
    /// The server with ledger and queue is killed, and most workers, after the queue was locked
    /// until some jobs were saved.
    DatabaseKilled,
    /// A worker does not respond until others have its jobs.
    WorkerSuspended,
}

struct Proof {
    engine: String,
    directory: TempDir,
    cluster: Cluster,
    url: String,
    simulator: Simulator,
    ledger: Ledger,
    batch: Batch,
    nodes: Option<Nodes>,
    suspended_node: Option<(usize, Instant)>,
    fleet: Fleet,
    /// Jobs that were saved while the queue could not record it, with the number of times that
    /// workers had printed their end when the queue was killed, or were about to.
    unrecorded: HashMap<String, u64>,
    started_at: Instant,
}

impl Proof {
    async fn start(engine: String, program: PathBuf) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let cluster = block_in_place(Cluster::start);
        let url = cluster.create_database();
        let config = Config {
            ready_after: Duration::from_millis(300),
            max_active_tasks: ACTIVE,
            faults: vec!["slow-headers@submission=0.2:0.5".into()],
            ..Config::default()
        };
        let simulator = Simulator::start(config).await?;
        let ledger = Ledger::open(&url).await?;
        ledger.jobs().add((0..JOBS).map(job)).await?;
        ledger.limits().set_max_active(Scope::Ledger, Some(ACTIVE as u64)).await?;
        let client = Client::builder().api_key(simulator.api_key()).base_url(simulator.base_url());
        let batch = Batch::open(client, ledger.clone())?;
        let mut variables = vec![
            ("DATABASE_URL", url.clone()),
            ("LEASE_SECONDS", LEASE.to_string()),
            ("IMAGEKILN_API_KEY", simulator.api_key().to_owned()),
            ("IMAGEKILN_BASE_URL", simulator.base_url().to_owned()),
        ];
        let mut nodes = None;
        if engine == "nats" {
            variables
                .push(("NATS_URL", nodes.insert(Nodes::start(directory.path()).await?).urls()));
        }
        let started_at = Instant::now();
        let mut fleet = Fleet::start(program, directory.path().to_owned(), variables)?;
        if let Some(nodes) = &nodes {
            nodes.leader().await?;
        }
        fleet.start_workers()?;
        let (unrecorded, suspended_node) = (HashMap::new(), None);
        Ok(Self {
            engine,
            directory,
            cluster,
            url,
            simulator,
            ledger,
            batch,
            nodes,
            suspended_node,
            fleet,
            unrecorded,
            started_at,
        })
    }

    async fn run(&mut self) -> Result<()> {
        for kill in 0..KILLS {
            // The last kill is long before the end.
            let accepted = (kill + 1) * (JOBS * 4 / 5) / (KILLS + 1);
            self.wait_for("accepted jobs", |proof| proof.simulator.counts().accepted >= accepted)
                .await?;
            for (number, engine, fault) in FAULTS {
                if *number == kill && (engine.is_empty() || *engine == self.engine) {
                    self.cause(*fault).await.with_context(|| format!("{fault:?}"))?;
                }
            }
            while !self.fleet.kill()? {
                self.supervise()?;
                sleep(Duration::from_millis(10)).await;
            }
        }
        self.wait_for("resumed processes", |proof| {
            !proof.fleet.is_suspended() && proof.suspended_node.is_none()
        })
        .await
    }

    async fn cause(&mut self, fault: Fault) -> Result<()> {
        let nodes = self.nodes.as_mut().context("the engine has no servers");
        match fault {
            Fault::LeaderKilled => nodes?.kill_leader().await,
            Fault::LeaderSuspended => {
                self.suspended_node =
                    Some((nodes?.suspend_leader().await?, Instant::now() + SUSPENSION));
                Ok(())
            }
            Fault::MajorityKilled => {
                let suspended = nodes?.suspend_majority().await?;
                self.note_unrecorded().await?;
                self.nodes.as_mut().context("none")?.kill(&suspended)
            }
            Fault::WorkerSuspended => self.fleet.suspend(SUSPENSION),
            Fault::DatabaseKilled => {
                let _lock = self.lock_queue()?;
                self.note_unrecorded().await?;
                // A worker that survives may record the ends later.
                self.fleet.kill_all()?;
                block_in_place(|| self.cluster.crash());
                Ok(())
            }
        }
    }

    /// Makes the queue wait, and returns the process that holds the lock.
    fn lock_queue(&self) -> Result<Process> {
        let lock = "LOCK TABLE graphile_worker._private_jobs IN SHARE MODE";
        let mut psql = Command::new("psql");
        psql.args(["--quiet", &self.url, "-c", "BEGIN", "-c", lock, "-c", "\\echo locked"]);
        psql.args(["-c", "SELECT pg_sleep(600)"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::start(&mut psql)?;
        block_in_place(|| process.wait_for_line())?;
        Ok(process)
    }

    /// Waits until some jobs are saved, although the queue cannot record it.
    async fn note_unrecorded(&mut self) -> Result<()> {
        let names = async |proof: &Self| -> Result<HashSet<String>> {
            Ok(proof.jobs([JobState::Saved]).await?.into_iter().map(|job| job.name).collect())
        };
        let before = names(self).await?;
        let end = Instant::now() + PATIENCE;
        loop {
            let after = names(self).await?;
            if after.len() >= before.len() + UNRECORDED {
                let ends = self.fleet.ends()?;
                let with_ends =
                    |name: &String| (name.clone(), ends.get(name).copied().unwrap_or(1));
                self.unrecorded.extend(after.difference(&before).map(with_ends));
                return Ok(());
            }
            ensure!(Instant::now() < end, "nothing is saved while the queue does not respond");
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn jobs(&self, states: impl IntoIterator<Item = JobState>) -> Result<Vec<JobStatus>> {
        let filter = Filter::states(states);
        Ok(self.ledger.jobs().list(&filter).await?)
    }

    async fn wait_for(&mut self, what: &str, is_reached: impl Fn(&Self) -> bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while !is_reached(self) {
            if Instant::now() > end {
                bail!("no {what} within {PATIENCE:?}: {}", self.ledger.reports().jobs().await?);
            }
            self.supervise()?;
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    fn supervise(&mut self) -> Result<()> {
        let due = self.suspended_node.take_if(|(_, until)| *until <= Instant::now());
        if let (Some((number, _)), Some(nodes)) = (due, &self.nodes) {
            nodes.resume(number)?;
        }
        self.fleet.supervise()
    }
}

fn job(number: u64) -> Job {
    let request = Gen2Pro::new(format!("fox {number}")).width(64).height(64);
    Job::new(format!("fox-{number}"), format!("fox-{number}.jpg"), request)
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let mut arguments = env::args().skip(1);
    let (Some(engine), Some(program)) = (arguments.next(), arguments.next()) else {
        bail!("expected `graphile` or `nats`, and the program of the example");
    };
    let program = std::path::absolute(program)?;
    let mut proof = Proof::start(engine, program).await?;
    let proved = match proof.run().await {
        Ok(()) => proof.end().await,
        Err(error) => Err(error),
    };
    if proved.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(ExitCode::SUCCESS);
    }
    let directory = proof.directory.path().to_owned();
    let errors = std::fs::read_to_string(directory.join("errors.log")).unwrap_or_default();
    let last: Vec<_> = errors.lines().rev().take(20).collect();
    eprintln!("the last errors of the workers, the newest first:\n{}", last.join("\n"));
    for problem in proved? {
        eprintln!("{problem}");
    }
    Ok(ExitCode::FAILURE)
}
