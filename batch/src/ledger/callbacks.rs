//! Finds submissions by the tokens in their webhook URLs.

use imagekiln::TaskRef;

use super::{Ledger, database::Database, journal::accept};
use crate::{Error, ErrorKind};

/// The submission that a webhook is about.
pub(crate) struct CalledBack {
    pub(crate) intent_id: String,
    pub(crate) operation: String,
    /// Its task, if the ledger knows it.
    pub(crate) task: Option<TaskRef>,
}

impl Ledger {
    pub(crate) async fn called_back(&self, token: &str) -> Result<Option<CalledBack>, Error> {
        let token = token.to_owned();
        self.transaction(async move |database| {
            let find = "SELECT intent_id, operation, task FROM submissions WHERE token = $1";
            let Some(row) = database.row(find, [(&token).into()]).await? else { return Ok(None) };
            let task = row.get::<Option<String>>("task")?;
            let task =
                task.map(|task| serde_json::from_str(&task)).transpose().map_err(|error| {
                    Error::new(ErrorKind::Ledger, "could not read a task").with_source(error)
                })?;
            let (intent_id, operation) = (row.get("intent_id")?, row.get("operation")?);
            Ok(Some(CalledBack { intent_id, operation, task }))
        })
        .await
    }

    /// Records the task of a submission whose response was lost, even if a person resolved it as
    /// not billed: the task proves that it was. A job that is not submitted again yet continues.
    ///
    /// Fails with kind [`State`](ErrorKind::State) if the task belongs to another submission.
    pub(crate) async fn adopt(&self, lost: &CalledBack, task: &TaskRef) -> Result<(), Error> {
        let (intent_id, task) = (lost.intent_id.clone(), task.clone());
        self.transaction(async move |database| {
            database.lock().await?;
            let other = "SELECT 1 AS found FROM submissions WHERE task_id = $1 AND intent_id <> $2";
            let other = database.row(other, [task.id().into(), (&intent_id).into()]).await?;
            if other.is_some() {
                let message =
                    "the task of the webhook belongs to another submission; nothing was changed";
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
