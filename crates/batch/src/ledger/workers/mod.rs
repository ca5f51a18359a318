//! Workers and their leases, and the jobs of workers that ended.

pub(super) mod claims;
pub(super) mod order;
pub(super) mod steps;

use std::{sync::Arc, time::Duration};

use self::claims::lease_lost;
use crate::{
    Error, ErrorKind,
    ledger::{
        Ledger,
        database::{Database, clocks::milliseconds},
        identity::Marking,
        limits::{RunLimits, outage},
    },
    lock,
    state::{OPEN, PAID},
};

/// How long a request may still be on its way after the lease of its worker has expired. The worker
/// may have been suspended between the check of its lease and the first byte, and the operating
/// system resends lost packets for about this long.
const HOLD: Duration = Duration::from_secs(15 * 60);

/// A worker of this process.
#[derive(Clone)]
pub(super) struct LocalWorker {
    /// The end of its lease, on the clock of this process.
    pub(super) leased_until: Duration,
    pub(super) limits: RunLimits,
    pub(super) marking: Arc<Marking>,
}

impl Ledger {
    /// Registers a worker, and takes over the jobs of workers whose leases expired. Returns its
    /// number, which is higher than that of every earlier worker.
    pub(crate) async fn register(
        &self,
        lease: Duration,
        limits: RunLimits,
        marking: Arc<Marking>,
    ) -> Result<i64, Error> {
        if self.0.source.is_of_other() {
            let message = format!("another process runs a batch on the ledger {}", self.name());
            return Err(Error::new(ErrorKind::Locked, message));
        }
        let name = format!("{} {}", host(), std::process::id());
        // This process reads its clock before the database does, so that it never believes in a
        // lease that has ended in the database.
        let leased_until = self.now_of_leases() + lease;
        let worker = self
            .transaction(move |database| {
                let now = database.now();
                let insert = "INSERT INTO workers (name, started_at, lease_until)
                    VALUES ($1, $2, $3) RETURNING id";
                let values = [(&name).into(), now.into(), (now + milliseconds(lease)).into()];
                database.value(insert, values)
            })
            .await?;
        lock(&self.0.workers).insert(worker, LocalWorker { leased_until, limits, marking });
        self.take_over().await?;
        Ok(worker)
    }

    /// Renews the lease of a worker.
    ///
    /// Fails with kind [`Lease`](ErrorKind::Lease) if another worker has taken over its jobs.
    pub(crate) async fn renew(&self, worker: i64, lease: Duration) -> Result<(), Error> {
        let leased_until = self.now_of_leases() + lease;
        let renewed = self
            .transaction(move |database| {
                let until = database.now() + milliseconds(lease);
                let renew =
                    "UPDATE workers SET lease_until = $1 WHERE id = $2 AND ended_at IS NULL";
                database.execute(renew, [until.into(), worker.into()])
            })
            .await?;
        match lock(&self.0.workers).get_mut(&worker).filter(|_| renewed == 1) {
            Some(known) => known.leased_until = leased_until,
            None => return Err(lease_lost()),
        }
        Ok(())
    }

    pub(super) fn now_of_leases(&self) -> Duration {
        (self.0.clocks.lease)()
    }

    /// Ends a worker of this process. Other workers can claim its jobs. Jobs that it was submitting
    /// become unknown.
    pub(crate) async fn retire(&self, worker: i64) -> Result<(), Error> {
        self.exclusive(move |database| {
            end(database, worker, "the submission ended without a known outcome", None)
        })
        .await?;
        lock(&self.0.workers).remove(&worker);
        self.announce();
        Ok(())
    }

    /// Records the outcome of a submission of this worker that the ledger could not record before:
    /// the task, if the acceptance log contains it, or else that the outcome is unknown.
    pub(crate) async fn record_loss(&self, worker: i64, job: i64) -> Result<(), Error> {
        self.take_logged().await?;
        self.exclusive(move |database| {
            let reason = "the outcome of the submission could not be recorded";
            let hold_until = database.now() + milliseconds(HOLD);
            make_unknown(database, worker, Some(job), reason, Some(hold_until))
        })
        .await?;
        self.announce();
        Ok(())
    }

    /// Ends the workers whose leases expired.
    pub(crate) async fn take_over(&self) -> Result<(), Error> {
        let ended = self
            .exclusive(|database| {
                let now = database.now();
                let expired = "SELECT id FROM workers WHERE ended_at IS NULL AND lease_until < $1";
                let expired = database.rows(expired, [now.into()])?;
                for (worker,) in &expired {
                    let reason = "the worker did not respond before the response arrived";
                    end(database, *worker, reason, Some(now + milliseconds(HOLD)))?;
                }
                Ok(expired.len())
            })
            .await?;
        if ended > 0 {
            tracing::warn!(workers = ended, "took over the jobs of workers with expired leases");
            self.announce();
        }
        Ok(())
    }

    /// Ends all workers. Their processes must have ended.
    #[cfg(feature = "sqlite")]
    pub(super) async fn end_all_workers(&self) -> Result<(), Error> {
        self.transaction(|database| {
            let alive = "SELECT id FROM workers WHERE ended_at IS NULL";
            for (worker,) in database.rows(alive, [])? {
                let reason = "the process ended before the response arrived";
                end(database, worker, reason, None)?;
            }
            Ok(())
        })
        .await
    }

    /// Whether a worker has to wait for more jobs:
    ///
    /// - another worker, which may be dead, still has jobs to continue;
    /// - a job that is paid for can be claimed, for example because a webhook has just found its
    ///   task;
    /// - or, if this worker submits jobs, a queued job waits until somebody unpauses its scope or
    ///   until its rate allows it.
    pub(crate) async fn has_more_jobs(&self, worker: i64, submits: bool) -> Result<bool, Error> {
        self.transaction(move |database| {
            let find = format!(
                "SELECT 1 FROM jobs WHERE worker <> $1 AND {OPEN}
                OR worker IS NULL AND (left_after IS NULL OR left_after < $1)
                    AND ({PAID} OR state = 'queued' AND $2 = 1
                        AND EXISTS (SELECT 1 FROM limits
                            WHERE (paused_at IS NOT NULL OR next_at > $3)
                            AND (scope = 'ledger' OR scope = 'operation' AND name = operation
                            OR scope = 'group' AND group_name IS NOT NULL
                                AND name IN (group_name, ''))))
                LIMIT 1"
            );
            let values = [worker.into(), i64::from(submits).into(), database.now().into()];
            database.finds(&find, values)
        })
        .await
    }

    /// Whether a webhook may still find the task of an unknown job that was submitted less than
    /// `patience` ago.
    pub(crate) async fn may_be_called_back(&self, patience: Duration) -> Result<bool, Error> {
        self.transaction(move |database| {
            let now = database.now();
            // A submission in the future means that the clock was set back. The run does not wait
            // until the clock has caught up.
            let find = "SELECT 1 FROM jobs j JOIN submissions s ON s.id = j.submission
                WHERE j.state = 'unknown' AND s.token IS NOT NULL
                AND s.sent_at > $1 AND s.sent_at <= $2 LIMIT 1";
            let values = [(now - milliseconds(patience)).into(), now.into()];
            database.finds(find, values)
        })
        .await
    }
}

/// Makes the jobs that a worker is submitting unknown, or only the job with this id. If a request
/// may still be on its way, nobody can resolve its submission as not billed before `hold_until`:
/// the job would be submitted again, although the first request may still arrive and be billed.
fn make_unknown(
    database: &mut Database,
    worker: i64,
    job: Option<i64>,
    reason: &str,
    hold_until: Option<i64>,
) -> Result<(), Error> {
    let condition = "worker = $2 AND state = 'submitting' AND id = COALESCE($3, id)";
    let hold = format!(
        "UPDATE submissions SET hold_until = $1 WHERE state = 'open' AND id IN
        (SELECT submission FROM jobs WHERE {OPEN} AND {condition})"
    );
    database.execute(&hold, [hold_until.into(), worker.into(), job.into()])?;
    let unknown = format!(
        "UPDATE jobs SET state = 'unknown', reason = $1, changed_at = $4, worker = NULL
        WHERE {OPEN} AND {condition}"
    );
    let values = [reason.into(), worker.into(), job.into(), database.now().into()];
    database.execute(&unknown, values)?;
    Ok(())
}

/// Ends a worker, and frees its jobs. If its process may still run, its submissions are held until
/// `hold_until`.
fn end(
    database: &mut Database,
    worker: i64,
    reason: &str,
    hold_until: Option<i64>,
) -> Result<(), Error> {
    let now = database.now();
    make_unknown(database, worker, None, reason, hold_until)?;
    let free = format!("UPDATE jobs SET worker = NULL WHERE worker = $1 AND {OPEN}");
    database.execute(&free, [worker.into()])?;
    outage::replace_probe(database, worker)?;
    let ended = "UPDATE workers SET ended_at = $1 WHERE id = $2 AND ended_at IS NULL";
    database.execute(ended, [now.into(), worker.into()])?;
    Ok(())
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
