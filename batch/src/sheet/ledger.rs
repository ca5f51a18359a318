//! The contact sheet of a ledger.

use std::{io, path::Path, sync::mpsc};

use imagekiln::Request;
use tokio::task;

use super::{Sheet, SheetEntry};
use crate::{
    Error, ErrorKind, Filter, JobState, JobStatus, Ledger,
    output::{Output, OutputTarget},
};

/// The number of jobs that are read at once. Their requests may contain images.
const PAGE: usize = 10;

/// The number of entries between reading and decoding.
const AHEAD: usize = 4;

impl Ledger {
    /// Writes a [`Sheet`] of the jobs that match a filter to `out`, and returns `out`.
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
        filter: &Filter,
        title: &str,
        created_at: &str,
        directory: &Path,
    ) -> Result<W, Error> {
        let unwritable = |error: io::Error| {
            Error::new(ErrorKind::File, "could not write the contact sheet").with_source(error)
        };
        let mut sheet = Sheet::begin(out, title, created_at).map_err(unwritable)?;
        // Decoding pictures takes time, so another thread does it.
        let (entries, received) = mpsc::sync_channel::<SheetEntry>(AHEAD);
        let writing = task::spawn_blocking(move || {
            received.into_iter().try_for_each(|entry| sheet.add(entry))?;
            sheet.finish()
        });
        let mut last = 0;
        'pages: loop {
            let jobs = self.list_with_requests(filter, last, PAGE).await?;
            let Some((end, _)) = jobs.last() else { break };
            last = end.number;
            for (job, request) in jobs {
                let (entry, entries) = (entry(job, &request, directory).await, entries.clone());
                let sent = task::spawn_blocking(move || entries.send(entry).is_ok()).await;
                if !sent.unwrap_or_default() {
                    break 'pages;
                }
            }
        }
        drop(entries);
        writing.await.map_err(io::Error::other).flatten().map_err(unwritable)
    }
}

async fn entry(job: JobStatus, request: &Request, directory: &Path) -> SheetEntry {
    let location = job.location.as_deref().filter(|_| job.state == JobState::Saved);
    SheetEntry {
        prompt: request.text("prompt").filter(|prompt| !prompt.is_empty()).map(str::to_owned),
        seed: request.integer("seed"),
        credits: job.credits,
        link: location.and_then(|location| link(location, directory)),
        picture: match location {
            Some(location) => picture(location).await,
            None => None,
        },
        reason: job.reason,
        task_id: job.task_id,
        ..SheetEntry::new(job.name, request.model_name(), job.state)
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
