//! Submits a job.

use std::error::Error as _;

use imagekiln::{Billing, ErrorKind as Kind, Request, Slot, SubmitOptions, Task};
use imagekiln_label::{Template, TemplateFields};
use tokio::sync::RwLockWriteGuard;

use super::worker::{End, Worker, stop};
use crate::{
    Error, ErrorKind, JobState,
    ledger::{Admission, Claim, LimitReached, Ticket, refuses_others},
    random,
};

/// The field of the contract for the URL of webhooks.
const WEBHOOK_URL: &str = "webhook_url";

impl Worker {
    /// Submits a queued job. The journal of the client, which is the ledger, changes the state of
    /// the job.
    pub(super) async fn submit(
        &self,
        job: &mut Claim,
        request: Request,
        slot: Option<Slot>,
    ) -> Result<Task, End> {
        self.check_target(job).await?;
        let _alone = self.admit(job).await?;
        let (request, token) = self.with_callback(request)?;
        let ticket = Ticket { job: job.id, worker: job.worker, token };
        let origin = ticket.origin(&job.status.name, job.status.group.as_deref());
        let options = SubmitOptions::default().origin(origin);
        match self.client.submit_in(slot, request, options).await {
            Ok(task) => {
                self.ledger.refresh(job).await?;
                (self.on_change)(&job.status);
                Ok(task)
            }
            Err(error) => self.submission_failed(job, error).await,
        }
    }

    /// Checks, before the job is billed, that its picture can be saved. Names that depend on the
    /// picture are not known yet.
    async fn check_target(&self, job: &mut Claim) -> Result<(), End> {
        let template = Template::parse(&job.status.target).map_err(Error::from)?;
        if !template.is_plain() {
            return Ok(());
        }
        let target = template.render(&TemplateFields::default());
        if self.output.is_free(&target).await? {
            return Ok(());
        }
        // A person may have cancelled the job since it was claimed.
        if self.ledger.claimed_job(job).await?.is_some() {
            let reason = "the target exists; move the file, and add the job with another name";
            self.set_state(job, JobState::Failed, Some(reason)).await?;
        }
        Err(End::Finished)
    }

    /// Adds a webhook URL to the request, if the batch has callbacks, the operation has webhooks,
    /// and the request does not have a URL already. Also returns the token in the URL.
    fn with_callback(&self, request: Request) -> Result<(Request, Option<String>), Error> {
        let Some(url) = &self.settings.callback_url else { return Ok((request, None)) };
        if request.operation().field(WEBHOOK_URL).is_none() || request.has_field(WEBHOOK_URL) {
            return Ok((request, None));
        }
        let token = token()?;
        let url = format!("{}/{token}", url.trim_end_matches('/'));
        Ok((request.field(WEBHOOK_URL, url), Some(token)))
    }

    /// Checks that the limits allow the job. While the returned guard exists, this worker submits
    /// no other job.
    async fn admit(&self, job: &Claim) -> Result<Option<RwLockWriteGuard<'_, ()>>, End> {
        if self.settings.limits.budget.is_some() {
            // The jobs before this one decide how much of the budget is left for it.
            self.ledger.reach_place(job.id).await;
        }
        {
            let _with_others = self.admission.read().await;
            if self.admission_of(job).await? == Admission::Allowed {
                return Ok(None);
            }
        }
        let alone = self.admission.write().await;
        // The response to another job may have shown the price in the meantime.
        Ok((self.admission_of(job).await? == Admission::Alone).then_some(alone))
    }

    async fn admission_of(&self, job: &Claim) -> Result<Admission, End> {
        if self.is_stopping() {
            return Err(End::NotNow);
        }
        let limits = self.settings.limits;
        if limits.budget.is_none() {
            // The journal checks the limits of the ledger.
            return Ok(Admission::Allowed);
        }
        match self.ledger.admission(&job.status, limits).await? {
            Admission::Refused(limit) => Err(End::Limit(limit)),
            admission => Ok(admission),
        }
    }

    async fn submission_failed(
        &self,
        job: &mut Claim,
        error: imagekiln::Error,
    ) -> Result<Task, End> {
        match error.billing() {
            Billing::NotBilled => self.not_billed(job, error).await,
            Billing::Unknown => self.unknown(job, error).await,
            // The task is billed, but the ledger could not record it. The error must contain the
            // task.
            Billing::Accepted(task) => {
                self.unrecorded.accepted(task);
                Err(stop(job, "could not record the task", error))
            }
            _ => Err(stop(job, "could not submit the request", error)),
        }
    }

    /// The client withdrew the intent, so the job is queued again.
    async fn not_billed<T>(&self, job: &mut Claim, error: imagekiln::Error) -> Result<T, End> {
        if let Some(limit) = refusal::<LimitReached>(&error) {
            return Err(End::Limit(limit.clone()));
        }
        let ledger_error = refusal(&error).or_else(|| error.source()?.downcast_ref());
        match ledger_error.map(Error::kind) {
            Some(ErrorKind::Lease) => return Err(End::NotNow),
            // A webhook has found the task of the job, or a person has removed it.
            Some(ErrorKind::State) => return Err(End::Finished),
            // The name of the job is the key of another submission.
            Some(ErrorKind::Job) => {
                let reason = ledger_error.map(Error::to_string);
                self.set_state(job, JobState::Failed, reason.as_deref()).await?;
                return Err(End::Finished);
            }
            _ => {}
        }
        if refuses_others(&error) {
            return Err(End::Refused(error));
        }
        // All other refusals of the service are about the request.
        if matches!(error.kind(), Kind::Validation | Kind::File | Kind::Service) {
            self.set_state(job, JobState::Failed, Some(&error.to_string())).await?;
            return Err(End::Finished);
        }
        Err(stop(job, "could not submit the request", error))
    }

    async fn unknown(&self, job: &mut Claim, error: imagekiln::Error) -> Result<Task, End> {
        // After the deadline of `submit`, the submission continues without its caller.
        if error.kind() == Kind::Deadline {
            let drained = self.unrecorded.drain(&self.client).await;
            drained.map_err(|error| stop(job, "could not end the submission", error))?;
        }
        job.status.state = JobState::Submitting;
        match self.set_state(job, JobState::Unknown, Some(&error.to_string())).await {
            Ok(()) => Err(End::Finished),
            // A webhook may have found the task, or another worker has taken over the job.
            Err(lost) if lost.kind() == ErrorKind::Lease => {
                let (_, record) = self.ledger.open_job(job).await?;
                let task = record.and_then(|record| self.client.task_of_record(&record));
                let task = task.ok_or(lost)?;
                self.ledger.refresh(job).await?;
                (self.on_change)(&job.status);
                Ok(task)
            }
            Err(error) => {
                self.unrecorded.unknown();
                Err(error.into())
            }
        }
    }
}

/// Returns 32 random hexadecimal digits, which nobody can guess.
fn token() -> Result<String, Error> {
    Ok(random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns why the ledger refused the submission.
fn refusal<T: std::error::Error + 'static>(error: &imagekiln::Error) -> Option<&T> {
    error.refusal()?.downcast_ref()
}
