//! Claims: which worker continues a job.

use imagekiln::Request;

use crate::{
    Error, ErrorKind, JobState, JobStatus, Scope,
    ledger::{
        Ledger,
        database::{Database, Value},
        jobs::{
            no_job,
            status::{FoundJob, find_jobs, read_request, select},
        },
        limits::{LimitReached, Subject, active::Gate, admission::refusal},
    },
    state::{OPEN, PAID},
};

/// The maximum size in bytes of a request that a worker reads when it claims the job. Larger
/// requests contain images, and the worker reads them only when it needs them, because many claimed
/// jobs wait at the same time.
const SMALL: i64 = 16 * 1024;

/// A job that only this worker can change.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) id: i64,
    pub(crate) worker: i64,
    /// The job as this worker last wrote it.
    pub(crate) status: JobStatus,
    /// The request of the job, if it is small.
    request: Option<String>,
}

impl Claim {
    /// Returns the request of the job, if it is small.
    pub(crate) fn request(&self) -> Result<Option<Request>, Error> {
        let request = self.request.as_deref();
        request.map(|request| read_request(&self.status.name, request)).transpose()
    }
}

/// The jobs that a worker asks for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) worker: i64,
    /// The number of this demand. If the connection breaks and the transaction runs again, it finds
    /// the jobs that it has claimed by this number.
    pub(crate) number: i64,
    /// The maximum number of jobs that are paid for, and of queued jobs.
    pub(crate) paid: usize,
    pub(crate) queued: usize,
    /// The operations and groups whose queued jobs are not wanted if their pictures have at least
    /// this many pixels.
    pub(crate) blocked: Vec<(Scope, u64)>,
}

/// A job that was asked for by its name.
#[derive(Debug)]
pub(crate) enum Named {
    Claimed(Box<Claim>),
    /// No worker can continue it in its state.
    Ended(Box<JobStatus>),
    /// It is queued, and a limit does not allow it.
    Limited(LimitReached),
    /// The worker has submitted it, and could not record the outcome. The number is the id of the
    /// job.
    Unrecorded(i64),
    /// Another worker has it, or is submitting it.
    Held,
}

impl Ledger {
    /// Claims jobs that no worker has. Jobs that are paid for come first, because their delivery
    /// URLs expire. Also returns whether a limit may hold back other jobs until a job ends.
    pub(crate) async fn claim(&self, demand: Demand) -> Result<(Vec<Claim>, bool), Error> {
        self.exclusive(move |database| {
            let jobs = claimed(database, &demand)?;
            if !jobs.is_empty() {
                return Ok((jobs, true));
            }
            claim_paid(database, &demand)?;
            let is_limited = claim_queued(database, &demand)?;
            Ok((claimed(database, &demand)?, is_limited))
        })
        .await
    }

    /// Claims the job with this name, if it can be continued now. `number` is the number of the
    /// claim.
    ///
    /// The worker must not be working on the job. A job that the worker has already claimed is
    /// claimed again, because an earlier attempt to release it has failed.
    pub(crate) async fn claim_named(
        &self,
        worker: i64,
        number: i64,
        name: &str,
    ) -> Result<Named, Error> {
        let (given, name) = (name.to_owned(), name.to_owned());
        let claimed = self
            .exclusive(move |database| {
                let demand = Demand { worker, number, paid: 1, queued: 1, blocked: Vec::new() };
                if let Some(job) = claimed(database, &demand)?.pop() {
                    return Ok(Some(Named::Claimed(Box::new(job))));
                }
                let find = find_jobs(database, "j.name = $1", [(&name).into()]);
                let Some(job) = find?.pop() else { return Ok(None) };
                let is_free = job.worker.is_none_or(|owner| owner == worker);
                use JobState::{Queued, Ready, Submitted, Submitting};
                match job.status.state {
                    Queued | Submitted | Ready if is_free => {}
                    Submitting if is_free => return Ok(Some(Named::Unrecorded(job.id))),
                    Queued | Submitted | Ready | Submitting => return Ok(Some(Named::Held)),
                    _ => return Ok(Some(Named::Ended(Box::new(job.status)))),
                }
                let subject = Subject::of(&job.status);
                if job.status.state == JobState::Queued
                    && !Gate::read(database, &[])?.admits(subject)
                {
                    let limit = refusal(database, subject, job.status.pixels)?;
                    return Ok(Some(limit.map_or(Named::Held, Named::Limited)));
                }
                take(database, &demand, &[job.id])?;
                let claimed = claimed(database, &demand)?.pop();
                Ok(Some(claimed.map_or(Named::Held, |job| Named::Claimed(Box::new(job)))))
            })
            .await?;
        claimed.ok_or_else(|| no_job(&given))
    }

    /// Gives back a job that this worker cannot continue. Only workers that register later try it
    /// again.
    pub(crate) async fn leave(&self, job: &Claim) -> Result<(), Error> {
        self.give_back(job, true).await
    }

    /// Gives back a job that any worker can continue.
    pub(crate) async fn release(&self, job: &Claim) -> Result<(), Error> {
        self.give_back(job, false).await
    }

    async fn give_back(&self, job: &Claim, is_left: bool) -> Result<(), Error> {
        let left_after = if is_left { "(SELECT MAX(id) FROM workers)" } else { "NULL" };
        // Does nothing if it is repeated, or if the job was taken over.
        let give_back = format!(
            "UPDATE jobs SET worker = NULL, left_after = {left_after}
             WHERE id = $1 AND worker = $2 AND state IN ('queued', 'submitted', 'ready')"
        );
        self.execute(give_back, [job.id.into(), job.worker.into()]).await.map(drop)
    }
}

/// A job that this worker may claim.
const CLAIMABLE: &str = "worker IS NULL AND (left_after IS NULL OR left_after < $1)";

/// Claims jobs that are paid for. Those with pictures that are ready come first, because their URLs
/// expire.
fn claim_paid(database: &mut Database, demand: &Demand) -> Result<(), Error> {
    if demand.paid == 0 {
        return Ok(());
    }
    let find = format!(
        "SELECT id FROM jobs WHERE {CLAIMABLE} AND {PAID}
         ORDER BY state, priority DESC, id LIMIT $2"
    );
    let limit = i64::try_from(demand.paid).unwrap_or(i64::MAX);
    let found = database.rows::<(i64,)>(&find, [demand.worker.into(), limit.into()])?;
    let ids: Vec<_> = found.into_iter().map(|(id,)| id).collect();
    take(database, demand, &ids)
}

/// Claims queued jobs that no limit holds back. Returns whether a limit may hold back others.
fn claim_queued(database: &mut Database, demand: &Demand) -> Result<bool, Error> {
    if demand.queued == 0 {
        return Ok(false);
    }
    let mut gate = Gate::read(database, &demand.blocked)?;
    let mut wanted = demand.queued;
    while wanted > 0 && !gate.is_closed() {
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let mut values: Vec<Value> = vec![demand.worker.into(), limit.into()];
        let find = find_queued(&gate.condition(&mut values));
        let found = database.rows::<(i64, String, Option<String>)>(&find, values)?;
        let mut admitted = Vec::new();
        for (id, operation, group) in &found {
            if gate.admits(Subject { operation, group: group.as_deref() }) {
                admitted.push(*id);
            }
        }
        take(database, demand, &admitted)?;
        // The gate is now closed for the scopes of the jobs that it did not admit, so the next
        // query leaves them out.
        wanted = if found.len() < wanted { 0 } else { wanted - admitted.len() };
    }
    Ok(gate.is_limiting())
}

/// Returns the query of queued jobs to claim that also meet a condition.
fn find_queued(condition: &str) -> String {
    format!(
        "SELECT id, operation, group_name FROM jobs
         WHERE {CLAIMABLE} AND state = 'queued'{condition} ORDER BY priority DESC, id LIMIT $2"
    )
}

/// Assigns these jobs to the worker. Fails with kind [`Lease`](crate::ErrorKind::Lease) if another
/// worker has taken over its jobs.
fn take(database: &mut Database, demand: &Demand, ids: &[i64]) -> Result<(), Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut values: Vec<Value> = vec![demand.worker.into(), demand.number.into()];
    values.extend(ids.iter().map(|id| Value::from(*id)));
    let places: Vec<_> = (3..values.len() + 1).map(|place| format!("${place}")).collect();
    let sql = format!(
        "UPDATE jobs SET worker = $1, claim = $2, left_after = NULL
         WHERE EXISTS (SELECT 1 FROM workers WHERE id = $1 AND ended_at IS NULL)
         AND id IN ({})",
        places.join(", ")
    );
    // The jobs were found in this transaction, so that only the worker can be missing.
    if database.execute(&sql, values)? == 0 { Err(lease_lost()) } else { Ok(()) }
}

/// Returns the error for a worker whose jobs another worker has taken over.
pub(in crate::ledger) fn lease_lost() -> Error {
    let message = "the lease of the worker expired, and another worker took over its jobs; run \
                   the batch again to continue";
    Error::new(ErrorKind::Lease, message)
}

fn claimed(database: &mut Database, demand: &Demand) -> Result<Vec<Claim>, Error> {
    let (worker, number) = (demand.worker, demand.number);
    let values = [worker.into(), number.into()];
    let claim = |FoundJob { id, status, request, .. }| Claim { id, worker, status, request };
    Ok(database.rows(&find_claimed(), values)?.into_iter().map(claim).collect())
}

/// Returns the query of the jobs of a claim.
fn find_claimed() -> String {
    let request = format!("CASE WHEN OCTET_LENGTH(j.request) <= {SMALL} THEN j.request END");
    let claimed = "j.worker = $1 AND j.claim = $2";
    select(&request, &format!("{claimed} AND j.{OPEN} ORDER BY j.priority DESC, j.id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how the database runs a query.
    fn plan(database: &mut Database, query: &str) -> String {
        let values = [1.into(), 8.into()];
        let steps: Vec<String> = match database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(..) => {
                let explain = format!("EXPLAIN QUERY PLAN {query}");
                let rows = database.rows::<(i64, i64, i64, String)>(&explain, values);
                rows.unwrap().into_iter().map(|(.., step)| step).collect()
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(..) => {
                // As in a table with many jobs.
                database.execute("SET LOCAL enable_seqscan TO off", []).unwrap();
                let rows = database.rows::<(String,)>(&format!("EXPLAIN {query}"), values);
                rows.unwrap().into_iter().map(|(step,)| step).collect()
            }
        };
        steps.join("\n")
    }

    /// A claim reads no more than it takes, however many jobs there are.
    async fn check_plans(ledger: Ledger) {
        let check = |database: &mut Database| {
            let queued = plan(database, &find_queued(""));
            assert!(queued.contains("jobs_to_claim"), "{queued}");
            assert!(!queued.contains("Sort") && !queued.contains("TEMP B-TREE"), "{queued}");
            let claimed = plan(database, &find_claimed());
            assert!(claimed.contains("jobs_of_workers"), "{claimed}");
            Ok(())
        };
        ledger.transaction(check).await.unwrap();
    }

    #[tokio::test]
    async fn claims_in_a_file_use_small_indices() {
        let directory = tempfile::tempdir().unwrap();
        check_plans(Ledger::open(directory.path().join("ledger.db")).await.unwrap()).await;
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn claims_on_a_server_use_small_indices() {
        use imagekiln_testbed::postgres::{POSTGRES, cluster};
        if !(POSTGRES.is_present)() && std::env::var_os(POSTGRES.variable).is_none() {
            return;
        }
        check_plans(Ledger::open(&cluster().create_database()).await.unwrap()).await;
    }
}
