//! Takes one job from its state to the end.

use std::path::PathBuf;

use imagekiln::{Client, Picture, Task};
use tokio::sync::Mutex;

use super::OnChange;
use crate::{Error, ErrorKind, Ledger, State, ledger::Pending};

pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) ledger: Ledger,
    pub(super) directory: PathBuf,
    on_change: OnChange,
    /// Held during the submission of a job whose price is not known.
    pub(super) admission: Mutex<()>,
}

/// How a worker left a job.
pub(super) enum End {
    /// Its state is final, or it cannot continue in this run.
    Finished,
    /// It is queued, because the budget does not allow it.
    OverBudget,
    /// It is queued, because the service refused it. A later submission may succeed.
    Refused(imagekiln::Error),
    /// It failed for a reason that affects the other jobs, too.
    Stop(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Stop(error)
    }
}

impl Worker {
    pub(super) fn new(
        client: Client,
        ledger: Ledger,
        directory: PathBuf,
        on_change: OnChange,
    ) -> Self {
        Self { client, ledger, directory, on_change, admission: Mutex::default() }
    }

    /// Continues the job. The same code starts new jobs and resumes interrupted ones.
    pub(super) async fn advance(&self, job: &mut Pending) -> End {
        match self.try_advance(job).await {
            Ok(()) => End::Finished,
            Err(end) => end,
        }
    }

    async fn try_advance(&self, job: &mut Pending) -> Result<(), End> {
        let open = self.ledger.open_job(job.id).await?;
        if self.was_saved(job, &open).await? {
            return Ok(());
        }
        let task = match &open.task {
            Some(task) => self.client.task(task.clone()),
            None => self.submit(job, &open).await?,
        };
        let picture = self.wait(job, &task).await?;
        self.save(job, &open, &task, picture).await
    }

    /// Waits for the picture of an accepted job.
    pub(super) async fn wait(&self, job: &mut Pending, task: &Task) -> Result<Picture, End> {
        use imagekiln::ErrorKind as Kind;
        let error = match task.wait().await {
            Ok(picture) => return Ok(picture),
            Err(error) => error,
        };
        let state = match error.kind() {
            Kind::TaskFailed => State::Failed,
            Kind::Moderated => State::Moderated,
            _ => job.state,
        };
        self.set_state(job, state, Some(&error.to_string())).await?;
        match error.kind() {
            // The other tasks may be faster, and the service may find this one again.
            Kind::TaskFailed | Kind::Moderated | Kind::Deadline | Kind::TaskNotFound => {
                Err(End::Finished)
            }
            _ => Err(stop(job, "could not poll the task", error)),
        }
    }

    /// Writes a new state, or a new reason, and reports it.
    pub(super) async fn set_state(
        &self,
        job: &mut Pending,
        state: State,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        self.ledger.set_state(job, state, reason).await?;
        job.state = state;
        self.report(job).await
    }

    pub(super) async fn report(&self, job: &Pending) -> Result<(), Error> {
        if let Some(status) = self.ledger.job(&job.name).await? {
            (self.on_change)(&status);
        }
        Ok(())
    }
}

/// Ends the submissions of the run: as long as a paid picture cannot be fetched, the batch does not
/// pay for others.
pub(super) fn stop(job: &Pending, what: &str, error: imagekiln::Error) -> End {
    let message = format!("{what} of job `{}`", job.name);
    End::Stop(Error::new(ErrorKind::Client, message).with_source(error))
}
