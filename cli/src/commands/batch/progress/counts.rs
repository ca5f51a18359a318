//! The number of jobs in each state, their cost, and the time that the rest takes.

use std::time::Duration;

use tokio::time::Instant;

use imagekiln_batch::{JobState, ReportRow};

pub struct Counts {
    by_state: [u64; JobState::ALL.len()],
    credits: f64,
    started: Instant,
    /// The number of jobs that had ended at the start.
    ended_before: u64,
}

impl Counts {
    pub fn new(rows: &[ReportRow]) -> Self {
        let mut counts = Self {
            by_state: [0; JobState::ALL.len()],
            credits: 0.0,
            started: Instant::now(),
            ended_before: 0,
        };
        counts.update(rows);
        counts.ended_before = counts.ended();
        counts
    }

    pub fn update(&mut self, rows: &[ReportRow]) {
        self.by_state = JobState::ALL
            .map(|state| rows.iter().filter(|row| row.state == state).map(|row| row.jobs).sum());
        self.credits = rows.iter().map(|row| row.credits).sum();
    }

    pub fn jobs(&self) -> u64 {
        self.by_state.iter().sum()
    }

    /// The number of jobs that this run does not continue.
    pub fn ended(&self) -> u64 {
        self.states().filter(|(state, _)| has_ended(*state)).map(|(_, jobs)| jobs).sum()
    }

    /// The cost that the service reported.
    pub fn credits(&self) -> f64 {
        self.credits
    }

    /// The states with jobs, in the order of a job's life.
    pub fn states(&self) -> impl Iterator<Item = (JobState, u64)> {
        JobState::ALL.into_iter().zip(self.by_state).filter(|(_, jobs)| *jobs > 0)
    }

    /// The estimated time that the rest takes, once a job has ended.
    pub fn time_left(&self) -> Option<Duration> {
        let ended = self.ended().saturating_sub(self.ended_before);
        let rest = self.jobs() - self.ended();
        let elapsed = self.started.elapsed().as_secs_f64();
        match ended {
            0 => None,
            _ => Duration::try_from_secs_f64(elapsed / ended as f64 * rest as f64).ok(),
        }
    }
}

pub fn has_ended(state: JobState) -> bool {
    !matches!(
        state,
        JobState::Queued | JobState::Submitting | JobState::Submitted | JobState::Ready
    )
}
