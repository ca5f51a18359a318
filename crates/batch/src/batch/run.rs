//! The loop of a run: claims jobs, and decides which one continues next.

mod held;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    panic,
    sync::Arc,
    time::Duration,
};

use imagekiln::Slot;
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
    time::{self, Instant, Interval, MissedTickBehavior},
};

use self::held::scopes;
use super::{
    engine::{Engine, Lease},
    room::{Room, Turn},
    worker::{End, Worker},
};
use crate::{
    Error, ErrorKind, JobState, Scope,
    ledger::{Claim, Demand, Order},
};

/// The minimum and the maximum number of queued jobs to claim at once. Claiming several jobs saves
/// transactions. Claiming too many would make jobs wait for a busy worker while others are idle.
const CLAIMS: usize = 8;
const MOST_CLAIMS: usize = 32;

/// After this many damaged pictures in a row, the run submits no more jobs: the next pictures would
/// probably be damaged, too, and would be paid for in vain.
const MOST_DAMAGED: u32 = 5;

/// How often a worker looks for jobs that other processes added or gave back.
const LOOKS: Duration = Duration::from_secs(1);

pub(super) struct Run {
    engine: Arc<Engine>,
    worker: Arc<Worker>,
    /// The number of the worker.
    number: i64,
    lease: watch::Receiver<Lease>,
    has_lost_a_lease: bool,
    /// Claimed jobs.
    queue: VecDeque<Claim>,
    active: JoinSet<Ended>,
    /// Whether the ledger may have jobs to claim: paid ones, and queued ones.
    may_have_paid: bool,
    may_have_queued: bool,
    /// Whether a limit may have held back queued jobs.
    is_limited: bool,
    /// Whether no worker had any jobs when this one began its last look for jobs, so that nobody
    /// can have given back a job since.
    has_looked_alone: bool,
    /// The operations and groups whose jobs a budget does not allow until another job ends: the
    /// number of pixels from which on it does not, and the reason.
    blocked: HashMap<Scope, (u64, String)>,
    /// The number of jobs that ended.
    ended: u64,
    /// The number of damaged deliveries since the last saved picture.
    damaged: u32,
    started: Instant,
    /// The last refusal of each operation that also affects other jobs.
    refusals: HashMap<String, imagekiln::Error>,
    /// The operations of which the service has accepted submissions of this run.
    accepted: HashSet<String>,
    room: Room,
    order: Order,
    turn: Turn,
    /// The slot of the next submission.
    slot: Option<Slot>,
    /// Changes when this process adds jobs.
    changes: watch::Receiver<()>,
    stopped_by: Option<Error>,
}

/// A job that was continued.
struct Ended {
    job: Claim,
    end: End,
    /// Whether it was not submitted before.
    was_queued: bool,
    /// The value of [`Run::ended`] when the job started.
    started_after: u64,
}

impl Run {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        let (worker, lease) = (Arc::clone(&engine.worker), engine.lease.subscribe());
        let number = lease.borrow().worker;
        Self {
            engine,
            changes: worker.ledger.changes(),
            room: Room::new(worker.settings.limits.max_active),
            worker,
            number,
            lease,
            has_lost_a_lease: false,
            queue: VecDeque::new(),
            active: JoinSet::new(),
            may_have_paid: true,
            may_have_queued: true,
            is_limited: false,
            has_looked_alone: false,
            blocked: HashMap::new(),
            ended: 0,
            damaged: 0,
            started: Instant::now(),
            refusals: HashMap::new(),
            accepted: HashSet::new(),
            order: Order::default(),
            turn: Turn::default(),
            slot: None,
            stopped_by: None,
        }
    }

    /// Returns when no job can continue. After an error, the active jobs continue to their end.
    /// Returns whether another worker has taken over jobs, because the lease expired.
    pub(super) async fn finish(mut self) -> Result<bool, Error> {
        let mut looks = time::interval(LOOKS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            match self.step(&mut looks).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::Lease => self.engine.lost(self.number),
                Err(error) => self.stop_by(error),
            }
        }
        // The ledger does not contain the budget of the run, so it cannot explain why these jobs
        // are held.
        for (scope, (pixels, reason)) in self.blocked {
            self.worker.ledger.explain_held(self.number, scope, pixels, reason).await?;
        }
        self.stopped_by.map_or(Ok(self.has_lost_a_lease), Err)
    }

    /// Starts jobs, and waits until something happens. Returns whether the worker is done.
    async fn step(&mut self, looks: &mut Interval) -> Result<bool, Error> {
        self.start_jobs().await?;
        // No job needs the slot.
        self.slot = None;
        if self.active.is_empty() && self.is_done().await? {
            // From here on, no task returns jobs to the queue. The run ends if one more look finds
            // none.
            if self.has_looked_alone || self.is_ending() {
                return Ok(true);
            }
            self.look();
            self.has_looked_alone = true;
            return Ok(false);
        }
        let is_stopping = self.worker.is_stopping();
        let stopped = has_stopped(self.worker.stopped.clone());
        let needs_slot = self.has_room() && self.waiting().is_some();
        if !needs_slot {
            self.turn.give_up();
        }
        tokio::select! {
            slot = self.turn.slot(&self.worker.client), if needs_slot => match slot {
                Ok(slot) => self.slot = Some(slot),
                Err(error) => self.stop_by(no_slot(error)),
            },
            Some(joined) = self.active.join_next() => self.take(joined).await?,
            () = self.room.grown() => {}
            _ = looks.tick() => self.look(),
            Ok(()) = self.changes.changed() => self.look(),
            Ok(()) = self.lease.changed() => self.lease_changed().await?,
            () = stopped, if !is_stopping => {}
        }
        Ok(false)
    }

    /// Makes the worker look for jobs again.
    fn look(&mut self) {
        (self.may_have_paid, self.may_have_queued) = (true, true);
        self.has_looked_alone = false;
    }

    /// Submits no more jobs. The run returns the first error.
    fn stop_by(&mut self, error: Error) {
        tracing::warn!(error = error.chain(), "no more jobs are submitted");
        self.stopped_by.get_or_insert(error);
    }

    /// Whether the worker takes no more jobs, because of a signal or an error.
    fn is_ending(&self) -> bool {
        self.worker.is_stopping() || self.stopped_by.is_some()
    }

    /// Whether jobs may be submitted now.
    fn may_submit(&self) -> bool {
        self.worker.settings.submits && !self.is_ending()
    }

    async fn lease_changed(&mut self) -> Result<(), Error> {
        let Lease { worker, is_lost } = *self.lease.borrow_and_update();
        if is_lost || worker != self.number {
            return self.start_again().await;
        }
        // Jobs of other workers may have ended.
        self.unblock();
        Ok(())
    }

    /// Continues as a new worker, because others may have the jobs of this one.
    async fn start_again(&mut self) -> Result<(), Error> {
        self.active = JoinSet::new();
        self.queue.clear();
        self.has_lost_a_lease = true;
        self.number = self.engine.next_claim().await?.0;
        self.look();
        Ok(())
    }

    async fn start_jobs(&mut self) -> Result<(), Error> {
        let most = self.worker.settings.limits.max_active;
        loop {
            while self.active.len() < most
                && let Some(job) = self.next().and_then(|index| self.queue.remove(index))
            {
                let is_queued = job.status.state == JobState::Queued;
                let slot = if is_queued { self.slot.take() } else { None };
                self.start(job, slot);
            }
            let free = most - self.active.len();
            // Start with the jobs that this worker has already claimed.
            let wants_queued =
                self.may_have_queued && self.may_submit() && self.waiting().is_none();
            if free == 0 || self.is_ending() || !(self.may_have_paid || wants_queued) {
                return Ok(());
            }
            self.claim(free, wants_queued).await?;
        }
    }

    fn start(&mut self, mut job: Claim, slot: Option<Slot>) {
        let (worker, started_after) = (Arc::clone(&self.worker), self.ended);
        let is_queued = job.status.state == JobState::Queued;
        let place = is_queued.then(|| worker.ledger.take_place(&self.order, job.id));
        self.active.spawn(async move {
            let _place = place;
            let end = worker.advance(&mut job, slot).await;
            Ended { job, end, was_queued: is_queued, started_after }
        });
    }

    /// Returns the index of the next job. Jobs that are paid for come first, and need no slot.
    fn next(&self) -> Option<usize> {
        let paid = self.queue.iter().position(|job| job.status.state != JobState::Queued);
        let may_start = self.slot.is_some() && self.has_room();
        let queued = || self.waiting().filter(|_| may_start);
        paid.filter(|_| !self.worker.is_stopping()).or_else(queued)
    }

    fn has_room(&self) -> bool {
        self.active.len() < self.room.jobs()
    }

    /// Returns the index of the next job that may be submitted as soon as there is room.
    fn waiting(&self) -> Option<usize> {
        let may_start = |job: &Claim| {
            job.status.state == JobState::Queued
                && (self.blocked.is_empty()
                    || scopes(job).iter().all(|scope| {
                        let blocked = self.blocked.get(scope);
                        blocked.is_none_or(|(pixels, _)| job.status.pixels < *pixels)
                    }))
        };
        self.queue.iter().position(may_start).filter(|_| self.may_submit())
    }

    async fn claim(&mut self, free: usize, wants_queued: bool) -> Result<(), Error> {
        let (worker, number) = self.engine.next_claim().await?;
        if worker != self.number {
            return self.start_again().await;
        }
        let blocked = self.blocked.iter().map(|(scope, (pixels, _))| (scope.clone(), *pixels));
        let demand = Demand {
            worker,
            number,
            paid: if self.may_have_paid { free } else { 0 },
            queued: if wants_queued { free.clamp(CLAIMS, MOST_CLAIMS) } else { 0 },
            blocked: blocked.collect(),
        };
        let queued = demand.queued;
        let (jobs, is_limited) = self.worker.ledger.claim(demand).await?;
        self.has_looked_alone &= jobs.is_empty();
        let is_queued = |job: &&Claim| job.status.state == JobState::Queued;
        let found = jobs.iter().filter(is_queued).count();
        self.may_have_paid &= jobs.len() - found == free;
        if wants_queued {
            self.may_have_queued = found == queued;
            self.is_limited = is_limited;
        }
        self.queue.extend(jobs);
        Ok(())
    }

    /// Whether this worker is done. Called only when no job is active.
    async fn is_done(&mut self) -> Result<bool, Error> {
        if self.is_ending() {
            return Ok(true);
        }
        let submits = self.worker.settings.submits;
        let waits = self.worker.settings.waits_for_jobs && submits;
        // The order matters. A webhook can turn an unknown job, which the first query looks for,
        // into a job that can be claimed, which the second query looks for.
        Ok(self.waiting().is_none()
            && !waits
            && !self.worker.expects_callbacks().await?
            && !self.worker.ledger.has_more_jobs(self.number, submits).await?
            && (!submits || !self.waits_for_service().await?))
    }

    async fn take(&mut self, joined: Result<Ended, JoinError>) -> Result<(), Error> {
        let Ended { job, end, was_queued, started_after } = match joined {
            Ok(ended) => ended,
            Err(error) => panic::resume_unwind(error.into_panic()),
        };
        if job.status.state == JobState::Saved {
            self.damaged = 0;
        }
        // A task that an earlier run submitted does not prove that the key of this run is accepted.
        if was_queued && job.status.task_id.is_some() {
            self.accepted.insert(job.status.operation.clone());
            self.room.ended();
        }
        match end {
            End::Finished | End::Left | End::Damaged(_) => {
                if matches!(end, End::Left) {
                    self.worker.ledger.leave(&job).await?;
                }
                self.ended += 1;
                self.may_have_queued |= self.is_limited;
                self.unblock();
                if let End::Damaged(error) = end {
                    self.damaged += 1;
                    if self.damaged == MOST_DAMAGED {
                        self.stop_by(error);
                    }
                }
            }
            End::Limit(limit) => self.after_limit(job, limit, started_after).await?,
            End::NotNow => {
                self.room.refused(self.active.len());
                self.put_back(job);
            }
            End::Refused(error) => {
                self.worker.ledger.release(&job).await?;
                self.refusals.insert(job.status.operation, error);
                self.room.outage();
                self.look();
            }
            End::Stop(error) if error.kind() == ErrorKind::Lease => return Err(error),
            End::Stop(error) => {
                self.stop_by(error);
                self.worker.ledger.leave(&job).await?;
            }
        }
        Ok(())
    }
}

pub(super) fn no_slot(error: imagekiln::Error) -> Error {
    Error::new(ErrorKind::Client, "no job can be submitted").with_source(error)
}

async fn has_stopped(mut stopped: watch::Receiver<bool>) {
    // Fails only if the sender was dropped, and the sender outlives the run.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
