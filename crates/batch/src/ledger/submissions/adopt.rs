//! Adopts saved pictures that the ledger does not contain.

use std::path::PathBuf;

use imagekiln::{
    TaskRef,
    journal::{Intent, Step},
};
use imagekiln_label::Description;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    Error, ErrorKind, JobState, JobStatus,
    ledger::{
        Ledger,
        database::Database,
        records::{SubmissionRow, has_task},
        workers::steps::Change,
    },
    output::{Output, OutputTarget, SavedPicture},
};

impl Ledger {
    /// Makes this the ledger of an output whose pictures another ledger has paid for, or for which
    /// this ledger has lost submissions. Also accepts that the file of the ledger was copied or
    /// moved.
    ///
    /// Reads the descriptions beside the pictures of the output, which is a directory or a URL as
    /// for [`Batch::save_to`](crate::Batch::save_to). A job that is [`Queued`](JobState::Queued) or
    /// [`Unknown`](JobState::Unknown) becomes [`Saved`](JobState::Saved) if a description has its
    /// name and its request, and the picture is unchanged. A [`Submitted`](JobState::Submitted) job
    /// becomes saved if, in addition, its task is that of the picture. Add the jobs to the ledger
    /// before you call this method, or call it again afterwards. Returns the jobs that became
    /// saved.
    ///
    /// If the ledger has lost submissions that its acceptance log knows, their jobs are also
    /// returned: they become [`Submitted`](JobState::Submitted) if the log has the task, and
    /// otherwise [`Unknown`](JobState::Unknown). A job with the same name and request that is added
    /// later gets the submission, too. Until then, the task only counts for the budgets.
    ///
    /// This method cannot find tasks that another ledger has paid for and whose pictures are not
    /// saved yet: the next run pays for their jobs again.
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
            if let Some(description) = described.as_deref().and_then(Description::parse) {
                adopted.extend(self.adopt_picture(&output, &key, description).await?);
            }
        }
        adopted.extend(self.restore_lost(true).await?);
        self.accept_output(&output).await?;
        Ok(adopted)
    }

    /// Returns the status of the job if it became saved.
    async fn adopt_picture(
        &self,
        output: &Output,
        key: &str,
        description: Description,
    ) -> Result<Option<JobStatus>, Error> {
        let Some(job) = &description.job else { return Ok(None) };
        let Some(request) = self.jobs().request(job).await? else { return Ok(None) };
        let found = output.find(key).await?.filter(|_| description.is_of(&request));
        let found = found.filter(|found| found.sha256 == description.picture.sha256);
        let Some(picture) = found else { return Ok(None) };
        let operation = request.operation().name;
        self.exclusive(move |database| adopt(database, &description, operation, &picture)).await
    }
}

/// Makes the job saved, unless the task or the location already belongs to another job.
fn adopt(
    database: &mut Database,
    description: &Description,
    operation: &str,
    picture: &SavedPicture,
) -> Result<Option<JobStatus>, Error> {
    let Description { job, task_id, credits, .. } = description;
    let name = job.as_deref().unwrap_or_default();
    let find = "SELECT id, submission, group_name, state FROM jobs
        WHERE name = $1 AND state IN ('queued', 'unknown', 'submitted')
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE LOWER(location) = LOWER($2))";
    let values = [name.into(), (&picture.location).into()];
    type Found = (i64, Option<i64>, Option<String>, String);
    let Some((job, submission, group, state)) = database.row::<Found>(find, values)? else {
        return Ok(None);
    };
    let known = SubmissionRow::find_one(database, "s.id = $1", submission)?;
    let own = known.as_ref().and_then(|known| known.record.task());
    let is_own = own.is_some_and(|own| own.id() == task_id);
    if !is_own && (state == JobState::Submitted.as_str() || has_task(database, task_id, operation)?)
    {
        return Ok(None);
    }
    let mut submission = match known {
        Some(known) => known,
        None => {
            let (id, at) = (format!("adopted {job} {task_id}"), database.now() / 1000);
            let intent: Intent = built(json!({
                "id": id, "operation": operation, "at": at, "label": name, "group": group
            }))?;
            SubmissionRow::insert(database, &intent, Some(job), None, None)?
        }
    };
    // Its polling URL is not known.
    let task: TaskRef =
        built(json!({"id": task_id, "polling_url": "", "operation": operation, "cost": credits}))?;
    submission.advance(database, &Step::Accepted(task))?;
    let saved = Change::saved(picture, None);
    saved.write(database, job, None, JobState::Submitted).map(Some)
}

fn built<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value)
        .map_err(Error::because(ErrorKind::Ledger, "could not describe the task"))
}
