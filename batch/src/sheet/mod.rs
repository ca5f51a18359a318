//! The contact sheet: one HTML file with the pictures of a batch.

mod card;
mod entry;
mod ledger;
mod page;
mod preview;
mod template;
mod totals;

use std::{fmt, io};

pub use self::entry::SheetEntry;
use self::totals::Totals;

/// Writes a contact sheet: one HTML file with a thumbnail of every picture, and the state of
/// every job.
///
/// The file contains everything that it needs and loads nothing from the network. If a link of an
/// entry leads to the picture, the sheet shows it when a thumbnail is enlarged. Jobs are written as
/// they are added, so pictures do not accumulate in memory.
///
/// Decoding pictures takes time, so an asynchronous program should write a sheet on a blocking
/// thread.
///
/// ```
/// use imagekiln_batch::{Sheet, SheetEntry, JobState};
///
/// # fn main() -> std::io::Result<()> {
/// let mut sheet = Sheet::begin(Vec::new(), "Foxes", "2026-11-22 15:00 UTC")?;
/// let mut fox = SheetEntry::new("fox-1", "gen-2-pro", JobState::Failed);
/// fox.prompt = Some("a red fox in the snow".to_owned());
/// fox.reason = Some("the service refused the request".to_owned());
/// sheet.add(fox)?;
/// let html = sheet.finish()?;
/// assert!(html.starts_with(b"<!doctype html>"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a sheet is complete only when it is finished"]
pub struct Sheet<W> {
    out: W,
    totals: Totals,
}

impl<W: io::Write> Sheet<W> {
    /// Writes the head of a sheet. `created_at` says when the sheet was made, in any format.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn begin(mut out: W, title: &str, created_at: &str) -> io::Result<Self> {
        out.write_all(page::head(title, created_at).as_bytes())?;
        Ok(Self { out, totals: Totals::default() })
    }

    /// Writes a job. A picture that cannot be decoded, such as a video or a damaged file, is
    /// replaced by a note.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn add(&mut self, entry: SheetEntry) -> io::Result<()> {
        self.totals.add(&entry);
        self.out.write_all(card::html(&entry).as_bytes())
    }

    /// Writes the totals and the end of the sheet, and returns the flushed `out`.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(page::foot(&self.totals).as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W> fmt::Debug for Sheet<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sheet").field("totals", &self.totals).finish_non_exhaustive()
    }
}
