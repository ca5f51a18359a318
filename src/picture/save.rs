//! Saving: the picture is written to a temporary file, checked, flushed and renamed, so the file at
//! the path is always a whole picture or what was there before.

use std::{
    io,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use tokio::{sync::mpsc, task, time::Instant};

use super::{
    Picture, SaveOptions,
    download::Download,
    name::file_stem,
    place::{Place, with_extension},
    tries::{Failure, Tries},
};
use crate::{Error, ErrorKind, FileKind};

/// Chunks between the network and the disk: one blocking writer behind a short channel writes
/// faster than a call to the thread pool for every chunk.
const AHEAD: usize = 4;

/// A picture that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The path that it was saved to, as the caller gave it.
    pub path: PathBuf,
    /// The kind of file, by its first bytes. Always known unless [`SaveOptions::check`] was turned
    /// off.
    pub kind: Option<FileKind>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Where a picture is saved.
enum Target {
    /// At this path.
    File(PathBuf),
    /// At this path, with the extension of the file that came.
    In(PathBuf),
}

impl Picture {
    /// Fetches the picture and saves it with the default [`SaveOptions`].
    ///
    /// An existing file is replaced as a whole and in one step, with a new file of the same
    /// permissions: another process sees the old file or the new one, other hard links keep the old
    /// content, and the owner is the user of this process. A symbolic link stays, and the file that
    /// it points to is replaced.
    ///
    /// # Errors
    ///
    /// As [`save_with`](Self::save_with).
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<Saved, Error> {
        self.save_with(path, SaveOptions::default()).await
    }

    /// Fetches the picture and saves it.
    ///
    /// It is written to a temporary file next to its target, `.imagekiln-*.part`, which is flushed
    /// to the disk and renamed at the end. Temporary files that killed processes left in that
    /// directory are deleted when a client first saves there; on filesystems without file locks
    /// they are left alone.
    ///
    /// # Errors
    ///
    /// Kind [`File`](ErrorKind::File): the file could not be written, it exists and must not be
    /// overwritten, or the path is a directory, a device, a pipe or a socket; the picture can still
    /// be fetched. Kinds [`Expired`](ErrorKind::Expired), [`Delivery`](ErrorKind::Delivery) and
    /// [`AddressRefused`](ErrorKind::AddressRefused): it could not be fetched, as for
    /// [`bytes`](Self::bytes). Each carries the task's reference, and the file at `path` is as it
    /// was.
    pub async fn save_with(
        &self,
        path: impl AsRef<Path>,
        options: SaveOptions,
    ) -> Result<Saved, Error> {
        self.save_to(&Target::File(path.as_ref().to_owned()), &options).await
    }

    /// Fetches the picture and saves it in a directory, under a name made of the operation and the
    /// task's id, with the extension of the file that came: `gen-2-pro-f7a1c9.png`. A file of this
    /// name is replaced: it is an earlier copy of the same picture.
    ///
    /// ```
    /// # async fn save(task: imagekiln::Task) -> Result<(), imagekiln::Error> {
    /// let saved = task.wait().await?.save_in("pictures").await?;
    /// println!("{}", saved.path.display());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`save_with`](Self::save_with). The directory must exist.
    pub async fn save_in(&self, directory: impl AsRef<Path>) -> Result<Saved, Error> {
        let target = Target::In(directory.as_ref().join(file_stem(&self.task)));
        self.save_to(&target, &SaveOptions::default()).await
    }

    async fn save_to(&self, target: &Target, options: &SaveOptions) -> Result<Saved, Error> {
        let mut tries = Tries::of(self);
        let saved = loop {
            match tries.picture().save_once(target, options, tries.until).await {
                Ok(saved) => break saved,
                Err(failure) => tries.again_after(failure).await?,
            }
        };
        tracing::info!(task_id = self.task.id(), bytes = saved.bytes, "saved");
        self.client.settle_quietly(&self.task).await;
        Ok(saved)
    }

    async fn save_once(
        &self,
        target: &Target,
        options: &SaveOptions,
        until: Instant,
    ) -> Result<Saved, Failure> {
        let (Target::File(path) | Target::In(path)) = target;
        let unwritable = |error| self.unwritable(path, error);
        // First of all, so that a target that can't be written costs no download.
        let mut part = blocking({
            let (client, path, options) = (self.client.clone(), path.to_owned(), options.clone());
            move || Place::find(&path, &options)?.start(&client.deliveries().swept)
        })
        .await
        .map_err(unwritable)?;
        let mut download = self.open(until).await?;
        let (chunks, received) = mpsc::channel(AHEAD);
        let writing = blocking(move || part.write(received).map(|()| part));
        let came = pass_on(&mut download, chunks).await;
        // Awaited in any case: a program that exits on the error must not leave the temporary file
        // behind.
        let part = writing.await.map_err(unwritable)?;
        came?;
        let kind = if options.check { Some(download.check()?) } else { download.kind() };
        let extension = match target {
            Target::File(_) => None,
            Target::In(_) => kind.map(FileKind::extension),
        };
        blocking(move || part.finish(extension)).await.map_err(unwritable)?;
        let path = with_extension(path.clone(), extension);
        Ok(Saved { path, kind, bytes: download.received() })
    }

    fn unwritable(&self, path: &Path, error: io::Error) -> Failure {
        let advice = match error.kind() {
            io::ErrorKind::AlreadyExists => "save it to another path, or allow overwriting",
            _ => "save it to another path",
        };
        Failure::Permanent(
            Error::new(ErrorKind::File, format!("could not write {}", path.display()))
                .with_advice(format!(
                    "the picture is paid for and ready; {advice}, before its delivery URL expires"
                ))
                .with_task(&self.task)
                .with_source(error),
        )
    }
}

/// Starts at once, and runs to its end even if nobody waits for it.
fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> impl Future<Output = io::Result<T>> {
    let running = task::spawn_blocking(work);
    async { running.await.map_err(io::Error::other).flatten() }
}

/// Returns at the end of the download, or when the writer is gone because writing failed.
async fn pass_on(download: &mut Download, chunks: mpsc::Sender<Bytes>) -> Result<(), Failure> {
    while let Some(chunk) = download.next().await? {
        if chunks.send(chunk).await.is_err() {
            break;
        }
    }
    Ok(())
}
