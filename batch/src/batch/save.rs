//! Saves the picture of a job.

use std::{path::PathBuf, time::Duration};

use imagekiln::{ErrorKind as Kind, Picture, SaveOptions, Task};
use tokio::time;

use super::{
    output,
    worker::{End, Worker, stop},
};
use crate::{Error, State, ledger::Claim};

/// The number of times that a picture is saved, and the pause before the second time. The client
/// also retries each download.
const MAX_ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(2);

impl Worker {
    /// Whether a run was interrupted after it saved the picture and before it recorded that. No
    /// file existed at this path when the job became ready, and pictures are saved atomically.
    pub(super) async fn was_saved(&self, job: &mut Claim) -> Result<bool, Error> {
        let Some(path) = job.status.path.clone().filter(|_| job.status.state == State::Ready)
        else {
            return Ok(false);
        };
        let is_saved = output::exists(&path).await;
        if is_saved {
            self.set_state(job, State::Saved, None).await?;
        }
        Ok(is_saved)
    }

    /// Saves the picture without overwriting a file.
    pub(super) async fn save(
        &self,
        job: &mut Claim,
        task: &Task,
        mut picture: Picture,
    ) -> Result<(), End> {
        let options = SaveOptions::default().overwrite(false).follow_symlinks(false);
        let mut path = self.announce(job, task).await?;
        for attempt in 1.. {
            let error = match picture.save_with(&path, options.clone()).await {
                Ok(_) => return Ok(self.set_state(job, State::Saved, None).await?),
                Err(error) => error,
            };
            if error.kind() == Kind::File && attempt < MAX_ATTEMPTS && output::exists(&path).await {
                path = output::beside(&path, task.id());
                self.ledger.set_ready(job, &path).await?;
                continue;
            }
            // The client has already polled for a new delivery URL.
            let state = if error.kind() == Kind::Expired { State::Expired } else { State::Ready };
            self.set_state(job, state, Some(&error.to_string())).await?;
            if state == State::Expired {
                return Err(End::Finished);
            }
            if !error.is_transient() || attempt == MAX_ATTEMPTS {
                return Err(stop(job, "could not save the picture", error));
            }
            time::sleep(FIRST_PAUSE * 2_u32.pow(attempt - 1)).await;
            picture = self.wait(job, task).await?;
        }
        Ok(())
    }

    /// Makes the job ready, and returns the path for its picture.
    async fn announce(&self, job: &mut Claim, task: &Task) -> Result<PathBuf, End> {
        if let (State::Ready, Some(path)) = (job.status.state, &job.status.path) {
            return Ok(path.clone());
        }
        let target = self.directory.join(&job.status.target);
        output::prepare_parent(&self.directory, &target).await?;
        let path = match output::exists(&target).await {
            true => output::beside(&target, task.id()),
            false => target,
        };
        self.ledger.set_ready(job, &path).await?;
        self.sinks.changed(&job.status);
        Ok(path)
    }
}
