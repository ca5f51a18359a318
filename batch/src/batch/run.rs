//! The loop of a worker: claims jobs, decides which one continues next, and renews the lease.

use std::{
    collections::{HashSet, VecDeque},
    panic,
    sync::Arc,
};

use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
    time::{self, Interval, MissedTickBehavior},
};

use super::{
    pause::Pause,
    worker::{End, Worker},
};
use crate::{
    Error, ErrorKind, JobState,
    ledger::{Claim, Demand, LimitReached},
};

/// The number of jobs to claim at once, so that not every job costs a transaction.
const CLAIMS: usize = 8;

/// The number of renewals within the duration of a lease.
const RENEWALS: u32 = 3;

pub(super) struct Run {
    worker: Arc<Worker>,
    /// The number of the worker.
    number: i64,
    /// Claimed jobs; paid ones first.
    queue: VecDeque<Claim>,
    active: JoinSet<Ended>,
    /// The number of claims so far.
    claims: i64,
    /// Whether the ledger may have jobs to claim.
    may_have_jobs: bool,
    /// The operations whose jobs the budget does not allow until another job ends.
    blocked: HashSet<String>,
    /// The number of jobs that ended.
    ended: u64,
    pause: Pause,
    /// Changes when this process adds jobs.
    changes: watch::Receiver<()>,
    stopped_by: Option<Error>,
}

/// A job that was continued.
struct Ended {
    job: Claim,
    end: End,
    /// The value of [`Run::ended`] when the job started.
    started_after: u64,
}

impl Run {
    pub(super) fn new(worker: Arc<Worker>, number: i64) -> Self {
        Self {
            changes: worker.ledger.changes(),
            worker,
            number,
            queue: VecDeque::new(),
            active: JoinSet::new(),
            claims: 0,
            may_have_jobs: true,
            blocked: HashSet::new(),
            ended: 0,
            pause: Pause::none(),
            stopped_by: None,
        }
    }

    /// Returns when no job can continue. Fails with kind [`Lease`](ErrorKind::Lease) as soon as
    /// another worker has taken over the jobs. After any other error, the active jobs continue to
    /// their end.
    pub(super) async fn finish(mut self) -> Result<(), Error> {
        let mut renewals = time::interval(self.worker.settings.lease / RENEWALS);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            match self.step(&mut renewals).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::Lease => {
                    return Err(self.stopped_by.unwrap_or(error));
                }
                Err(error) => {
                    self.stop_by(error);
                    self.may_have_jobs = false;
                }
            }
        }
        self.stopped_by.map_or(Ok(()), Err)
    }

    /// Starts jobs, and waits until something happens. Returns whether the worker is done.
    async fn step(&mut self, renewals: &mut Interval) -> Result<bool, Error> {
        self.start_jobs().await?;
        if self.active.is_empty() && self.is_done().await? {
            return Ok(true);
        }
        let is_stopping = self.is_stopping();
        let stopped = has_stopped(self.worker.stopped.clone());
        tokio::select! {
            Some(joined) = self.active.join_next() => self.take(joined).await?,
            () = self.pause.over() => self.may_have_jobs = true,
            Ok(()) = self.changes.changed() => self.may_have_jobs = true,
            _ = renewals.tick() => self.renew().await?,
            () = stopped, if !is_stopping => {}
        }
        Ok(false)
    }

    /// Submits no more jobs. The first error is that of the run.
    fn stop_by(&mut self, error: Error) {
        tracing::warn!(error = error.chain(), "no more jobs are submitted");
        self.stopped_by.get_or_insert(error);
    }

    fn is_stopping(&self) -> bool {
        self.worker.is_stopping()
    }

    /// Whether jobs may be submitted now.
    fn may_submit(&self) -> bool {
        self.worker.settings.submits
            && self.stopped_by.is_none()
            && !self.is_stopping()
            && !self.pause.is_on()
    }

    /// Renews the lease, and takes over the jobs of workers whose leases expired.
    async fn renew(&mut self) -> Result<(), Error> {
        self.worker.ledger.renew(self.number, self.worker.settings.lease).await?;
        self.worker.ledger.take_over().await?;
        // Jobs of other workers may have ended.
        self.blocked.clear();
        self.may_have_jobs = true;
        Ok(())
    }

    async fn start_jobs(&mut self) -> Result<(), Error> {
        loop {
            while self.active.len() < self.worker.settings.limits.max_active
                && let Some(job) = self.next()
            {
                self.start(job);
            }
            let free = self.worker.settings.limits.max_active - self.active.len();
            if free == 0 || !self.may_have_jobs || self.is_stopping() {
                return Ok(());
            }
            self.claim(free.max(CLAIMS)).await?;
        }
    }

    fn start(&mut self, mut job: Claim) {
        let (worker, started_after) = (Arc::clone(&self.worker), self.ended);
        self.active.spawn(async move {
            let end = worker.advance(&mut job).await;
            Ended { job, end, started_after }
        });
    }

    fn next(&mut self) -> Option<Claim> {
        let may_submit = self.may_submit();
        let is_due = |job: &Claim| match job.status.state {
            JobState::Queued => may_submit && !self.blocked.contains(&job.status.operation),
            _ => !self.is_stopping(),
        };
        let index = self.queue.iter().position(is_due)?;
        self.queue.remove(index)
    }

    async fn claim(&mut self, jobs: usize) -> Result<(), Error> {
        self.claims += 1;
        let demand = Demand {
            worker: self.number,
            number: self.claims,
            jobs,
            // During a pause, the queued jobs that this worker has are enough.
            queued: self.may_submit(),
            blocked: self.blocked.iter().cloned().collect(),
        };
        let claimed = self.worker.ledger.claim(demand).await?;
        self.may_have_jobs = claimed.len() == jobs;
        self.queue.extend(claimed);
        Ok(())
    }

    /// Whether this worker is done. Called only when no job is active.
    async fn is_done(&mut self) -> Result<bool, Error> {
        if self.stopped_by.is_some() || self.is_stopping() {
            return Ok(true);
        }
        let waits = self.worker.settings.waits_for_jobs && self.worker.settings.submits;
        // In this order: a webhook turns an unknown job into one that can be claimed.
        Ok(!self.pause.is_on()
            && !waits
            && !self.worker.expects_callbacks().await?
            && !self.worker.ledger.has_more_jobs(self.number).await?)
    }

    async fn take(&mut self, joined: Result<Ended, JoinError>) -> Result<(), Error> {
        let Ended { job, end, started_after } = match joined {
            Ok(ended) => ended,
            Err(error) => panic::resume_unwind(error.into_panic()),
        };
        match end {
            End::Finished | End::Left => {
                if matches!(end, End::Left) {
                    self.worker.ledger.leave(&job).await?;
                }
                self.ended += 1;
                self.blocked.clear();
                self.pause.job_ended();
            }
            End::Limit(LimitReached::Budget) => {
                // If a job ended in between, the budget may allow this one now.
                if started_after == self.ended {
                    self.blocked.insert(job.status.operation.clone());
                }
                self.worker.ledger.release(&job).await?;
            }
            End::Limit(LimitReached::ActiveTasks) | End::NotNow => {
                self.pause.briefly();
                self.queue.push_front(job);
            }
            End::Refused(error) => {
                self.pause.after_refusal(&error);
                self.queue.push_front(job);
                if self.pause.is_too_long() {
                    let refused = "the service refuses submissions";
                    self.stop_by(Error::new(ErrorKind::Client, refused).with_source(error));
                }
            }
            End::Stop(error) if error.kind() == ErrorKind::Lease => return Err(error),
            End::Stop(error) => {
                self.stop_by(error);
                self.worker.ledger.leave(&job).await?;
            }
        }
        // A slot is free, or a job was given back.
        self.may_have_jobs = true;
        Ok(())
    }
}

async fn has_stopped(mut stopped: watch::Receiver<bool>) {
    // Fails only if the sender was dropped, which outlives the run.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
