//! What the fuzz targets call of this module.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use reqwest::Response;
use tokio::time::Instant;

use super::{
    Picture, Source,
    download::{DownloadFailure, Pace},
};
use crate::{Address, Error, FileKind, TaskRef, transport::download::Fetched};

const LIMIT: Duration = Duration::from_secs(60);

/// Downloads the picture of a response from `address`, which is a URL. Returns its format and what
/// has arrived.
pub(crate) async fn download(
    source: Arc<dyn Source>,
    task: &TaskRef,
    address: Address,
    response: Response,
) -> Result<(FileKind, Vec<u8>), Error> {
    let picture = Picture::new(source, task.clone(), address, UNIX_EPOCH);
    receive(&picture, response).await.map_err(DownloadFailure::into_error)
}

async fn receive(
    picture: &Picture,
    response: Response,
) -> Result<(FileKind, Vec<u8>), DownloadFailure> {
    let url = picture.address.parse().map_err(|error| {
        DownloadFailure::Permanent(picture.failed("the address is not a URL").with_source(error))
    })?;
    let connection = picture.downloads().service.connections.to(&url);
    let fetched = Fetched { url, connection, response };
    let mut download = picture.accept(fetched, Pace::new(LIMIT, Instant::now() + LIMIT)).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = download.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok((download.check()?, bytes))
}

/// The name of the file of a task's picture, without an extension.
pub(crate) fn file_stem(task: &TaskRef) -> String {
    super::name::file_stems(task).next().unwrap_or_default()
}
