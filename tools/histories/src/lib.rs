//! Histories of paid pictures: one seed is one history.
//!
//! A history is a random program that wants some pictures: over the SDK with a
//! [`Directory`](imagekiln::journal::Directory), over a batch with a ledger in SQLite, or a person
//! with command lines of `kiln`. It runs several times against the simulator while responses are
//! lost, late or forged, deliveries are refused, disks fail, clocks jump, and the program dies at
//! any moment. Between the runs, a person decides about what is unknown. At last everything works
//! again, and the simulator's account decides: each picture is paid for once, and each that was
//! paid for is saved, or failed for a reason that a poll has confirmed.
//!
//! The faults are at every seam:
//!
//! | place | faults |
//! |---|---|
//! | network, service | lost, late or failed responses; refused, truncated or foreign downloads |
//! | events of a service | outages, closed connections, damaged pictures, polls that disagree |
//! | services | missing tasks; another service with the same ids; a key of another account |
//! | disk of journals, histories and acceptance logs | full, read-only or broken; partial writes |
//! | database | full or read-only; its file is from an earlier moment, or without its log |
//! | process | dies at any operation of the disk or request; is stopped with the lock of a record |
//! | machine | crashes: each unsynced write, truncation and name is kept, lost or torn |
//! | hooks | middleware and journals panic or hang |
//! | files of a journal | removed, shortened, zeroed, appended to, restored, read-only; pipes |
//! | wall clock | jumps by up to two days |
//!
//! SQLite's own disk is real, and PostgreSQL is not part of histories. Between the runs, a person
//! also follows the advice of errors and adopts outputs. After each run, every task that the
//! program knows is in the journal, the ledger or an error, and a ledger that lost submissions has
//! submitted nothing. A history that breaks a promise is lived again without some of its parts, as
//! long as it still does.
//!
//! Histories have found five mistakes, which are fixed; `record.tsv` has all runs. These mistakes
//! were put back into the code, one at a time. Histories find them, or tests in the file that is
//! named:
//!
//! | mistake | found by |
//! |---|---|
//! | two submissions get one number | seed 0 |
//! | two processes make the file of one key | seed 332 |
//! | closed records are dropped | seed 0 |
//! | bytes that are not understood are overwritten | seed 29 |
//! | a full disk keeps a client from resuming | seed 73 |
//! | a client continues a submission to another service | seed 17 |
//! | `Task not found` is believed if another key has paid | seed 70 |
//! | one `Task not found` closes a record | seed 1 |
//! | two of them are believed by the clock of the machine | seed 19 |
//! | one refused download closes a record | seed 6 |
//! | it is believed by the clock of the machine | seed 118 |
//! | a batch orders its runs by a clock that was set back | seed 113 |
//! | tasks that a ledger could not record are in neither error nor log | seed 25 |
//! | a ledger that lost submissions is accepted | seed 25 |
//! | an acceptance is written to another record | seed 4 |
//! | a panic of a middleware; of a journal | seed 1; seed 262 |
//! | a line of the journal is not synced | seed 48 |
//! | `kiln` does not record that a picture is saved | seed 0 |
//! | the wait for a lock has no limit | seed 194 |
//! | a process without a lock counts as ended | `journal/directory.rs` |
//! | a task is adopted that a closed record has | `journal/directory.rs` |
//! | no space is reserved for acceptances | `journal/directory.rs` |
//!
//! Everything of a history runs in one thread on a paused clock, so a seed nearly always tells the
//! same story. The operating system still decides when bytes on loopback arrive, and a process that
//! is stopped waits on the real clock. `journal/directory.rs` tests two runtimes with one journal.

mod batch;
mod disk;
mod events;
mod kiln;
mod process;
mod program;
mod services;
mod shrink;
mod stopped;
mod vandal;
mod world;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use anyhow::anyhow;

pub use self::world::Totals;
use self::world::World;

/// A history that broke a promise.
#[derive(Debug)]
pub struct Broken {
    /// The seed that repeats it.
    pub seed: u64,
    /// What happened until then.
    pub story: Vec<String>,
    /// The promise that was broken.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.story {
            writeln!(f, "    {line}")?;
        }
        write!(f, "seed {}: {}", self.seed, self.why)
    }
}

/// Lives the history of a seed. One that breaks a promise is shortened.
pub fn live(seed: u64) -> Result<Totals, Broken> {
    live_without(seed, &[]).map_err(shrink::shrink)
}

/// Lives the history of a seed without some of its parts.
fn live_without(seed: u64, without: &[String]) -> Result<Totals, Broken> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    let runtime = runtime.map_err(|error| broken(seed, Vec::new(), error.into()))?;
    let living = || {
        runtime.block_on(async {
            let world = World::new(seed, without).await;
            let mut world = world.map_err(|error| broken(seed, Vec::new(), error))?;
            let lived = match world.stream("kind").u8(0..3) {
                0 => kiln::live(&mut world).await,
                _ if world.random.bool() => program::live(&mut world).await,
                _ => batch::live(&mut world).await,
            };
            let totals = world.totals;
            lived.map(|()| totals).map_err(|error| broken(seed, world.story, error))
        })
    };
    // One that panics must not end the others.
    let lived = catch_unwind(AssertUnwindSafe(living));
    lived.unwrap_or_else(|_| Err(broken(seed, Vec::new(), anyhow!("it panicked"))))
}

/// Lives the histories of consecutive seeds on all processors, as long as `goes_on` says so of the
/// next seed. Returns how many, and those that broke a promise.
pub fn live_many(from: u64, goes_on: impl Fn(u64) -> bool + Sync) -> (Totals, Vec<Broken>) {
    let next = AtomicU64::new(from);
    let results = Mutex::new((Totals::default(), Vec::new()));
    let live_some = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !goes_on(seed) {
                return;
            }
            let lived = live(seed);
            let (totals, broken) = &mut *results.lock().unwrap_or_else(PoisonError::into_inner);
            totals.histories += 1;
            match lived {
                Ok(lived) => *totals += lived,
                Err(history) => broken.push(history),
            }
        }
    };
    // A history also waits for its files and its connections.
    let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(live_some))));
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn broken(seed: u64, story: Vec<String>, error: anyhow::Error) -> Broken {
    Broken { seed, story, why: format!("{error:#}") }
}
