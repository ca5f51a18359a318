//! Three workers that share a PostgreSQL server. Two of them are killed in turn, one is suspended
//! beyond its lease, and the server restarts.

use std::time::Duration;

use imagekiln_simulator::Config;
use imagekiln_testbed::postgres::Cluster;

use super::{
    process::Process,
    scenario::{Scenario, config},
    sizes::Sizes,
};
use crate::support::Fixture;

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

pub async fn a_fleet_loses_no_billed_task() {
    // The other tests must not notice that the server restarts.
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap();
    let sizes = Sizes::of_environment();
    let config = Config {
        max_active_tasks: sizes.max_active(),
        ..config(sizes, FAULTS.map(str::to_owned).into())
    };
    let fixture = Fixture::on(cluster.create_database(), config).await;
    let mut scenario = Scenario::with(fixture, sizes);
    let (mut workers, mut sleeper) = ([scenario.start(), scenario.start()], scenario.start());
    for kill in 1..=sizes.kills {
        let [first, second] = &mut workers;
        if !scenario.reach(kill, &mut [first, second, &mut sleeper]).await {
            break;
        }
        let restarted = scenario.start();
        let killed = std::mem::replace(&mut workers[(kill % 2) as usize], restarted);
        scenario.kill(killed);
        match kill % 3 {
            1 => sleeper.suspend(),
            2 => {
                until_taken_over(&scenario, &mut sleeper).await;
                sleeper.resume();
            }
            _ => tokio::task::block_in_place(|| cluster.restart()),
        }
    }
    sleeper.resume();
    for worker in workers.into_iter().chain([sleeper]) {
        worker.finish().await;
    }
    let refused = scenario.fixture.simulator.counts().refused_with(429);
    assert_eq!(refused, 0, "more active tasks than the cap allows");
    scenario.settle().await;
    let found = scenario.compare("fleet").await;
    assert!(sizes.kills < MANY_KILLS || found.by_workers > 0, "no webhook found a task");
}

/// Waits until another worker has taken over the jobs of the process, if it has not exited.
async fn until_taken_over(scenario: &Scenario, process: &mut Process) {
    let alive = format!(
        "SELECT COUNT(*) FROM imagekiln.workers WHERE ended_at IS NULL AND name LIKE '% {}'",
        process.id()
    );
    while process.is_running() && scenario.fixture.count(&alive).await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
