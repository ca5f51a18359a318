//! Tasks that are known from elsewhere than the response to their submission: from a webhook, or
//! because a person found them.

use imagekiln::{Client, Task, TaskRef, find_operation, journal::Step};

use super::{
    Ledger,
    database::{Database, Row},
    journal::accept,
    manage::why_unchanged,
};
use crate::{Error, ErrorKind};

/// A submission whose task is not known.
pub(crate) struct Lost {
    intent_id: String,
    /// The name of the operation.
    operation: String,
}

impl Lost {
    /// Reads the columns `intent_id` and `operation`.
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(Self { intent_id: row.get("intent_id")?, operation: row.get("operation")? })
    }

    /// Returns the task with this id at the base URL of the operation. Nothing is sent.
    pub(crate) fn task(&self, client: &Client, id: &str) -> Result<Task, Error> {
        let operation = find_operation(&self.operation).ok_or_else(|| {
            let message = format!("this version does not know the operation {}", self.operation);
            Error::new(ErrorKind::Client, message)
        })?;
        client.task_by_id(operation, id).map_err(|error| {
            Error::new(ErrorKind::Client, "could not poll the task").with_source(error)
        })
    }
}

impl Ledger {
    /// Whether a submission of the ledger has this task.
    pub(crate) async fn has_recorded(&self, task: &TaskRef) -> Result<bool, Error> {
        let task = task.clone();
        self.transaction(async move |database| {
            let find = "SELECT task FROM submissions WHERE task_id = $1";
            let rows = database.rows(find, [task.id().into()]).await?;
            let is_the_task = |row: &Row| {
                let stored: TaskRef =
                    serde_json::from_str(&row.get::<String>("task").ok()?).ok()?;
                // Two regions may use the same id.
                Some(stored.polling_url() == task.polling_url())
            };
            Ok(rows.iter().any(|row| is_the_task(row).unwrap_or_default()))
        })
        .await
    }

    /// Returns the submission of a job whose task is not known. A person may have resolved it.
    pub(crate) async fn lost(&self, name: &str) -> Result<Lost, Error> {
        let name = name.to_owned();
        self.transaction(async move |database| {
            let find =
                "SELECT s.intent_id, s.operation FROM submissions s JOIN jobs j ON s.job = j.id
                WHERE j.name = $1 AND (j.submission = s.id AND j.state = 'unknown'
                    OR j.submission = s.id AND j.state = 'failed' AND s.state = 'lost'
                    OR j.state = 'queued' AND s.state = 'withdrawn')
                ORDER BY s.id DESC LIMIT 1";
            match database.row(find, [(&name).into()]).await? {
                Some(row) => Lost::of(&row),
                None => Err(why_unchanged(database, &name, "waiting for its task").await?),
            }
        })
        .await
    }

    /// Records the task of a submission whose response was lost, even if a person resolved it as
    /// not billed: the task proves that it was. A job that is not submitted again yet continues.
    ///
    /// Fails with kind [`State`](ErrorKind::State) if the task belongs to another submission.
    pub(crate) async fn adopt(&self, lost: &Lost, task: &TaskRef) -> Result<(), Error> {
        self.record_task(&lost.intent_id, task).await?;
        // The log keeps the task, in case the ledger loses it.
        for step in [Step::Accepted(task.clone()), Step::Settled] {
            self.log_step(&lost.intent_id, &step).await;
        }
        Ok(())
    }

    pub(super) async fn record_task(&self, intent_id: &str, task: &TaskRef) -> Result<(), Error> {
        let (intent_id, task) = (intent_id.to_owned(), task.clone());
        self.transaction(async move |database| {
            database.lock().await?;
            let other = "SELECT 1 AS found FROM submissions WHERE task_id = $1 AND intent_id <> $2";
            let other = database.row(other, [task.id().into(), (&intent_id).into()]).await?;
            if other.is_some() {
                let message = "the task belongs to another submission; nothing was changed";
                return Err(Error::new(ErrorKind::State, message));
            }
            reopen(database, &intent_id).await?;
            accept(database, &intent_id, &task).await
        })
        .await?;
        self.0.changes.send_replace(());
        Ok(())
    }
}

/// Returns a withdrawn submission to its job, if the job is not submitted again yet.
async fn reopen(database: &mut Database, intent_id: &str) -> Result<(), Error> {
    let now = database.now().await?;
    let job = "UPDATE jobs SET state = 'unknown', reason = NULL, changed_at = $1, worker = NULL,
            submission = (SELECT id FROM submissions WHERE intent_id = $2)
        WHERE state = 'queued'
        AND id = (SELECT job FROM submissions WHERE intent_id = $2 AND state = 'withdrawn')";
    if database.execute(job, [now.into(), intent_id.into()]).await? == 1 {
        let open = "UPDATE submissions SET state = 'open' WHERE intent_id = $1";
        database.execute(open, [intent_id.into()]).await?;
    }
    Ok(())
}
