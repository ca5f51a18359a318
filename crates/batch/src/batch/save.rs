//! Saves the picture of a job.

use std::time::Duration;

use imagekiln::{
    Asked, Backoff, ErrorKind as Kind, FileKind, Picture, Task,
    journal::{Journal as _, Step},
};
use imagekiln_label::{Template, TemplateFields};

use super::worker::{End, Worker, failed, stop};
use crate::{
    Error, ErrorKind, JobState,
    description::description,
    ledger::{Change, Claim},
    output::{Download, Output, SaveError, SavedPicture, beside},
    time::rfc3339,
};

/// The number of attempts to save a picture, and the first and the longest pause between them. The
/// client also retries each download.
const MAX_ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// The number of attempts to save a damaged picture.
const DAMAGED_ATTEMPTS: u32 = 2;

/// The number of names that are tried for a picture, because other files may have them.
const MAX_NAMES: u32 = 5;

impl Worker {
    /// Whether an earlier run was interrupted after it had saved the picture and before it had
    /// recorded that. If so, records it now. The file at the location is this job's picture:
    /// nothing was there when the job became ready, and pictures are saved atomically.
    pub(super) async fn was_saved(&self, job: &mut Claim) -> Result<bool, Error> {
        let Some((output, key)) = self.announced(job)? else { return Ok(false) };
        let Some(saved) = output.find(&key).await? else { return Ok(false) };
        self.finish(job, &output, &key, &saved).await?;
        Ok(true)
    }

    /// Saves the picture without overwriting another one.
    pub(super) async fn save(
        &self,
        job: &mut Claim,
        task: &Task,
        mut picture: Picture,
    ) -> Result<(), End> {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        for attempt in 1.. {
            let error = match self.try_save(job, &picture).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            self.not_saved(job, &picture, error, attempt).await?;
            self.pause(backoff.pause()).await?;
            picture = self.wait(job, task).await?;
        }
        Ok(())
    }

    /// Records the location of the picture, and then saves the picture there. The next run can then
    /// find the picture if this one is interrupted in between. Uses another location if another job
    /// has recorded this one, or if something is there.
    async fn try_save(&self, job: &mut Claim, picture: &Picture) -> Result<(), SaveError> {
        let announced = self.announced(job)?;
        let (mut is_announced, mut download) = (announced.is_some(), None);
        let (output, mut key) = match announced {
            Some(location) => location,
            None => (self.output.clone(), self.free_key(job, picture, &mut download).await?),
        };
        for _ in 0..MAX_NAMES {
            if is_announced || self.announce(job, output.location(&key)).await? {
                let download = match &download {
                    Some(download) => download,
                    None => download.insert(output.download(&key, picture).await?),
                };
                match output.save(&key, download).await {
                    Err(SaveError::Exists) => {}
                    saved => return Ok(self.finish(job, &output, &key, &saved?).await?),
                }
            }
            is_announced = false;
            key = beside(&key, picture.task().id());
        }
        Err(SaveError::Exists)
    }

    /// Records why the picture was not saved. Returns `Ok` if another attempt may succeed.
    async fn not_saved(
        &self,
        job: &mut Claim,
        picture: &Picture,
        error: SaveError,
        attempt: u32,
    ) -> Result<(), End> {
        let is_last = attempt == MAX_ATTEMPTS;
        let error = match error {
            SaveError::Client(error) => error,
            SaveError::Exists => {
                let message = format!("other files have the names for job `{}`", job.status.name);
                return Err(Error::new(ErrorKind::File, message).into());
            }
            SaveError::Output { error, is_transient } => {
                self.set_state(job, job.status.state, Some(&error.chain())).await?;
                return if is_transient && !is_last { Ok(()) } else { Err(error.into()) };
            }
        };
        if self.has_ended(job, &error).await? {
            return Err(End::Finished);
        }
        match error.kind() {
            Kind::Damaged if attempt < DAMAGED_ATTEMPTS => Ok(()),
            Kind::Damaged => Err(self.damaged(job, picture, error).await?),
            _ if error.is_transient() && !is_last => Ok(()),
            // A refused delivery URL concerns only this picture.
            Kind::Download if error.status().is_some_and(|status| status < 500) => Err(End::Left),
            _ => Err(stop(job, "could not save the picture", error)),
        }
    }

    /// Keeps the bytes of a damaged picture, which is paid for, and leaves the decision about the
    /// job to a person.
    async fn damaged(
        &self,
        job: &mut Claim,
        picture: &Picture,
        error: imagekiln::Error,
    ) -> Result<End, Error> {
        let location = match self.keep_damaged(job, picture, &error).await {
            Ok(location) => location,
            Err(SaveError::Output { error, .. }) => return Err(error),
            Err(SaveError::Client(_) | SaveError::Exists) => None,
        };
        if let (Some(location), Some(submission)) = (&location, picture.task().submission()) {
            let step = Step::Damaged { path: location.into() };
            // A failure is only logged, because the job contains the location, too.
            if let Err(error) = self.ledger.advance(submission, &step).await {
                tracing::warn!(%error, "could not record where a damaged file is");
            }
        }
        let (state, reason) = (JobState::Damaged, Some(error.to_string()));
        self.change(job, Change { state, reason, location, step: None }).await?;
        Ok(End::Damaged(failed(job, "could not save the picture", error)))
    }

    /// Keeps the bytes of a damaged picture beside its target, and returns their location.
    async fn keep_damaged(
        &self,
        job: &Claim,
        picture: &Picture,
        error: &imagekiln::Error,
    ) -> Result<Option<String>, SaveError> {
        let kind = error.damaged().and_then(|damaged| damaged.kind());
        let extension = kind.map_or("bin", FileKind::extension);
        let (output, key) = match self.announced(job)? {
            Some(location) => location,
            None => (self.output.clone(), self.key(job, picture, async |_| Ok(extension)).await?),
        };
        output.keep_damaged(&key, picture, error).await
    }

    /// Returns the output and the key of a ready job's picture. The ledger stores both as one text.
    fn announced(&self, job: &Claim) -> Result<Option<(Output, String)>, Error> {
        match (job.status.state, &job.status.location) {
            (JobState::Ready, Some(location)) => self.output.locate(location).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns a free key. If the name depends on the format, downloads the picture first.
    async fn free_key(
        &self,
        job: &Claim,
        picture: &Picture,
        download: &mut Option<Download>,
    ) -> Result<String, SaveError> {
        let extension = async |near: &str| {
            self.output.prepare(near).await?;
            let downloaded = self.output.download(near, picture).await?;
            Ok(download.insert(downloaded).extension())
        };
        let target = self.key(job, picture, extension).await?;
        let is_free = self.output.is_free(&target).await?;
        Ok(if is_free { target } else { beside(&target, picture.task().id()) })
    }

    /// Makes the job ready, with this location. Returns `false` if another job has recorded the
    /// location.
    async fn announce(&self, job: &mut Claim, location: String) -> Result<bool, Error> {
        let was_ready = job.status.state == JobState::Ready;
        let is_ready = self.ledger.set_ready(job, location).await?;
        if is_ready && !was_ready {
            (self.on_change)(&job.status);
        }
        Ok(is_ready)
    }

    /// Writes the description of the saved picture, and records that the picture is saved. If the
    /// run is interrupted in between, the next run does both again.
    async fn finish(
        &self,
        job: &mut Claim,
        output: &Output,
        key: &str,
        saved: &SavedPicture,
    ) -> Result<(), Error> {
        let request = match job.request()? {
            Some(request) => request,
            None => self.ledger.open_job(job).await?.0,
        };
        let described = description(&job.status, &request, saved)?;
        output.write_beside(key, &described.to_json()).await?;
        let asked = Asked {
            width: request.integer("width"),
            height: request.integer("height"),
            output_format: request.text("output_format"),
        };
        let difference = asked.difference(saved.kind, saved.pixels);
        let difference = difference.map(|found| format!("the picture is {found}"));
        self.change(job, Change::saved(saved, difference)).await
    }

    /// Returns the key for a picture. If the key depends on the format of the picture, `extension`
    /// finds out the extension; its argument is a key in the same directory.
    async fn key(
        &self,
        job: &Claim,
        picture: &Picture,
        extension: impl AsyncFnOnce(&str) -> Result<&'static str, SaveError>,
    ) -> Result<String, SaveError> {
        let template = Template::parse(&job.status.target).map_err(Error::from)?;
        if template.is_plain() {
            return Ok(template.render(&TemplateFields::default()));
        }
        let (request, _) = self.ledger.open_job(job).await?;
        let model = request.model_name();
        let sent = job.status.sent_at.and_then(rfc3339).unwrap_or_default();
        let mut fields = TemplateFields {
            index: job.status.number,
            name: &job.status.name,
            prompt: request.text("prompt").unwrap_or_default(),
            seed: request.integer("seed"),
            model: &model,
            date: sent.get(..10).unwrap_or_default(),
            id: picture.task().id(),
            ext: "",
        };
        if template.has_field("ext") {
            fields.ext = extension(&template.render(&fields)).await?;
        }
        Ok(template.render(&fields))
    }
}
