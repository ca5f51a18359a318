//! Continues one job from its state to its end.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use imagekiln::{Client, Picture, Slot, Task};
use tokio::{
    sync::{RwLock, watch},
    time,
};

use super::{OnChange, Settings, unrecorded::Unrecorded};
use crate::{
    Error, ErrorKind, JobState, Ledger,
    ledger::{Change, Claim, LimitReached, Marking},
    output::Output,
};

#[derive(Clone)]
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) ledger: Ledger,
    pub(super) output: Output,
    pub(super) on_change: OnChange,
    pub(super) unrecorded: Unrecorded,
    pub(super) settings: Settings,
    /// Shared by the batch and its receivers of webhooks.
    pub(super) receivers: Weak<()>,
    /// Changes to `true` when the run should submit no more jobs. The caller drops the sender when
    /// it no longer waits for the jobs.
    pub(super) stopped: watch::Receiver<bool>,
    /// Locked for writing during the submission of a job whose price is not known, so that this
    /// worker submits no other job before the response shows the cost.
    pub(super) admission: Arc<RwLock<()>>,
    pub(super) marking: Arc<Marking>,
}

/// The reason why the work on a job ended.
pub(super) enum End {
    /// The state of the job is final.
    Finished,
    /// The job cannot continue in this run.
    Left,
    /// The job is queued, because a limit does not allow its submission.
    Limit(LimitReached),
    /// The job is queued, because the run is stopping or the lease must be renewed first. Or the
    /// job is in any state, and no caller waits for it any longer.
    NotNow,
    /// The job is queued, because the service refused its submission. A later one may succeed.
    Refused(imagekiln::Error),
    /// The picture is damaged. If that happens to several jobs in a row, the cause probably affects
    /// the next ones, too.
    Damaged(Error),
    /// The job failed for a reason that affects other jobs, too.
    Stop(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Stop(error)
    }
}

impl Worker {
    pub(super) fn is_stopping(&self) -> bool {
        *self.stopped.borrow() || self.stopped.has_changed().is_err()
    }

    /// Returns when no caller waits for the jobs any longer.
    pub(super) async fn abandoned(&self) {
        let mut stopped = self.stopped.clone();
        while stopped.changed().await.is_ok() {}
    }

    /// Waits before the next attempt. Fails if no caller waits for the job any longer.
    pub(super) async fn pause(&self, pause: Duration) -> Result<(), End> {
        tokio::select! {
            () = time::sleep(pause) => Ok(()),
            () = self.abandoned() => Err(End::NotNow),
        }
    }

    /// Whether this process may receive a webhook that finds the task of an unknown job.
    pub(super) async fn expects_callbacks(&self) -> Result<bool, Error> {
        let receives = self.receivers.strong_count() > 1;
        Ok(receives && self.ledger.may_be_called_back(self.settings.callback_patience).await?)
    }

    /// Continues the job. The same code starts new jobs and resumes interrupted ones. Without a
    /// slot, a new job waits for one.
    pub(super) async fn advance(&self, job: &mut Claim, slot: Option<Slot>) -> End {
        match self.try_advance(job, slot).await {
            Ok(()) => End::Finished,
            Err(end) => end,
        }
    }

    async fn try_advance(&self, job: &mut Claim, slot: Option<Slot>) -> Result<(), End> {
        if self.was_saved(job).await? {
            return Ok(());
        }
        // Drop the request before the wait for the task, because it may contain images.
        let task = {
            let found = match job.request()?.filter(|_| job.status.state == JobState::Queued) {
                // The journal checks that the job is still queued.
                Some(request) => Some((request, None)),
                None => self.ledger.claimed_job(job).await?,
            };
            let Some((request, record)) = found else { return Err(End::Finished) };
            match record.and_then(|record| self.client.task_of_record(&record)) {
                Some(task) => task,
                None => self.submit(job, request, slot).await?,
            }
        };
        let picture = self.wait(job, &task).await?;
        self.save(job, &task, picture).await
    }

    /// Waits for the picture of an accepted job.
    pub(super) async fn wait(&self, job: &mut Claim, task: &Task) -> Result<Picture, End> {
        use imagekiln::ErrorKind as Kind;
        let waited = tokio::select! {
            biased;
            () = self.abandoned() => return Err(End::NotNow),
            waited = task.wait() => waited,
        };
        let error = match waited {
            Ok(picture) => return Ok(picture),
            Err(error) => error,
        };
        if self.has_ended(job, &error).await? {
            return Err(End::Finished);
        }
        Err(match error.kind() {
            // Other tasks may be faster, and the next run continues this one.
            Kind::Deadline | Kind::TaskNotFound | Kind::TaskFailed | Kind::Moderated => End::Left,
            _ => stop(job, "could not poll the task", error),
        })
    }

    /// Records why a job has no picture yet. Returns `true` if its record shows that it never will.
    pub(super) async fn has_ended(
        &self,
        job: &mut Claim,
        error: &imagekiln::Error,
    ) -> Result<bool, Error> {
        self.ledger.refresh(job).await?;
        let state = job.status.state;
        self.set_state(job, state, Some(&error.to_string())).await?;
        Ok(matches!(state, JobState::Moderated | JobState::Failed | JobState::Expired))
    }

    /// [Writes](Self::change) a new state, or a new reason.
    pub(super) async fn set_state(
        &self,
        job: &mut Claim,
        state: JobState,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let reason = reason.map(str::to_owned);
        self.change(job, Change { state, reason, location: None, step: None }).await
    }

    /// Writes a change of the job, and calls `on_change`.
    pub(super) async fn change(&self, job: &mut Claim, change: Change) -> Result<(), Error> {
        self.ledger.change(job, change).await?;
        (self.on_change)(&job.status);
        Ok(())
    }
}

/// Ends the work on a job with an error that also ends the submissions of the run: as long as the
/// batch cannot fetch a paid picture, it does not pay for others.
pub(super) fn stop(job: &Claim, what: &str, error: imagekiln::Error) -> End {
    End::Stop(failed(job, what, error))
}

pub(super) fn failed(job: &Claim, what: &str, error: imagekiln::Error) -> Error {
    let message = format!("{what} of job `{}`", job.status.name);
    Error::new(ErrorKind::Client, message).with_source(error)
}
