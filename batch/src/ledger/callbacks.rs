//! Finds submissions by the tokens in their webhook URLs.

use imagekiln::TaskRef;

use super::{Ledger, tasks::Lost};
use crate::{Error, ErrorKind};

/// The submission that a webhook is about.
pub(crate) struct CalledBack {
    pub(crate) lost: Lost,
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
            Ok(Some(CalledBack { lost: Lost::of(&row)?, task }))
        })
        .await
    }
}
