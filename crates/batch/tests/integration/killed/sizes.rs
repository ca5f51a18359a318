//! The size of a test: its jobs, its kills and its seed.

use std::env;

/// Set by `cargo xtask kill-test`, for the fleet.
const JOBS: &str = "IMAGEKILN_KILL_JOBS";
const KILLS: &str = "IMAGEKILN_KILL_KILLS";
const PROCESSES: &str = "IMAGEKILN_KILL_PROCESSES";
const SERVER_KILLS: &str = "IMAGEKILN_KILL_SERVER_KILLS";
const SEED: &str = "IMAGEKILN_KILL_SEED";

#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub jobs: u64,
    pub kills: u64,
    /// The number of workers in the fleet.
    pub processes: u64,
    /// The number of kills of the server.
    pub server_kills: u64,
    /// Selects the faults of the simulator and the moments of the kills.
    pub seed: u64,
}

impl Sizes {
    /// Few jobs and a random seed, unless the environment sets others.
    pub fn of_fleet() -> Self {
        Self {
            jobs: variable(JOBS).unwrap_or(60),
            kills: variable(KILLS).unwrap_or(3),
            processes: variable(PROCESSES).unwrap_or(4),
            server_kills: variable(SERVER_KILLS).unwrap_or(1),
            seed: variable(SEED).unwrap_or_else(|| fastrand::u64(..)),
        }
    }

    /// A tenth of the jobs and a quarter of the kills that the environment sets.
    pub fn of_one_process() -> Self {
        let fleet = Self::of_fleet();
        let part = |name, number, divisor| variable(name).map_or(number, |set| set / divisor);
        Self { jobs: part(JOBS, 40, 10), kills: part(KILLS, fleet.kills, 4), ..fleet }
    }

    /// The cap on active tasks.
    pub fn max_active(self) -> usize {
        if self.jobs > 100 { 24 } else { 6 }
    }
}

fn variable(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}
