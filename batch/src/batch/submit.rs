//! Submits a job.

use imagekiln::{Billing, ErrorKind as Kind, Task};
use tokio::sync::MutexGuard;

use super::{
    LONGEST_SUBMISSION, output,
    worker::{End, Worker, stop},
};
use crate::{
    State,
    ledger::{Admission, BudgetReached, OpenJob, Pending, label_of},
};

impl Worker {
    /// Submits a queued job. The journal of the client changes its state.
    pub(super) async fn submit(&self, job: &mut Pending, open: &OpenJob) -> Result<Task, End> {
        // Found out before it is paid for.
        let target = self.directory.join(&open.target);
        if output::exists(&target).await {
            let reason = "the target exists; move the file, and add the job with another name";
            self.set_state(job, State::Failed, Some(reason)).await?;
            return Err(End::Finished);
        }
        output::prepare_parent(&self.directory, &target).await?;
        let _alone = self.admit(job).await?;
        let submitted = self.client.submit_labelled(open.request.clone(), label_of(job.id)).await;
        match submitted {
            Ok(task) => {
                job.state = State::Submitted;
                self.report(job).await?;
                Ok(task)
            }
            Err(error) => self.submission_failed(job, error).await,
        }
    }

    /// Waits until the budget allows the job. While the returned guard exists, no other job is
    /// submitted.
    async fn admit(&self, job: &Pending) -> Result<Option<MutexGuard<'_, ()>>, End> {
        let guard = self.admission.lock().await;
        match self.ledger.admission(&job.operation).await? {
            Admission::Fits => Ok(None),
            Admission::Alone => Ok(Some(guard)),
            Admission::Refused => Err(End::OverBudget),
        }
    }

    async fn submission_failed(
        &self,
        job: &mut Pending,
        error: imagekiln::Error,
    ) -> Result<Task, End> {
        match error.billing() {
            Billing::NotBilled => self.not_billed(job, error).await,
            Billing::Unknown => self.unknown(job, error).await,
            // The ledger could not record the task. The error contains its reference.
            _ => Err(stop(job, "could not record the task", error)),
        }
    }

    /// The client withdrew the intent, so the job is queued again.
    async fn not_billed<T>(&self, job: &mut Pending, error: imagekiln::Error) -> Result<T, End> {
        if is_over_budget(&error) {
            return Err(End::OverBudget);
        }
        let is_about_the_job = match error.kind() {
            Kind::Validation | Kind::File => true,
            // Status codes such as 404 or 407 are more likely about the settings.
            Kind::Service => matches!(error.status(), Some(400 | 413)),
            _ => false,
        };
        if is_about_the_job {
            self.set_state(job, State::Failed, Some(&error.to_string())).await?;
            return Err(End::Finished);
        }
        match error.is_transient() {
            true => Err(End::Refused(error)),
            false => Err(stop(job, "could not submit the request", error)),
        }
    }

    async fn unknown(&self, job: &mut Pending, error: imagekiln::Error) -> Result<Task, End> {
        job.state = State::Submitting;
        // After the deadline of `submit`, the submission continues without its caller.
        if error.kind() == Kind::Deadline {
            let drained = self.client.drain(LONGEST_SUBMISSION).await;
            drained.map_err(|error| stop(job, "could not end the submission", error))?;
            if let Some(task) = self.ledger.open_job(job.id).await?.task {
                job.state = State::Submitted;
                self.report(job).await?;
                return Ok(self.client.task(task));
            }
        }
        self.set_state(job, State::Unknown, Some(&error.to_string())).await?;
        Err(End::Finished)
    }
}

/// Whether the ledger refused the intent because of the budget.
fn is_over_budget(error: &imagekiln::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<BudgetReached>())
}
