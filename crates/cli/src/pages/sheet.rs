//! The contact sheet: one HTML file with the pictures of a batch.

use std::{io, path::Path, sync::mpsc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tempfile::NamedTempFile;
use tokio::task;

use super::{Item, Kind, Page, Preview, job, relative_url};
use crate::failure::Failure;
use imagekiln_batch::{Filter, JobStatus, Ledger};

/// The number of jobs that are read from the ledger at once. It is small because requests may
/// contain images.
const PAGE: usize = 10;

/// The maximum number of items that wait to be decoded.
const AHEAD: usize = 4;

/// Writes a sheet of the jobs that match a filter, and returns its file.
///
/// Links to pictures in files are relative to `directory`, the directory of the sheet. Pictures
/// outside of it have a thumbnail but no link. Pictures in buckets are downloaded for their
/// thumbnails. If a picture cannot be read, its job has no thumbnail.
pub async fn write(
    ledger: &Ledger,
    out: NamedTempFile,
    filter: &Filter,
    titles: (&str, &str),
    directory: &Path,
) -> Result<NamedTempFile, Failure> {
    let unwritable = |error| Failure::file("could not write the contact sheet", error);
    let mut sheet = Sheet::begin(out, titles).map_err(unwritable)?;
    // Pictures are decoded on another thread, because decoding takes time.
    let (items, received) = mpsc::sync_channel::<(Item, Option<Vec<u8>>)>(AHEAD);
    let writing = task::spawn_blocking(move || {
        received.into_iter().try_for_each(|(item, picture)| sheet.add(item, picture.as_deref()))?;
        sheet.finish()
    });
    let directory = std::path::absolute(directory).map_err(unwritable)?;
    let mut last = 0;
    'pages: loop {
        let jobs = ledger.jobs().page_with_requests(filter, last, PAGE).await?;
        let Some((end, _)) = jobs.last() else { break };
        last = end.number;
        for (job, request) in jobs {
            let mut item = job::item(&job, &request);
            item.link = job::path(&job).and_then(|path| relative_url(path, &directory));
            let (found, items) = ((item, picture(&job).await), items.clone());
            let sent = task::spawn_blocking(move || items.send(found).is_ok()).await;
            if !sent.unwrap_or_default() {
                break 'pages;
            }
        }
    }
    drop(items);
    writing.await.map_err(io::Error::other).flatten().map_err(unwritable)
}

/// Returns the content of a picture, or `None` if it no longer exists or cannot be read.
pub async fn picture(job: &JobStatus) -> Option<Vec<u8>> {
    job.read_picture().await.unwrap_or_else(|error| {
        let failure = Failure::from(error);
        let error = [std::slice::from_ref(&failure.message), &failure.causes].concat().join(": ");
        let location = job.location.as_deref();
        tracing::warn!(location, error, "could not read a picture for its thumbnail");
        None
    })
}

/// Writes each job as soon as it is added, so that pictures do not accumulate in memory.
pub struct Sheet<W>(Page<W>);

impl<W: io::Write> Sheet<W> {
    /// Writes the head of a sheet, with its title and the time.
    pub fn begin(out: W, titles: (&str, &str)) -> io::Result<Self> {
        Ok(Self(Page::begin(out, Kind::Sheet, titles, &[])?))
    }

    /// Adds a job with the content of its picture's file. If the content cannot be decoded, because
    /// it is a video or damaged, the sheet shows a note instead.
    pub fn add(&mut self, mut item: Item, picture: Option<&[u8]>) -> io::Result<()> {
        if let Some(picture) = picture {
            let embedded =
                |jpeg: &[u8]| format!("data:image/jpeg;base64,{}", STANDARD.encode(jpeg));
            item.show(Preview::of(picture), embedded);
        }
        self.0.add(&item)
    }

    /// Writes the totals and the end of the sheet, and returns the flushed file.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}
