//! Workers that share a PostgreSQL server. They are killed in turn, and so is the server. One is
//! suspended beyond its lease, and another one is disconnected from the server for as long.

use std::{collections::HashSet, fmt, mem, time::Duration};

use imagekiln_simulator::Config;
use imagekiln_testbed::postgres::Cluster;
use tokio::time::{sleep, timeout};

use super::{
    process::Process,
    proxy::{Link, Proxy},
    scenario::{Scenario, config},
    sizes::Sizes,
};
use crate::support::{Fixture, MISCOUNTED};

/// As for a single worker, but without lost responses: the service may still process the task of an
/// unknown job, which does not count as active. Kills during slow responses lose some.
const FAULTS: [&str; 10] = [
    "error-before@submission:0.05",
    "rate-limited@submission:0.01",
    "slow-headers@submission=0.2:0.5",
    "html-502@poll:0.1",
    "spurious-not-found:0.03",
    "truncated:0.1",
    "early-expiry:0.05",
    "webhook-late=1:0.1",
    "webhook-forged:0.1",
    "webhook-duplicate:0.1",
];

/// With so many kills, one of them certainly loses a response.
const MANY_KILLS: u64 = 20;

/// The longest time until the ledger shows what a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time between two looks at the ledger.
const LOOKS: Duration = Duration::from_millis(50);

/// The maximum number of jobs that a process adds again after a kill. All of them would take longer
/// than the work until the next kill.
const JOBS_AGAIN: u64 = 500;

pub async fn a_fleet_loses_no_billed_task() {
    // The other tests must not notice that the server is killed.
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap();
    let sizes = Sizes::of_fleet();
    let config = Config {
        max_active_tasks: sizes.max_active(),
        ..config(sizes, FAULTS.map(str::to_owned).into())
    };
    let fixture = Fixture::on(cluster.create_database(), config).await;
    let proxy = Proxy::start(cluster.socket()).await;
    let mut fleet = Fleet::start(Scenario::with(fixture, sizes), proxy);
    for round in 0..sizes.server_kills {
        if !fleet.round(round, &cluster).await {
            break;
        }
    }
    fleet.processes[SLEEPER].resume();
    fleet.proxy.set(Link::Forwarding);
    let Fleet { mut scenario, processes, faults, suspended, .. } = fleet;
    for process in processes {
        process.finish().await;
    }
    let refused = scenario.fixture.simulator.counts().refused_with(429);
    assert_eq!(refused, 0, "more active tasks than the cap allows");
    let late = scenario.late_submissions(&suspended).await;
    assert!(late.is_empty(), "submitted after the lease: {late:?}");
    scenario.settle().await;
    assert_eq!(scenario.fixture.count(MISCOUNTED).await, 0, "rows of `spending`");
    let kills = scenario.kills;
    let found = scenario.compare("fleet").await;
    println!("kill-test {:<8} {faults}", "");
    faults.check(sizes, kills);
    assert!(sizes.kills < MANY_KILLS || found.by_workers > 0, "no webhook found a task");
}

/// The faults that happened. A suspended or isolated worker counts when another one has taken over
/// its jobs.
#[derive(Default)]
struct Faults {
    server_kills: u64,
    suspensions: u64,
    hangs: u64,
    resets: u64,
}

impl Faults {
    /// Fails if one of the faults did not happen.
    fn check(&self, sizes: Sizes, kills: u64) {
        assert_eq!(kills, sizes.kills, "kills of running processes");
        assert_eq!(self.server_kills, sizes.server_kills, "kills of the server");
        assert_eq!(self.suspensions, sizes.server_kills, "suspensions");
        assert_eq!(self.hangs + self.resets, sizes.server_kills, "disconnections");
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server_kills, suspensions, hangs, resets } = self;
        write!(
            f,
            "{server_kills} kills of the server, {suspensions} suspensions, {hangs} hanging and \
             {resets} reset connections"
        )
    }
}

struct Fleet {
    scenario: Scenario,
    proxy: Proxy,
    processes: Vec<Process>,
    /// Whether the sleeper is suspended, and the isolated process is disconnected.
    is_away: [bool; 2],
    faults: Faults,
    /// The numbers of the workers that were suspended.
    suspended: HashSet<i64>,
}

/// The process that is suspended at times.
const SLEEPER: usize = 0;

/// The process that is connected to the server through the proxy.
const ISOLATED: usize = 1;

/// The first of the processes that are killed in turn.
const FIRST_KILLED: usize = 2;

impl Fleet {
    fn start(scenario: Scenario, proxy: Proxy) -> Self {
        let (processes, faults, suspended) = (Vec::new(), Faults::default(), HashSet::new());
        let (is_away, sizes) = ([false; 2], scenario.sizes);
        let mut fleet = Self { scenario, proxy, processes, is_away, faults, suspended };
        for index in 0..sizes.processes as usize {
            let process = fleet.start_process(index, sizes.jobs);
            fleet.processes.push(process);
        }
        fleet
    }

    fn start_process(&mut self, index: usize, jobs: u64) -> Process {
        let url = self.scenario.fixture.ledger_name();
        self.scenario.start_on(if index == ISOLATED { self.proxy.url(&url) } else { url }, jobs)
    }

    /// Kills some processes, and the server once. Meanwhile, one process is suspended and another
    /// one is disconnected from the server, until their jobs are taken over. Returns `false` if all
    /// processes ended before.
    async fn round(&mut self, round: u64, cluster: &Cluster) -> bool {
        let Sizes { kills, server_kills, .. } = self.scenario.sizes;
        let (first, end) = (round * kills / server_kills, (round + 1) * kills / server_kills);
        let server_kill = self.scenario.random.u64(first..end);
        for kill in first..end {
            if !self.reach(kill).await {
                return false;
            }
            self.kill(FIRST_KILLED + kill as usize % (self.processes.len() - FIRST_KILLED));
            if kill == first {
                self.suspend().await;
            }
            if kill == first + (end - first) / 4 {
                self.until_it_has_jobs(ISOLATED).await;
                self.proxy.set(link(round));
                self.is_away[ISOLATED] = true;
            }
            if kill == server_kill {
                tokio::task::block_in_place(|| cluster.crash());
                self.faults.server_kills += 1;
            }
            self.bring_back(round).await;
        }
        observe("a takeover", async {
            while self.is_away.contains(&true) {
                self.bring_back(round).await;
                sleep(LOOKS).await;
            }
        })
        .await;
        true
    }

    /// Waits until a kill is due. The last one is long before the end, so that no process ends
    /// early. Returns `false` if all processes ended anyway.
    async fn reach(&mut self, kill: u64) -> bool {
        let Sizes { jobs, kills, .. } = self.scenario.sizes;
        let rest = jobs / 10 + 4 * self.scenario.sizes.max_active() as u64;
        let accepted = (kill + 1) * jobs.saturating_sub(rest) / (kills + 1);
        let reached = self.scenario.reach(accepted, &mut self.processes);
        observe("accepted jobs", reached).await
    }

    /// Kills a process, and starts another one.
    fn kill(&mut self, index: usize) {
        let started = self.start_process(index, self.scenario.sizes.jobs.min(JOBS_AGAIN));
        self.scenario.kill(mem::replace(&mut self.processes[index], started));
    }

    async fn suspend(&mut self) {
        self.until_it_has_jobs(SLEEPER).await;
        self.processes[SLEEPER].suspend();
        self.is_away[SLEEPER] = true;
        let numbers = format!("SELECT MAX(id) FROM imagekiln.workers w WHERE {}", self.is(SLEEPER));
        self.suspended.insert(self.scenario.fixture.count(&numbers).await);
    }

    /// Continues the suspended process and connects the isolated one if another process has taken
    /// over its jobs. The isolated one would give up after a minute.
    async fn bring_back(&mut self, round: u64) {
        for index in [SLEEPER, ISOLATED] {
            if !self.is_away[index] || !self.is_taken_over(index).await {
                continue;
            }
            self.is_away[index] = false;
            if index == SLEEPER {
                self.processes[SLEEPER].resume();
                self.faults.suspensions += 1;
                continue;
            }
            self.proxy.set(Link::Forwarding);
            match link(round) {
                Link::Resetting => self.faults.resets += 1,
                _ => self.faults.hangs += 1,
            }
        }
    }

    /// Waits until the process has jobs to continue.
    async fn until_it_has_jobs(&mut self, index: usize) {
        let has_jobs = format!(
            "SELECT COUNT(*) FROM imagekiln.jobs j JOIN imagekiln.workers w ON w.id = j.worker
             WHERE {} AND j.state IN ('queued', 'submitting', 'submitted', 'ready')",
            self.is(index)
        );
        observe("jobs of a process", async {
            while self.processes[index].is_running()
                && self.scenario.fixture.count(&has_jobs).await == 0
            {
                sleep(LOOKS).await;
            }
        })
        .await;
    }

    /// Whether another process has taken over the jobs of this one.
    async fn is_taken_over(&mut self, index: usize) -> bool {
        assert!(self.processes[index].is_running(), "a process ended early");
        let alive = format!("SELECT COUNT(*) FROM imagekiln.workers w WHERE {}", self.is(index));
        self.scenario.fixture.count(&alive).await == 0
    }

    /// Returns the condition that the worker `w` is the one of this process, and is alive as far as
    /// the ledger knows.
    fn is(&self, index: usize) -> String {
        format!("w.ended_at IS NULL AND w.name LIKE '% {}'", self.processes[index].id())
    }
}

async fn observe<T>(what: &str, event: impl Future<Output = T>) -> T {
    timeout(PATIENCE, event).await.unwrap_or_else(|_| panic!("no sign of {what}"))
}

fn link(round: u64) -> Link {
    if round.is_multiple_of(2) { Link::Hanging } else { Link::Resetting }
}
