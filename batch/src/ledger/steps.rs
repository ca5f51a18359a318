//! The steps of a job outside of its submission. Each is one statement that names the expected
//! state and the worker.

use std::time::SystemTime;

use imagekiln::{Request, TaskRef, journal::Record};

use super::{
    Ledger,
    claims::Claim,
    database::{Database, Row, Value},
    jobs::time,
    journal::StoredRecord,
    workers::lease_lost,
};
use crate::{Error, ErrorKind, State};

/// Everything that is needed to continue a job.
pub(crate) struct OpenJob {
    pub(crate) request: Request,
    /// The record of its submission, if it has one.
    pub(crate) record: Option<Record>,
}

impl OpenJob {
    pub(crate) fn task(&self) -> Option<&TaskRef> {
        self.record.as_ref()?.task()
    }
}

impl Ledger {
    /// Returns a claimed job, unless it was changed since: a webhook may have found its task, or a
    /// person may have removed it.
    pub(crate) async fn claimed_job(&self, job: &Claim) -> Result<Option<OpenJob>, Error> {
        let claim = [job.id.into(), job.worker.into(), job.status.state.as_str().into()];
        self.find_job("j.id = $1 AND j.worker = $2 AND j.state = $3", claim).await
    }

    pub(crate) async fn open_job(&self, id: i64) -> Result<OpenJob, Error> {
        let job = self.find_job("j.id = $1", [id.into()]).await?;
        job.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    async fn find_job<const N: usize>(
        &self,
        condition: &'static str,
        values: [Value; N],
    ) -> Result<Option<OpenJob>, Error> {
        let found = self
            .transaction(async move |database| {
                let job = format!(
                    "SELECT j.id, j.request, s.intent, s.record, s.task FROM jobs j
                     LEFT JOIN submissions s ON s.id = j.submission WHERE {condition}"
                );
                let row = database.row(&job, values.clone()).await?;
                let read = |row: Row| {
                    let (id, request) = (row.get::<i64>("id")?, row.get::<String>("request")?);
                    Ok((id, request, StoredRecord::of(&row)?))
                };
                row.map(read).transpose()
            })
            .await?;
        let Some((id, request, record)) = found else { return Ok(None) };
        let unreadable = |what: &str| {
            Error::new(ErrorKind::Ledger, format!("could not read {what} of job number {id}"))
        };
        Ok(Some(OpenJob {
            request: Request::from_json(&request)
                .map_err(|error| unreadable("the request").with_source(error))?,
            record: record.read()?,
        }))
    }

    /// Changes the state of a job, or only its reason if both states are the same.
    pub(crate) async fn set_state(
        &self,
        job: &mut Claim,
        to: State,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let change = Change { to, reason: reason.map(str::to_owned), location: None };
        job.status.changed_at = self.change(job, change).await?;
        job.status.state = to;
        job.status.reason = reason.map(str::to_owned);
        Ok(())
    }

    /// Announces that the picture will be saved at `location`, where nothing exists. Returns
    /// `false` if this is the location of another job: after a crash, its picture would be taken
    /// for the picture of this job.
    pub(crate) async fn set_ready(&self, job: &mut Claim, location: String) -> Result<bool, Error> {
        let (id, worker, from) = (job.id, job.worker, job.status.state);
        let change = Change { to: State::Ready, reason: None, location: Some(location.clone()) };
        let ready_at = self
            .transaction(async move |database| {
                database.lock().await?;
                // Some filesystems do not distinguish upper case and lower case.
                let other = "SELECT 1 AS found FROM jobs
                    WHERE LOWER(location) = LOWER($1) AND id <> $2";
                let values = [change.location.clone().into(), id.into()];
                match database.row(other, values).await? {
                    None => change.write(database, id, worker, from).await.map(Some),
                    Some(_) => Ok(None),
                }
            })
            .await?;
        let Some(ready_at) = ready_at else { return Ok(false) };
        job.status.state = State::Ready;
        job.status.reason = None;
        job.status.location = Some(location);
        job.status.changed_at = ready_at;
        job.status.ready_at.get_or_insert(ready_at);
        Ok(true)
    }

    /// Makes a job unknown whose submission ended without a known outcome. Returns its task if the
    /// ledger has learned of it in the meantime.
    pub(crate) async fn set_unknown(
        &self,
        job: &mut Claim,
        reason: &str,
    ) -> Result<Option<TaskRef>, Error> {
        match self.set_state(job, State::Unknown, Some(reason)).await {
            Err(error) if error.kind() == ErrorKind::Lease => {
                self.open_job(job.id).await?.task().cloned().ok_or(error).map(Some)
            }
            changed => changed.map(|()| None),
        }
    }

    /// Returns when the change was written.
    async fn change(&self, job: &Claim, change: Change) -> Result<SystemTime, Error> {
        let (id, worker, from) = (job.id, job.worker, job.status.state);
        self.transaction(async move |database| change.write(database, id, worker, from).await).await
    }
}

/// A change of a job by its worker.
struct Change {
    to: State,
    reason: Option<String>,
    /// `None` keeps the location.
    location: Option<String>,
}

impl Change {
    async fn write(
        &self,
        database: &mut Database,
        id: i64,
        worker: i64,
        from: State,
    ) -> Result<SystemTime, Error> {
        let now = database.now().await?;
        let ready_at = (self.to == State::Ready && from != State::Ready).then_some(now);
        let values: [Value; 8] = [
            self.to.as_str().into(),
            self.reason.clone().into(),
            self.location.clone().into(),
            ready_at.into(),
            now.into(),
            id.into(),
            worker.into(),
            from.as_str().into(),
        ];
        let change = "UPDATE jobs SET state = $1, reason = $2, location = COALESCE($3, location),
            ready_at = COALESCE($4, ready_at), changed_at = $5
            WHERE id = $6 AND worker = $7 AND state = $8";
        if database.execute(change, values).await? == 1 {
            return Ok(time(now));
        }
        // The change may have been written before the connection broke.
        let written = "SELECT 1 AS written FROM jobs WHERE id = $1 AND worker = $2 AND state = $3";
        let values = [id.into(), worker.into(), self.to.as_str().into()];
        match database.row(written, values).await? {
            Some(_) if self.to != from => Ok(time(now)),
            _ => Err(lease_lost()),
        }
    }
}
