//! `kiln gallery`: a page with all pictures of the user.

mod folder;
mod found;
mod serve;
mod thumbnails;

use std::{collections::BTreeSet, fs, io, path::PathBuf};

use clap::Args;
use serde_json::json;

use crate::{
    context::Context,
    failure::Failure,
    files::{
        directory::{self, write_private},
        if_exists,
    },
    history,
    pages::Kind,
    process::Process,
    seeing,
};

pub const NAME: &str = "gallery";

/// Write a page to search and compare your pictures
#[derive(Args)]
#[command(after_help = "\
The page has the pictures of the history, and of the batches that this user has run with kiln. It is
a folder with thumbnails, which are made once, and loads nothing from the network. With --serve,
favourites can be marked and files deleted: only on this machine, and only with the printed URL.")]
pub struct Options {
    /// The folder of the page [default: gallery beside the directory of the history]
    #[arg(long, short, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    output: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Serve the page to this machine until Ctrl-C, to mark favourites and delete files
    #[arg(long)]
    serve: bool,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let process = context.process();
    let folder = match options.output {
        Some(folder) => process.directory.join(folder),
        None => history::directory(process)?.with_file_name(NAME),
    };
    if options.serve {
        return serve::run(context, folder, options.open).await;
    }
    let spinner = context.output.spin("writing the gallery");
    folder::write(context, &folder, Kind::Gallery).await?;
    drop(spinner);
    let page = folder.join(folder::INDEX);
    let shown = history::relative(&page, &process.directory);
    context.output.result(|| shown.display().to_string(), || json!({ "path": page }))?;
    if options.open {
        seeing::open(&context.output, &page).await;
    }
    Ok(())
}

/// Returns the digests of the favourites. A damaged file is an error: if it counted as empty, the
/// next mark would replace the file, and all favourites would be lost.
fn favourites(process: &Process) -> Result<BTreeSet<String>, Failure> {
    let Some(file) = favourites_file(process) else { return Ok(BTreeSet::new()) };
    let content = if_exists(fs::read(&file)).map(|content| content.unwrap_or_else(|| b"[]".into()));
    content.and_then(|content| Ok(serde_json::from_slice(&content)?)).map_err(|error| {
        Failure::file(format!("could not read the favourites in {}", file.display()), error)
            .advise("restore the file, or move it away to start without favourites")
    })
}

/// Marks or unmarks a picture.
fn mark_favourite(process: &Process, sha256: &str, is_favourite: bool) -> Result<(), Failure> {
    let mut favourites = self::favourites(process)?;
    if is_favourite {
        favourites.insert(sha256.to_owned());
    } else {
        favourites.remove(sha256);
    }
    let file = favourites_file(process).ok_or_else(|| io::ErrorKind::NotFound.into());
    file.and_then(|file| write_private(&file, serde_json::to_string_pretty(&favourites)? + "\n"))
        .map_err(|error| Failure::file("could not write the favourites", error))
}

fn favourites_file(process: &Process) -> Option<PathBuf> {
    Some(directory::state(process)?.join("favourites.json"))
}
