//! Claims: which worker continues a job.

use super::{
    Ledger,
    database::{Database, Value},
    jobs::find_jobs,
};
use crate::{Error, JobStatus};

/// A job that only this worker can change.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) id: i64,
    pub(crate) worker: i64,
    /// The job as this worker last wrote it.
    pub(crate) status: JobStatus,
}

/// The jobs that a worker asks for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) worker: i64,
    /// The number of this demand, which identifies it if the connection breaks.
    pub(crate) number: i64,
    /// The maximum numbers of paid jobs and of queued ones.
    pub(crate) paid: usize,
    pub(crate) queued: usize,
    /// The operations whose queued jobs are not wanted.
    pub(crate) blocked: Vec<String>,
}

impl Ledger {
    /// Claims jobs that no worker has: first those that are paid.
    pub(crate) async fn claim(&self, demand: Demand) -> Result<Vec<Claim>, Error> {
        self.exclusive(async move |database| {
            let claimed = claimed(database, &demand).await?;
            if !claimed.is_empty() {
                return Ok(claimed);
            }
            claim(database, &demand, "state IN ('ready', 'submitted')", demand.paid, &[]).await?;
            claim(database, &demand, "state = 'queued'", demand.queued, &demand.blocked).await?;
            self::claimed(database, &demand).await
        })
        .await
    }

    /// Gives back a job that this worker cannot continue. Workers that register later try again.
    pub(crate) async fn leave(&self, job: &Claim) -> Result<(), Error> {
        self.give_back(job, true).await
    }

    /// Gives back a job that any worker can continue.
    pub(crate) async fn release(&self, job: &Claim) -> Result<(), Error> {
        self.give_back(job, false).await
    }

    async fn give_back(&self, job: &Claim, is_left: bool) -> Result<(), Error> {
        let (id, worker) = (job.id, job.worker);
        self.transaction(async move |database| {
            let left_after = if is_left { "(SELECT MAX(id) FROM workers)" } else { "NULL" };
            // Does nothing if it is repeated, or if the job was taken over.
            let give_back = format!(
                "UPDATE jobs SET worker = NULL, left_after = {left_after}
                 WHERE id = $1 AND worker = $2 AND state IN ('queued', 'submitted', 'ready')"
            );
            database.execute(&give_back, [id.into(), worker.into()]).await?;
            Ok(())
        })
        .await
    }
}

async fn claim(
    database: &mut Database,
    demand: &Demand,
    state: &str,
    limit: usize,
    blocked: &[String],
) -> Result<(), Error> {
    if limit == 0 {
        return Ok(());
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut values: Vec<Value> = vec![demand.worker.into(), demand.number.into(), limit.into()];
    let mut unwanted = String::new();
    for operation in blocked {
        values.push(operation.into());
        unwanted.push_str(&format!(" AND operation <> ${}", values.len()));
    }
    // The worker must not have been taken over in the meantime. Of the paid jobs, the pictures that
    // are ready come first: their URLs expire.
    let sql = format!(
        "UPDATE jobs SET worker = $1, claim = $2, left_after = NULL
         WHERE EXISTS (SELECT 1 FROM workers WHERE id = $1 AND ended_at IS NULL)
         AND id IN (
            SELECT id FROM jobs WHERE worker IS NULL AND {state}
            AND (left_after IS NULL OR left_after < $1){unwanted} ORDER BY state, id LIMIT $3)"
    );
    database.execute(&sql, values).await?;
    Ok(())
}

async fn claimed(database: &mut Database, demand: &Demand) -> Result<Vec<Claim>, Error> {
    let (worker, number) = (demand.worker, demand.number);
    let claimed = "j.worker = $1 AND j.claim = $2 ORDER BY j.id";
    let jobs = find_jobs(database, claimed, [worker.into(), number.into()]).await?;
    Ok(jobs.into_iter().map(|job| Claim { id: job.id, worker, status: job.status }).collect())
}
