//! `kiln batch report`: writes the contact sheet of a ledger.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use tempfile::NamedTempFile;
use time::UtcDateTime;

use super::place::{Access, LedgerOption, Place};
use crate::{context::Context, failure::Failure, seeing};

const FILE_NAME: &str = "report.html";

/// Write an HTML page with all pictures and jobs of a ledger
#[derive(Args)]
#[command(after_help = "The page contains prompts and thumbnails, and loads nothing from the \
                        network. Pictures below its directory are linked.")]
pub struct Options {
    #[command(flatten)]
    ledger: LedgerOption,
    /// Where to write the page; an existing file is replaced [default: report.html next to the
    /// ledger]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the page with the desktop's program for it
    #[arg(long)]
    open: bool,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let place = options.ledger.place()?;
    let ledger = place.open(context.process(), Access::Read).await?;
    let path = options.output.unwrap_or_else(|| place.directory().join(FILE_NAME));
    let failed = |error: io::Error| {
        Failure::file(format!("could not write {}", path.display()), error)
            .advise("pass another file to --output")
    };
    // Locations in the ledger have no symbolic links.
    let directory = fs::canonicalize(directory_of(&path)).map_err(failed)?;
    let file = temporary_file(&directory).map_err(failed)?;
    let spinner = context.output.spin("writing the report");
    let title = title(&place);
    let file = ledger.write_sheet(file, &title, &now(), &directory).await?;
    drop(spinner);
    file.persist(&path).map_err(|error| failed(error.error))?;
    context.output.result(|| path.display().to_string(), || json!({ "path": path }))?;
    if options.open {
        seeing::open(&context.output, &path).await;
    }
    Ok(())
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A file that other users may read, as far as the user's file mode creation mask allows.
fn temporary_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
}

/// The name of the directory that contains the ledger.
fn title(place: &Place) -> String {
    let directory = fs::canonicalize(place.directory()).ok();
    let name = directory.as_deref().and_then(Path::file_name);
    name.map_or("Batch".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// For example `2026-11-22 15:00 UTC`.
fn now() -> String {
    let now = UtcDateTime::now();
    let (year, month, day) = now.to_calendar_date();
    let (hour, minute, _) = now.as_hms();
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02} UTC", u8::from(month))
}
