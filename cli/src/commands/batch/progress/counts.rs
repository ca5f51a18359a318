//! The number of jobs in each state, their cost, and the time that the rest takes.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use imagekiln_batch::{JobState, JobStatus};

pub struct Counts {
    /// The state and the known cost of each job.
    jobs: HashMap<String, (JobState, f64)>,
    by_state: [u64; JobState::ALL.len()],
    credits: f64,
    started: Instant,
    /// The number of jobs that had ended at the start.
    ended_before: u64,
}

impl Counts {
    pub fn new<'a>(jobs: impl IntoIterator<Item = &'a JobStatus>) -> Self {
        let mut counts = Self {
            jobs: HashMap::new(),
            by_state: [0; JobState::ALL.len()],
            credits: 0.0,
            started: Instant::now(),
            ended_before: 0,
        };
        jobs.into_iter().for_each(|job| counts.change(job));
        counts.ended_before = counts.ended();
        counts
    }

    pub fn change(&mut self, job: &JobStatus) {
        let credits = job.credits.unwrap_or_default();
        *self.count(job.state) += 1;
        self.credits += credits;
        let before = match self.jobs.get_mut(&job.name) {
            Some(known) => Some(std::mem::replace(known, (job.state, credits))),
            None => self.jobs.insert(job.name.clone(), (job.state, credits)),
        };
        if let Some((state, credits)) = before {
            *self.count(state) -= 1;
            self.credits -= credits;
        }
    }

    pub fn jobs(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// The number of jobs that this run does not continue.
    pub fn ended(&self) -> u64 {
        let states = JobState::ALL.into_iter().zip(self.by_state);
        states.filter(|(state, _)| has_ended(*state)).map(|(_, jobs)| jobs).sum()
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

    #[expect(clippy::indexing_slicing, reason = "every state has a place")]
    fn count(&mut self, state: JobState) -> &mut u64 {
        let index = JobState::ALL.into_iter().position(|other| other == state);
        &mut self.by_state[index.unwrap_or_default()]
    }
}

pub fn has_ended(state: JobState) -> bool {
    !matches!(
        state,
        JobState::Queued | JobState::Submitting | JobState::Submitted | JobState::Ready
    )
}
