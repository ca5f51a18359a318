//! The contact sheet of a ledger.

use std::{io, path::Path, sync::mpsc};

use imagekiln::Request;
use tokio::task;

use super::{Sheet, SheetEntry};
use crate::{
    Error, ErrorKind, JobState, JobStatus, Ledger,
    output::{Output, OutputTarget},
};

/// The number of entries between reading and decoding.
const AHEAD: usize = 4;

impl Ledger {
    /// Writes a [`Sheet`] of all jobs to `out`, and returns `out`.
    ///
    /// Links to pictures in files are relative to `directory`, which is the directory of the sheet.
    /// Pictures outside of it have a thumbnail and no link. Pictures in buckets are downloaded for
    /// their thumbnails.
    ///
    /// # Errors
    ///
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    /// - [`File`](ErrorKind::File): `out` cannot be written. A picture that cannot be read is shown
    ///   without a thumbnail.
    pub async fn write_sheet<W: io::Write + Send + 'static>(
        &self,
        out: W,
        title: &str,
        created_at: &str,
        directory: &Path,
    ) -> Result<W, Error> {
        let unwritable = |error: io::Error| {
            Error::new(ErrorKind::File, "could not write the contact sheet").with_source(error)
        };
        let jobs = self.jobs().await?;
        let mut sheet = Sheet::begin(out, title, created_at).map_err(unwritable)?;
        // Decoding pictures takes time, so another thread does it.
        let (entries, received) = mpsc::sync_channel::<SheetEntry>(AHEAD);
        let writing = task::spawn_blocking(move || {
            received.into_iter().try_for_each(|entry| sheet.add(entry))?;
            sheet.finish()
        });
        for job in jobs {
            let entry = self.sheet_entry(job, directory).await?;
            let entries = entries.clone();
            let sent = task::spawn_blocking(move || entries.send(entry).is_ok()).await;
            if !sent.unwrap_or_default() {
                break;
            }
        }
        drop(entries);
        writing.await.map_err(io::Error::other).flatten().map_err(unwritable)
    }

    async fn sheet_entry(&self, job: JobStatus, directory: &Path) -> Result<SheetEntry, Error> {
        let request = self.request(&job.name).await?;
        let request = request.as_ref();
        let prompt = request.and_then(|request| request.text("prompt")).unwrap_or_default();
        let model = request.map_or(job.operation.clone(), Request::model_name);
        let location = job.location.as_deref().filter(|_| job.state == JobState::Saved);
        Ok(SheetEntry {
            prompt: Some(prompt.to_owned()).filter(|prompt| !prompt.is_empty()),
            seed: request.and_then(|request| request.integer("seed")),
            credits: job.credits,
            reason: job.reason.clone(),
            task_id: job.task_id.clone(),
            link: location.and_then(|location| link(location, directory)),
            picture: match location {
                Some(location) => picture(location).await,
                None => None,
            },
            ..SheetEntry::new(job.name.clone(), model, job.state)
        })
    }
}

/// Returns the path of a file relative to the sheet, separated by `/`.
fn link(location: &str, directory: &Path) -> Option<String> {
    let directory = std::path::absolute(directory).ok()?;
    let path = Path::new(location).strip_prefix(directory).ok()?;
    let parts: Option<Vec<_>> = path.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// Returns the content of a picture, if it still exists.
async fn picture(location: &str) -> Option<Vec<u8>> {
    let read = async {
        let output = Output::new(&OutputTarget::new(".")?)?;
        let (output, key) = output.locate(location)?;
        output.read(&key).await
    };
    match read.await {
        Ok(picture) => picture,
        Err(error) => {
            tracing::warn!(
                location,
                error = error.chain(),
                "could not read a picture for the contact sheet"
            );
            None
        }
    }
}
