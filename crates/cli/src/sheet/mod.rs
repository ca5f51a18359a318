//! The contact sheet: one HTML file with the pictures of a batch.
//!
//! The file contains everything that it needs and loads nothing from the network. If a link of an
//! entry leads to the picture, the sheet shows it when a thumbnail is enlarged.

mod card;
mod page;
mod preview;
mod template;
mod totals;

use std::{io, path::Path, sync::mpsc};

use tempfile::NamedTempFile;
use tokio::task;

use self::totals::Totals;
use crate::{
    failure::Failure,
    models::{PROMPT, SEED},
};
use imagekiln::Request;
use imagekiln_batch::{Filter, JobState, JobStatus, Ledger};

/// The number of jobs that are read at once. Their requests may contain images.
const PAGE: usize = 10;

/// The number of entries between reading and decoding.
const AHEAD: usize = 4;

/// Writes a sheet of the jobs that match a filter, and returns its file.
///
/// Links to pictures in files are relative to `directory`, which is the directory of the sheet.
/// Pictures outside of it have a thumbnail and no link. Pictures in buckets are downloaded for
/// their thumbnails. A picture that cannot be read is shown without one.
pub async fn write(
    ledger: &Ledger,
    out: NamedTempFile,
    filter: &Filter,
    (title, created_at): (&str, &str),
    directory: &Path,
) -> Result<NamedTempFile, Failure> {
    let unwritable = |error| Failure::file("could not write the contact sheet", error);
    let mut sheet = Sheet::begin(out, title, created_at).map_err(unwritable)?;
    // Decoding pictures takes time, so another thread does it.
    let (entries, received) = mpsc::sync_channel::<Entry>(AHEAD);
    let writing = task::spawn_blocking(move || {
        received.into_iter().try_for_each(|entry| sheet.add(&entry))?;
        sheet.finish()
    });
    let mut last = 0;
    'pages: loop {
        let jobs = ledger.jobs().list_with_requests(filter, last, PAGE).await?;
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

async fn entry(job: JobStatus, request: &Request, directory: &Path) -> Entry {
    let location = job.location.as_deref().filter(|_| job.state == JobState::Saved);
    Entry {
        prompt: request.text(PROMPT).filter(|prompt| !prompt.is_empty()).map(str::to_owned),
        seed: request.integer(SEED),
        credits: job.credits,
        link: location.and_then(|location| link(location, directory)),
        picture: picture(&job).await,
        reason: job.reason,
        task_id: job.task_id,
        ..Entry::new(job.name, request.model_name(), job.state)
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
async fn picture(job: &JobStatus) -> Option<Vec<u8>> {
    job.read_picture().await.unwrap_or_else(|error| {
        let failure = Failure::from(error);
        let error = [std::slice::from_ref(&failure.message), &failure.causes].concat().join(": ");
        let location = job.location.as_deref();
        tracing::warn!(location, error, "could not read a picture for the contact sheet");
        None
    })
}

/// The entry of a job on the sheet.
#[derive(Clone)]
pub struct Entry {
    /// The name of the job.
    pub name: String,
    /// The prompt, if the request has one.
    pub prompt: Option<String>,
    /// The name of the model.
    pub model: String,
    /// The seed, if the request has one.
    pub seed: Option<i64>,
    /// The cost in credits, if the service reported it.
    pub credits: Option<f64>,
    /// The state of the job.
    pub state: JobState,
    /// Why the job is in this state, or why it could not leave it.
    pub reason: Option<String>,
    /// The id of its task, if the service accepted the job.
    pub task_id: Option<String>,
    /// The path of the picture, relative to the directory of the sheet and separated by `/`.
    pub link: Option<String>,
    /// The content of the picture's file.
    pub picture: Option<Vec<u8>>,
}

impl Entry {
    /// Creates an entry in which the optional fields are `None`.
    pub fn new(name: impl Into<String>, model: impl Into<String>, state: JobState) -> Self {
        Self {
            name: name.into(),
            prompt: None,
            model: model.into(),
            seed: None,
            credits: None,
            state,
            reason: None,
            task_id: None,
            link: None,
            picture: None,
        }
    }

    /// Whether the job may have been billed and its cost is not known.
    fn is_without_cost(&self) -> bool {
        let may_be_billed = matches!(self.state, JobState::Submitting | JobState::Unknown);
        self.credits.is_none() && (may_be_billed || self.task_id.is_some())
    }
}

/// Writes jobs as they are added, so pictures do not accumulate in memory.
pub struct Sheet<W> {
    out: W,
    totals: Totals,
}

impl<W: io::Write> Sheet<W> {
    /// Writes the head of a sheet.
    pub fn begin(mut out: W, title: &str, created_at: &str) -> io::Result<Self> {
        out.write_all(page::head(title, created_at).as_bytes())?;
        Ok(Self { out, totals: Totals::default() })
    }

    /// Writes a job. A picture that cannot be decoded, such as a video or a damaged file, is
    /// replaced by a note.
    pub fn add(&mut self, entry: &Entry) -> io::Result<()> {
        self.totals.add(entry);
        self.out.write_all(card::html(entry).as_bytes())
    }

    /// Writes the totals and the end of the sheet, and returns the flushed file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(page::foot(&self.totals).as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}
