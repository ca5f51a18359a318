//! Decides which job continues next.

use std::{
    collections::{HashSet, VecDeque},
    panic,
    sync::Arc,
    time::Duration,
};

use tokio::{
    task::{JoinError, JoinSet},
    time::{self, Instant},
};

use super::worker::{End, Worker};
use crate::{Error, ErrorKind, State, ledger::Pending};

/// The number of pauses without a finished job after which a run gives up.
const MAX_PAUSES: u32 = 8;

const FIRST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Run {
    worker: Arc<Worker>,
    max_active: usize,
    /// Paid jobs first.
    queue: VecDeque<Pending>,
    active: JoinSet<Ended>,
    /// The operations of which the budget allows no job until another job ends.
    blocked: HashSet<String>,
    /// The number of jobs that ended.
    ended: u64,
    pauses: u32,
    paused_until: Option<Instant>,
    stopped_by: Option<Error>,
}

/// A job that a worker returned.
struct Ended {
    job: Pending,
    end: End,
    /// The value of [`Run::ended`] when the job started.
    started_after: u64,
}

impl Run {
    pub(super) fn new(worker: Worker, max_active: usize, pending: Vec<Pending>) -> Self {
        Self {
            worker: Arc::new(worker),
            max_active,
            queue: pending.into(),
            active: JoinSet::new(),
            blocked: HashSet::new(),
            ended: 0,
            pauses: 0,
            paused_until: None,
            stopped_by: None,
        }
    }

    /// Returns when no job can continue.
    pub(super) async fn finish(mut self) -> Result<(), Error> {
        loop {
            self.start_jobs();
            let resume_at = self.paused_until.unwrap_or_else(Instant::now);
            tokio::select! {
                Some(joined) = self.active.join_next() => self.take(joined),
                () = time::sleep_until(resume_at), if self.paused_until.is_some() => {
                    self.paused_until = None;
                }
                else => break,
            }
        }
        self.stopped_by.map_or(Ok(()), Err)
    }

    fn start_jobs(&mut self) {
        while self.active.len() < self.max_active
            && let Some(mut job) = self.next()
        {
            let (worker, started_after) = (Arc::clone(&self.worker), self.ended);
            self.active.spawn(async move {
                let end = worker.advance(&mut job).await;
                Ended { job, end, started_after }
            });
        }
    }

    fn next(&mut self) -> Option<Pending> {
        let may_submit = self.stopped_by.is_none() && self.paused_until.is_none();
        let is_due = |job: &Pending| {
            job.state != State::Queued || (may_submit && !self.blocked.contains(&job.operation))
        };
        let index = self.queue.iter().position(is_due)?;
        self.queue.remove(index)
    }

    fn take(&mut self, joined: Result<Ended, JoinError>) {
        let Ended { job, end, started_after } = match joined {
            Ok(ended) => ended,
            Err(error) => panic::resume_unwind(error.into_panic()),
        };
        match end {
            End::Finished => {
                self.ended += 1;
                self.blocked.clear();
                self.pauses = 0;
            }
            End::OverBudget => {
                // If a job ended in between, the budget may allow this one now.
                if started_after == self.ended {
                    self.blocked.insert(job.operation.clone());
                }
                self.queue.push_front(job);
            }
            End::Refused(error) => {
                self.pause(error);
                self.queue.push_front(job);
            }
            End::Stop(error) => {
                tracing::warn!(job = job.name, %error, "no more jobs are submitted");
                self.stopped_by.get_or_insert(error);
                self.paused_until = None;
            }
        }
    }

    /// Pauses submissions after a refusal that may be temporary. Jobs that were refused together
    /// cause one pause.
    fn pause(&mut self, error: imagekiln::Error) {
        if self.paused_until.is_some() || self.stopped_by.is_some() {
            return;
        }
        self.pauses += 1;
        if self.pauses > MAX_PAUSES {
            let error =
                Error::new(ErrorKind::Client, "the service refuses submissions").with_source(error);
            self.stopped_by = Some(error);
            return;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.pauses - 1);
        let pause = error.retry_after().map_or(pause, |wait| wait.max(pause));
        tracing::info!(kind = ?error.kind(), seconds = pause.as_secs(), "submissions pause");
        self.paused_until = Some(Instant::now() + pause);
    }
}
