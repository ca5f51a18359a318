//! `kiln gallery`: a page with all pictures of the user.

mod favourites;
mod folder;
mod found;
mod serve;
mod thumbnails;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::{context::Context, failure::Failure, history, pages::Kind, seeing};

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
