//! Takes one job from its state to the end.

use std::{sync::Weak, time::Duration};

use imagekiln::{Client, Picture, Task};
use tokio::sync::{Mutex, watch};

use super::events::Sinks;
use crate::{
    Error, ErrorKind, Ledger, State,
    ledger::{Claim, LimitReached, Limits},
    output::Output,
};

pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) ledger: Ledger,
    pub(super) output: Output,
    pub(super) sinks: Sinks,
    pub(super) limits: Limits,
    pub(super) callback_url: Option<String>,
    pub(super) callback_patience: Duration,
    /// Shared by the batch and its receivers of webhooks.
    pub(super) receivers: Weak<()>,
    /// Changes to `true` when the run should submit no more jobs.
    pub(super) stopped: watch::Receiver<bool>,
    /// Held during the submission of a job whose price is not known.
    pub(super) admission: Mutex<()>,
}

/// How a worker left a job.
pub(super) enum End {
    /// Its state is final.
    Finished,
    /// It cannot continue in this run.
    Left,
    /// It is queued, because a limit does not allow it.
    Limit(LimitReached),
    /// It is queued, because the run is stopping, or the lease must be renewed first.
    NotNow,
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
    pub(super) fn is_stopping(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Whether this process may receive a webhook that finds the task of an unknown job.
    pub(super) async fn expects_callbacks(&self) -> Result<bool, Error> {
        let receives = self.receivers.strong_count() > 1;
        Ok(receives && self.ledger.may_be_called_back(self.callback_patience).await?)
    }

    /// Continues the job. The same code starts new jobs and resumes interrupted ones.
    pub(super) async fn advance(&self, job: &mut Claim) -> End {
        match self.try_advance(job).await {
            Ok(()) => End::Finished,
            Err(end) => end,
        }
    }

    async fn try_advance(&self, job: &mut Claim) -> Result<(), End> {
        if self.was_saved(job).await? {
            return Ok(());
        }
        // Does not hold the request while it waits for the task.
        let task = {
            let Some(open) = self.ledger.claimed_job(job).await? else {
                return Err(End::Finished);
            };
            match open.task {
                Some(task) => self.client.task(task),
                None => self.submit(job, open.request).await?,
            }
        };
        let picture = self.wait(job, &task).await?;
        self.save(job, &task, picture).await
    }

    /// Waits for the picture of an accepted job.
    pub(super) async fn wait(&self, job: &mut Claim, task: &Task) -> Result<Picture, End> {
        use imagekiln::ErrorKind as Kind;
        let error = match task.wait().await {
            Ok(picture) => return Ok(picture),
            Err(error) => error,
        };
        let state = match error.kind() {
            Kind::TaskFailed => State::Failed,
            Kind::Moderated => State::Moderated,
            _ => job.status.state,
        };
        self.set_state(job, state, Some(&error.to_string())).await?;
        match error.kind() {
            Kind::TaskFailed | Kind::Moderated => Err(End::Finished),
            // The other tasks may be faster, and the service may find this one again.
            Kind::Deadline | Kind::TaskNotFound => Err(End::Left),
            _ => Err(stop(job, "could not poll the task", error)),
        }
    }

    /// Writes a new state, or a new reason, and reports it.
    pub(super) async fn set_state(
        &self,
        job: &mut Claim,
        state: State,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        self.ledger.set_state(job, state, reason).await?;
        self.sinks.changed(&job.status);
        Ok(())
    }
}

/// Ends the submissions of the run: as long as a paid picture cannot be fetched, the batch does not
/// pay for others.
pub(super) fn stop(job: &Claim, what: &str, error: imagekiln::Error) -> End {
    let message = format!("{what} of job `{}`", job.status.name);
    End::Stop(Error::new(ErrorKind::Client, message).with_source(error))
}
