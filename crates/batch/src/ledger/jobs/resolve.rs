//! Resolves submissions whose responses were lost: a person decides whether the service billed
//! them, or a webhook brings the task.

use imagekiln::{
    Client, Damaged, Task, TaskRef, find_operation,
    journal::{Record, Step},
};

use super::{Jobs, unchanged};
use crate::{
    Error, ErrorKind, JobState, JobStatus,
    description::description,
    ledger::{
        Ledger,
        database::{Database, Value, no_row},
        records::{SubmissionRow, has_task},
    },
    output::{Output, SaveError},
    state::NOT_SUBMITTED,
};

/// What a person decides about an [`Unknown`](JobState::Unknown) job's submission, for example from
/// the usage that the service reports, or about a [`Damaged`](JobState::Damaged) job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The service billed the submission, and the picture is given up, because its task is not
    /// known or its file is damaged. The job becomes [`Failed`](JobState::Failed).
    Paid,
    /// The service did not bill the submission. The job becomes [`Queued`](JobState::Queued), and
    /// the next run submits it.
    NotPaid,
    /// The damaged file is good enough. The ledger gives it the name of the picture, and the job
    /// becomes [`Saved`](JobState::Saved).
    Damaged,
}

impl Resolution {
    /// Returns the step for the record of an unknown job's submission.
    pub(super) fn step(self) -> Result<Step, Error> {
        match self {
            Self::Paid => Ok(Step::Settled),
            Self::NotPaid => Ok(Step::NotBilled),
            Self::Damaged => {
                let message = "a damaged job is resolved by its name; nothing was changed";
                Err(Error::new(ErrorKind::State, message))
            }
        }
    }
}

impl Jobs<'_> {
    /// Resolves a job in the state [`Unknown`](JobState::Unknown) or
    /// [`Damaged`](JobState::Damaged), and returns its new status. A damaged job cannot be
    /// [`NotPaid`](Resolution::NotPaid), because its picture was delivered.
    ///
    /// If a submission was billed and you resolve it as [`NotPaid`](Resolution::NotPaid), the next
    /// run pays for the picture a second time.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, or it is in another state.
    /// - [`File`](ErrorKind::File): the damaged file is gone, or another file has the name of the
    ///   picture.
    /// - [`Hold`](ErrorKind::Hold): the job cannot be [`NotPaid`](Resolution::NotPaid) yet, because
    ///   the worker that lost its lease may still send the request. The message says how long to
    ///   wait: at most 15 minutes.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn resolve(self, name: &str, resolution: Resolution) -> Result<JobStatus, Error> {
        let job = self.existing(name).await?;
        match resolution {
            Resolution::Damaged => self.accept_damaged(&job).await?,
            Resolution::Paid if job.state == JobState::Damaged => {
                let reason = "the picture was damaged, and a person gave it up".to_owned();
                let given_up = (JobState::Failed, Some(reason), None);
                self.end_damaged(name, Step::Settled, given_up).await?;
            }
            Resolution::Paid | Resolution::NotPaid => {
                let unknown = "j.name = $1 AND j.submission = s.id AND j.state = 'unknown'";
                let record = self.ledger.record_of(unknown, name, "unknown").await?;
                self.ledger.decide(&record, resolution.step()?).await?;
            }
        }
        self.existing(name).await
    }

    /// Gives the file of a damaged job the name of its picture, and makes the job saved.
    async fn accept_damaged(self, job: &JobStatus) -> Result<(), Error> {
        if job.state != JobState::Damaged {
            return Err(unchanged(job, "damaged"));
        }
        let JobStatus { name, location, .. } = job;
        let gone = || {
            let message = format!("nothing has arrived of the picture of job `{name}`");
            Error::new(ErrorKind::File, message)
        };
        let (output, kept) = Output::of_location(location.as_deref().ok_or_else(gone)?)?;
        let key = Damaged::picture_of(&kept).unwrap_or_else(|| kept.clone().into());
        let key = key.to_string_lossy();
        let saved = output.accept(&kept, &key).await.map_err(|error| match error {
            SaveError::Output { error, .. } => error,
            _ => {
                let message = format!("{} is another file", output.location(&key));
                Error::new(ErrorKind::File, message)
            }
        })?;
        if let Some(request) = self.request(name).await? {
            let described = description(job, &request, &saved)?;
            output.write_beside(&key, &described.to_json()).await?;
        }
        let step = saved.step();
        self.end_damaged(name, step, (JobState::Saved, None, Some(saved.location))).await?;
        output.remove(&kept).await;
        Ok(())
    }

    /// Closes the record of a damaged job, and changes the state, the reason and the location of
    /// the job.
    async fn end_damaged(
        self,
        name: &str,
        step: Step,
        (to, reason, location): (JobState, Option<String>, Option<String>),
    ) -> Result<(), Error> {
        let name = name.to_owned();
        self.ledger
            .transaction(move |database| {
                let damaged = "j.name = $1 AND j.submission = s.id AND j.state = 'damaged'";
                // If this transaction runs again after its commit, the job is no longer damaged.
                let Some(mut submission) = SubmissionRow::find_one(database, damaged, &name)?
                else {
                    return Ok(());
                };
                let update =
                    "UPDATE jobs SET state = $1, reason = $2, location = $3, changed_at = $4
                WHERE name = $5 AND state = 'damaged'";
                let values = vec![
                    to.as_str().into(),
                    reason.clone().into(),
                    location.clone().into(),
                    database.now().into(),
                    (&name).into(),
                ];
                submission.advance_with(database, &step, (update.to_owned(), values)).map(drop)
            })
            .await
    }
}

impl Ledger {
    /// Returns the record of a job's last submission whose task is not known, even if a person has
    /// resolved the job in the meantime.
    pub(crate) async fn lost(&self, name: &str) -> Result<Record, Error> {
        let lost = format!(
            "j.name = $1 AND s.task_id IS NULL AND (j.{NOT_SUBMITTED}
                OR j.submission = s.id AND j.state IN ('unknown', 'failed')) ORDER BY s.id"
        );
        self.record_of(lost, name, "waiting for its task").await
    }

    /// Returns the record of the last submission of a job that meets a condition.
    async fn record_of(
        &self,
        condition: impl Into<String>,
        name: &str,
        expected: &'static str,
    ) -> Result<Record, Error> {
        match self.last_record(condition, name).await? {
            Some(record) => Ok(record),
            None => Err(unchanged(&self.jobs().existing(name).await?, expected)),
        }
    }

    /// Returns the record of the last submission that meets a condition with a value.
    async fn last_record(
        &self,
        condition: impl Into<String>,
        value: &str,
    ) -> Result<Option<Record>, Error> {
        let (condition, value) = (condition.into(), Value::from(value));
        let find = move |database: &mut Database| {
            let found = SubmissionRow::find(database, &condition, [value.clone()])?.pop();
            Ok(found.map(|submission| submission.record))
        };
        self.transaction(find).await
    }

    /// Returns the record of the submission with this token in its webhook URL.
    #[cfg(feature = "webhook")]
    pub(crate) async fn called_back(&self, token: &str) -> Result<Option<Record>, Error> {
        self.last_record("s.token = $1", token).await
    }

    /// Records the outcome of a submission whose response was lost. A task proves that the
    /// submission was billed, even if a person resolved it as not billed. If the job has not been
    /// submitted again yet, it continues with the task, so that it is not paid for twice.
    ///
    /// Fails with kind [`State`](ErrorKind::State) if the task belongs to another submission, or if
    /// the submission has a task.
    pub(crate) async fn decide(&self, lost: &Record, step: Step) -> Result<(), Error> {
        let submission = lost.intent().id();
        let (id, decided) = (submission.to_owned(), step.clone());
        self.exclusive(move |database| {
            let found = SubmissionRow::find_one(database, "s.intent_id = $1", &id)?;
            let mut found = found.ok_or_else(no_row)?;
            let left = found.hold_until.unwrap_or_default() - database.now();
            // The request may still arrive and be billed, and the job would be submitted again.
            if left > 0 && decided == Step::NotBilled {
                return Err(held(left));
            }
            found.decide(database, &decided)
        })
        .await?;
        self.announce();
        // The acceptance log keeps the task, too, in case the database loses it. Decisions without
        // a task are not written to the log, because the log may contain a task that the person did
        // not know about.
        if let Step::Accepted(_) = step {
            for step in [step, Step::Settled] {
                self.log_step(submission, &step).await;
            }
        }
        Ok(())
    }
}

impl SubmissionRow {
    /// Applies a step that does not come from the client that sent the submission.
    pub(in crate::ledger) fn decide(
        &mut self,
        database: &mut Database,
        step: &Step,
    ) -> Result<(), Error> {
        let known = self.record.task().map(TaskRef::id);
        let is_refused = match step {
            Step::Accepted(task) if known != Some(task.id()) => {
                has_task(database, task.id(), self.record.intent().operation())?
            }
            Step::Accepted(_) => false,
            _ => known.is_some(),
        };
        if is_refused {
            let message = "the submission has a task, or the task belongs to another submission; \
                           nothing was changed";
            return Err(Error::new(ErrorKind::State, message));
        }
        self.advance(database, step)
    }
}

/// Returns the task with this id, at the base URL of the operation of the lost submission. Sends no
/// request.
pub(crate) fn task_of(client: &Client, lost: &Record, id: &str) -> Result<Task, Error> {
    let name = lost.intent().operation();
    let operation = find_operation(name).ok_or_else(|| {
        let message = format!("this version does not know the operation {name}");
        Error::new(ErrorKind::Client, message)
    })?;
    client
        .task_by_id(operation, id)
        .map_err(Error::because(ErrorKind::Client, "could not poll the task"))
}

/// `left` is in milliseconds.
fn held(left: i64) -> Error {
    let message = format!(
        "the job cannot be resolved as not paid yet: the worker that submitted it lost its \
         lease and may still send the request; try again in {} s",
        (left + 999) / 1000
    );
    Error::new(ErrorKind::Hold, message)
}
