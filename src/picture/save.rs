//! Saving: to a temporary file beside the target, checked, flushed, and renamed. What stands at the target is always a
//! whole picture or what stood there before.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use tempfile::NamedTempFile;
use tokio::{sync::mpsc, task};

use super::{Download, Picture, Tries};
use crate::{Error, ErrorKind, FileKind, values::file_kind};

/// Chunks between the network and the disk: one blocking writer behind a short channel writes faster than a call to the
/// thread pool for every chunk.
const AHEAD: usize = 4;

/// A picture that lies on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// Where.
    pub path: PathBuf,
    /// As what kind of file, told by its first bytes.
    pub kind: FileKind,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A temporary file with all of the download in it.
struct Written {
    file: NamedTempFile,
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

impl Picture {
    /// Fetches the picture and saves it. A file at `path` is replaced, at once and as a whole.
    ///
    /// # Errors
    ///
    /// Kind [`File`](ErrorKind::File): it could not be written; the picture is still there to be fetched. Kinds
    /// [`Expired`](ErrorKind::Expired), [`Delivery`](ErrorKind::Delivery): it could not be fetched. Each carries the task's
    /// reference, and what stood at `path` still stands there.
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<Saved, Error> {
        let path = path.as_ref();
        let mut tries = Tries::of(self);
        let saved = loop {
            match tries.picture.save_once(path).await {
                Ok(saved) => break saved,
                Err(error) => tries.again_after(error).await?,
            }
        };
        tracing::info!(task_id = self.task.id(), bytes = saved.bytes, "saved");
        Ok(saved)
    }

    async fn save_once(&self, path: &Path) -> Result<Saved, Error> {
        let unwritable = |error: io::Error| {
            Error::new(ErrorKind::File, format!("{} can't be written", path.display()))
                .advice("the picture is paid and ready: save it elsewhere within ten minutes")
                .with_task(&self.task)
                .caused_by(error)
        };
        let mut download = self.open().await?;
        let (chunks, received) = mpsc::channel(AHEAD);
        let directory = directory_of(path);
        let writer = task::spawn_blocking({
            let (directory, path) = (directory.clone(), path.to_owned());
            move || {
                refuse_what_is_no_file(&path)?;
                write(&directory, received)
            }
        });
        let came = pass_on(&mut download, chunks).await;
        // Waited for in any case: a program that ends on the error must not leave the temporary file behind.
        let written =
            writer.await.map_err(io::Error::other).and_then(|outcome| outcome).map_err(unwritable)?;
        came?;
        let kind = download.finish(&written.head, &written.tail)?;
        let (path, bytes) = (path.to_owned(), written.bytes);
        task::spawn_blocking({
            let path = path.clone();
            move || put_in_place(written.file, &path, &directory)
        })
        .await
        .map_err(io::Error::other)
        .and_then(|outcome| outcome)
        .map_err(unwritable)?;
        Ok(Saved { path, kind, bytes })
    }
}

/// Returns at the end of the download, and where the writer is gone because writing failed.
async fn pass_on(download: &mut Download<'_>, chunks: mpsc::Sender<Bytes>) -> Result<(), Error> {
    while let Some(chunk) = download.next().await? {
        if chunks.send(chunk).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A rename would put the picture in the place of a device or a pipe, and not into it.
fn refuse_what_is_no_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::other("there is something that is no regular file"))
        }
        _ => Ok(()),
    }
}

/// Writes until the channel closes. The caller compares the count with what it received, so a channel that closed early
/// (a download that broke, a future that was dropped) never becomes a picture: the file goes when it is dropped.
fn write(directory: &Path, mut chunks: mpsc::Receiver<Bytes>) -> io::Result<Written> {
    let mut file = temporary_file(directory)?;
    let (mut head, mut tail, mut bytes) = (Vec::new(), Vec::new(), 0);
    while let Some(chunk) = chunks.blocking_recv() {
        file.write_all(&chunk)?;
        bytes += chunk.len() as u64;
        head.extend(chunk.iter().take(file_kind::HEAD - head.len()));
        tail.extend(&chunk[chunk.len().saturating_sub(file_kind::TAIL)..]);
        tail.drain(..tail.len().saturating_sub(file_kind::TAIL));
    }
    file.as_file().sync_all()?;
    Ok(Written { file, head, tail, bytes })
}

fn temporary_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".imagekiln-").suffix(".part");
    // Temporary files are private by default; a picture should have the permissions of any new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
}

fn put_in_place(file: NamedTempFile, path: &Path, directory: &Path) -> io::Result<()> {
    file.persist(path).map_err(|error| error.error)?;
    // The name is in the directory, so that is flushed too, where the system can.
    if cfg!(unix) {
        fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}
