//! Takes over pictures that are saved, but not in this ledger.

use std::path::PathBuf;

use imagekiln::{Address, Request, TaskRef};
use serde_json::json;

use super::{
    Ledger,
    database::{Database, Value},
};
use crate::{
    Error, JobStatus,
    output::{Output, OutputTarget},
    provenance::Description,
};
#[cfg(doc)]
use crate::{ErrorKind, State};

impl Ledger {
    /// Makes this the ledger of an output that another ledger has paid for, or of which this one
    /// has lost submissions. Also accepts that the file of the ledger was copied or moved.
    ///
    /// Reads the descriptions beside the pictures of the output, which is a directory or a URL
    /// as for [`Batch::save_to`](crate::Batch::save_to). A job that is [`Queued`](State::Queued) or
    /// [`Unknown`](State::Unknown) becomes [`Saved`](State::Saved) if a description has its name
    /// and its request, and the picture is unchanged. Returns these jobs. Add the jobs to the
    /// ledger first.
    ///
    /// If the ledger has lost tasks that its acceptance log knows, their jobs become
    /// [`Submitted`](State::Submitted), and are also returned. The tasks of jobs that the ledger
    /// does not have with the same request only count for the budget.
    ///
    /// Tasks that the other ledger has paid for and whose pictures are not saved are not found: the
    /// next run pays for their jobs again.
    ///
    /// # Errors
    ///
    /// - [`File`](ErrorKind::File): the output cannot be read or written.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn adopt_output(&self, output: impl Into<PathBuf>) -> Result<Vec<JobStatus>, Error> {
        let output = Output::new(&OutputTarget::new(output.into())?)?;
        let mut adopted = Vec::new();
        for key in output.described().await? {
            let described = output.description(&key).await?;
            let Some(description) = described.as_deref().and_then(Description::parse) else {
                continue;
            };
            if self.adopt_picture(&output, &key, &description).await? {
                adopted.push(self.existing(&description.job).await?);
            }
        }
        adopted.extend(self.restore_lost(true).await?);
        self.accept_output(&output).await?;
        Ok(adopted)
    }

    /// Returns whether a job became saved.
    async fn adopt_picture(
        &self,
        output: &Output,
        key: &str,
        description: &Description,
    ) -> Result<bool, Error> {
        let Some(request) = self.request(&description.job).await? else { return Ok(false) };
        if !description.is_of(&request)
            || output
                .find(key)
                .await?
                .is_none_or(|found| found.sha256 != description.picture.sha256)
        {
            return Ok(false);
        }
        let found = Found::new(output.location(key), description, &request)?;
        self.transaction(async move |database| {
            database.lock().await?;
            found.record(database).await
        })
        .await
    }
}

/// A saved picture of a job.
struct Found {
    job: String,
    location: String,
    operation: &'static str,
    task_id: String,
    /// The reference of the task as JSON. Its polling URL is not known.
    task: String,
    cost: Option<f64>,
}

impl Found {
    fn new(location: String, description: &Description, request: &Request) -> Result<Self, Error> {
        let operation = request.operation().name;
        let unknown = Address::from(String::new());
        let task = TaskRef::new(&*description.task_id, unknown, Some(operation.to_owned()));
        let task = serde_json::to_string(&task).map_err(|error| {
            Error::new(crate::ErrorKind::Ledger, "could not write the task").with_source(error)
        })?;
        let (job, task_id) = (description.job.clone(), description.task_id.clone());
        Ok(Self { job, location, operation, task_id, task, cost: description.credits })
    }

    /// Makes the job saved, unless the ledger has the task or the place already.
    async fn record(&self, database: &mut Database) -> Result<bool, Error> {
        let find = "SELECT id, submission FROM jobs
            WHERE name = $1 AND state IN ('queued', 'unknown')
            AND NOT EXISTS (SELECT 1 FROM jobs WHERE LOWER(location) = LOWER($2))
            AND NOT EXISTS (SELECT 1 FROM submissions WHERE task_id = $3)";
        let values = [(&self.job).into(), (&self.location).into(), (&self.task_id).into()];
        let Some(row) = database.row(find, values).await? else { return Ok(false) };
        let (job, now): (i64, _) = (row.get("id")?, database.now().await?);
        if row.get::<Option<i64>>("submission")?.is_none() {
            let open = "INSERT INTO submissions (intent_id, intent, operation, job, state, sent_at)
                VALUES ($1, $2, $3, $4, 'open', $5)";
            let id = format!("adopted {job} {}", self.task_id);
            let intent = json!({ "id": &id, "operation": self.operation, "at": now / 1000 });
            let values = [
                (&id).into(),
                (&intent.to_string()).into(),
                self.operation.into(),
                job.into(),
                now.into(),
            ];
            database.execute(open, values).await?;
        }
        let settle = "UPDATE submissions SET state = 'settled', task_id = $1, task = $2, cost = $3,
            accepted_at = $4 WHERE job = $5 AND state = 'open'";
        let task: [Value; 5] =
            [(&self.task_id).into(), (&self.task).into(), self.cost.into(), now.into(), job.into()];
        database.execute(settle, task).await?;
        let saved = "UPDATE jobs SET state = 'saved', reason = NULL, worker = NULL, location = $1,
            submission = (SELECT id FROM submissions WHERE job = $2 AND task_id = $3),
            ready_at = $4, changed_at = $4 WHERE id = $2";
        let values = [(&self.location).into(), job.into(), (&self.task_id).into(), now.into()];
        Ok(database.execute(saved, values).await? == 1)
    }
}
