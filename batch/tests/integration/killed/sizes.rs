//! The size of a test: its jobs, its kills and its seed.

use std::env;

/// Set by `cargo xtask kill-test`.
const JOBS: &str = "IMAGEKILN_KILL_JOBS";
const KILLS: &str = "IMAGEKILN_KILL_KILLS";
const SEED: &str = "IMAGEKILN_KILL_SEED";

#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub jobs: u64,
    pub kills: u64,
    /// Selects the faults of the simulator and the moments of the kills.
    pub seed: u64,
}

impl Sizes {
    /// Few jobs and a random seed, unless the environment sets others.
    pub fn of_environment() -> Self {
        Self {
            jobs: variable(JOBS).unwrap_or(40),
            kills: variable(KILLS).unwrap_or(3),
            seed: variable(SEED).unwrap_or_else(|| fastrand::u64(..)),
        }
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
