//! The changes that a worker makes to a job that it has claimed.

use std::time::SystemTime;

use imagekiln::{
    Request,
    journal::{Record, Step},
};

use super::claims::{Claim, lease_lost};
use crate::{
    Error, JobState, JobStatus,
    ledger::{
        Ledger,
        database::{Database, clocks::time_of, is_taken, no_row},
        jobs::status::find_jobs,
        records::SubmissionRow,
    },
    output::SavedPicture,
};

impl Ledger {
    /// Returns the request of a claimed job, and the record of its submission, if it has one.
    /// Returns `None` if the job was changed since: a webhook may have found its task, or a person
    /// may have removed it.
    pub(crate) async fn claimed_job(
        &self,
        job: &Claim,
    ) -> Result<Option<(Request, Option<Record>)>, Error> {
        let claim = [job.id.into(), job.worker.into(), job.status.state.as_str().into()];
        self.find_job("j.id = $1 AND j.worker = $2 AND j.state = $3", claim).await
    }

    /// Returns the request of a job, and the record of its submission, if it has one.
    pub(crate) async fn open_job(&self, job: &Claim) -> Result<(Request, Option<Record>), Error> {
        let found = self.find_job("j.id = $1", [job.id.into()]).await?;
        found.ok_or_else(no_row)
    }

    /// Reads the status of a claimed job again: the journal, a webhook or a person may have changed
    /// it.
    pub(crate) async fn refresh(&self, job: &mut Claim) -> Result<(), Error> {
        let id = job.id;
        let find = move |database: &mut Database| find_jobs(database, "j.id = $1", [id.into()]);
        if let Some(found) = self.transaction(find).await?.pop() {
            job.status = found.status;
        }
        Ok(())
    }

    /// Changes a job that this worker has claimed. If the new state equals the old one, only the
    /// reason and the location change.
    ///
    /// Fails with kind [`Lease`](ErrorKind::Lease) if the worker no longer has the job.
    pub(crate) async fn change(&self, job: &mut Claim, change: Change) -> Result<(), Error> {
        let (id, worker, from) = (job.id, Some(job.worker), job.status.state);
        let write = move |database: &mut Database| change.write(database, id, worker, from);
        job.status = self.transaction(write).await?;
        Ok(())
    }

    /// Returns the time on the clock of this process, which may differ from the clock of the
    /// ledger.
    pub(crate) fn local_time(&self) -> SystemTime {
        time_of(self.0.clocks.milliseconds())
    }

    /// Records that the picture will be saved at `location`, where no file exists. Returns `false`
    /// if this is the location of another job: after a crash, the picture of the other job could be
    /// mistaken for this job's.
    pub(crate) async fn set_ready(&self, job: &mut Claim, location: String) -> Result<bool, Error> {
        let (state, location) = (JobState::Ready, Some(location));
        match self.change(job, Change { state, reason: None, location, step: None }).await {
            Err(error) if is_taken(&error) => Ok(false),
            changed => changed.map(|()| true),
        }
    }
}

/// A change of a job by its worker.
pub(crate) struct Change {
    /// The new state, or the old one if only the reason and the location change.
    pub(crate) state: JobState,
    pub(crate) reason: Option<String>,
    /// The location of the picture, or, if the job becomes damaged, of the bytes that arrived.
    /// `None` keeps the location, unless the job becomes damaged.
    pub(crate) location: Option<String>,
    /// The step of the submission that goes with the change.
    pub(crate) step: Option<Step>,
}

impl Change {
    /// The picture and its description are durable. `difference` says how the picture differs from
    /// the request, if it does.
    pub(crate) fn saved(picture: &SavedPicture, difference: Option<String>) -> Self {
        Self {
            state: JobState::Saved,
            reason: difference,
            location: Some(picture.location.clone()),
            step: Some(picture.step()),
        }
    }

    /// If the connection broke after the commit, the job is in its new state already.
    pub(in crate::ledger) fn write(
        &self,
        database: &mut Database,
        job: i64,
        worker: Option<i64>,
        from: JobState,
    ) -> Result<JobStatus, Error> {
        let update = "UPDATE jobs SET state = $1, reason = $2,
             location = CASE WHEN $1 = 'damaged' THEN $3 ELSE COALESCE($3, location) END,
             ready_at = CASE WHEN $1 IN ('ready', 'saved') THEN COALESCE(ready_at, $4)
                ELSE ready_at END,
             changed_at = $4
             WHERE id = $5 AND worker IS NOT DISTINCT FROM $6 AND state IN ($7, $1)";
        let values = vec![
            self.state.as_str().into(),
            self.reason.clone().into(),
            self.location.clone().into(),
            database.now().into(),
            job.into(),
            worker.into(),
            from.as_str().into(),
        ];
        let is_written = match &self.step {
            Some(step) => {
                let current = "j.id = $1 AND j.submission = s.id";
                let submission = SubmissionRow::find_one(database, current, job)?;
                let mut submission = submission.ok_or_else(lease_lost)?;
                submission.advance_with(database, step, (update.to_owned(), values))?
            }
            None => database.execute(update, values)? > 0,
        };
        if !is_written {
            return Err(lease_lost());
        }
        let written = find_jobs(database, "j.id = $1", [job.into()])?.pop();
        written.map(|job| job.status).ok_or_else(no_row)
    }
}

impl SavedPicture {
    pub(in crate::ledger) fn step(&self) -> Step {
        let (path, sha256) = (self.location.clone().into(), Some(self.sha256.clone()));
        Step::Saved { path, bytes: self.bytes, sha256 }
    }
}
