//! The contact sheet: one HTML file with the pictures of a batch.

use std::{collections::VecDeque, io, path::Path, thread};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tempfile::NamedTempFile;
use tokio::task::{JoinHandle, spawn_blocking};

use super::{Item, Kind, Page, Preview, THREADS, job, relative_url};
use crate::failure::Failure;
use imagekiln_batch::{Filter, JobStatus, Ledger};

/// The number of jobs that are read from the ledger at once. It is small because requests may
/// contain images.
const PAGE: usize = 10;

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
    let directory = std::path::absolute(directory).map_err(unwritable)?;
    let mut sheet = Page::begin(out, Kind::Sheet, titles, &[]).map_err(unwritable)?;
    // Each job is written as soon as its picture and those before it are decoded, so pictures do
    // not accumulate in memory.
    let most = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let (mut waiting, mut last) = (VecDeque::new(), 0);
    loop {
        let jobs = ledger.jobs().page_with_requests(filter, last, PAGE).await?;
        let Some((end, _)) = jobs.last() else { break };
        last = end.number;
        for (job, request) in jobs {
            let mut item = job::item(&job, &request);
            item.link = job::path(&job).and_then(|path| relative_url(path, &directory));
            let picture = picture(&job).await;
            let preview = picture.map(|it| spawn_blocking(move || Preview::of(&it)));
            waiting.push_back((item, preview));
            if waiting.len() > most {
                add_first(&mut sheet, &mut waiting).await.map_err(unwritable)?;
            }
        }
    }
    while !waiting.is_empty() {
        add_first(&mut sheet, &mut waiting).await.map_err(unwritable)?;
    }
    sheet.finish().map_err(unwritable)
}

/// Adds the first of the jobs to the sheet when its picture is decoded.
async fn add_first(
    sheet: &mut Page<NamedTempFile>,
    waiting: &mut VecDeque<(Item, Option<JoinHandle<Preview>>)>,
) -> io::Result<()> {
    let Some((mut item, preview)) = waiting.pop_front() else { return Ok(()) };
    if let Some(preview) = preview {
        embed(&mut item, preview.await?);
    }
    sheet.add(&item)
}

/// Adds the thumbnail itself to an item.
pub fn embed(item: &mut Item, preview: Preview) {
    item.show(preview, |jpeg| format!("data:image/jpeg;base64,{}", STANDARD.encode(jpeg)));
}

/// Returns the content of a picture, or `None` if it no longer exists or cannot be read.
pub async fn picture(job: &JobStatus) -> Option<Vec<u8>> {
    job.read_picture().await.unwrap_or_else(|error| {
        let (error, location) = (Failure::from(error).with_causes(), job.location.as_deref());
        tracing::warn!(location, error, "could not read a picture for its thumbnail");
        None
    })
}
