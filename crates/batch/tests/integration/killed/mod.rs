//! Worker processes that are killed at random moments and restarted. At the end, the ledger and the
//! simulator must agree about every task.
//!
//! The simulator loses responses, fails, hides tasks, truncates downloads, and loses, forges and
//! repeats webhooks. Wall clocks differ by up to five minutes.
//!
//! `cargo xtask kill-test` runs these tests with more jobs and kills. With the seed
//! 12864869723095454085, each job was charged once, and failed jobs had lost both response and
//! webhook. The fleet ran beside a build:
//!
//! | scenario | jobs | kills | saved | found by webhooks | resolved | failed | time |
//! |---|---|---|---|---|---|---|---|
//! | one worker, SQLite | 1,200 | 70 | 1,170 | 411 | 123 | 30 | 171 s |
//! | one worker, PostgreSQL | 1,200 | 72 | 1,172 | 367 | 84 | 28 | 140 s |
//! | four processes, PostgreSQL | 12,000 | 300 and 20 of the server | 11,978 | 456 | 651 | 22 | 1,077 s |

mod child;
mod end;
mod fleet;
mod leases;
mod process;
mod proxy;
mod restored;
mod scenario;
mod sizes;

use imagekiln_testbed::{Runtime, Trial, name_of, postgres::POSTGRES, test};

pub use self::child::{is_child, run_child};
use self::scenario::Scenario;
use crate::support::{Backend, each};

/// The faults that a single worker has to survive.
const FAULTS: [&str; 12] = [
    "reply-lost:0.3",
    "error-after:0.05",
    "error-before@submission:0.05",
    "rate-limited@submission:0.01",
    "slow-headers@submission=0.1:0.1",
    "html-502@poll:0.1",
    "spurious-not-found:0.03",
    "truncated:0.1",
    "early-expiry:0.05",
    "webhook-late=1:0.1",
    "webhook-forged:0.1",
    "webhook-duplicate:0.1",
];

pub fn tests() -> Vec<Vec<Trial>> {
    let run = fleet::a_fleet_loses_no_billed_task;
    vec![
        each(Runtime::MultiThread, a_killed_process_loses_no_billed_task),
        each(Runtime::MultiThread, restored::a_restored_ledger_pays_for_nothing_twice),
        vec![test(name_of(&run), &[POSTGRES], Runtime::MultiThread, run)],
    ]
}

async fn a_killed_process_loses_no_billed_task(backend: Backend) {
    let mut scenario = Scenario::new(backend, FAULTS.map(str::to_owned).into()).await;
    for kill in 1..=scenario.sizes.kills {
        let mut child = scenario.start();
        let accepted = kill * scenario.sizes.jobs / (scenario.sizes.kills + 1);
        scenario.reach(accepted, [&mut child]).await;
        scenario.kill(child);
    }
    let child = scenario.start();
    child.finish().await;
    scenario.settle().await;
    let found = scenario.compare(&backend.to_string()).await;
    assert!(found.by_workers > 0, "no worker received the webhook of a lost response");
}
