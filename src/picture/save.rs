//! Saves pictures. A picture is written to a temporary file, checked, flushed and renamed, so the
//! file at the path is always either a complete picture or the previous file.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use tokio::{sync::mpsc, task};

use super::{
    Picture,
    attempts::Opening,
    destination::{Part, SaveOptions, Target},
    download::{Download, DownloadFailure},
    name::file_stems,
};
use crate::{
    Damaged, Error, ErrorKind, FileKind,
    journal::{self, Step},
    telemetry,
    values::Mutex,
};

/// The number of chunks between the network and the disk. One blocking writer with a short channel
/// is faster than one call to the thread pool per chunk.
const AHEAD: usize = 4;

/// The result of saving a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The path of the saved file.
    pub path: PathBuf,
    /// The file format, detected from the first bytes. `None` only if [`SaveOptions::check`] was
    /// turned off.
    pub kind: Option<FileKind>,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The SHA-256 digest of the file in lowercase hexadecimal. `None` if the task has no record in
    /// a [journal](crate::journal), which needs it.
    pub sha256: Option<String>,
}

impl Saved {
    /// Returns `true` if the file name has the extension of a different format, for example
    /// `fox.png` for a JPEG. The client logs a warning when it saves such a file.
    ///
    /// The request (`output_format`) determines the format of a picture, and its file name does
    /// not.
    fn has_wrong_extension(&self) -> bool {
        let extension = self.path.extension().and_then(OsStr::to_str);
        let named = extension.and_then(FileKind::of_extension);
        self.kind.zip(named).is_some_and(|(kind, named)| kind != named)
    }
}

/// A picture in a temporary file, which has no name yet; see [`Picture::download_in`]. Clones share
/// the file, and dropping the last one deletes it.
///
/// For `kiln` and the batches.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct DownloadedPicture {
    picture: Picture,
    /// `None` after the file was renamed.
    file: Arc<Mutex<Option<Part>>>,
    /// The file format, as [`Saved::kind`].
    pub kind: Option<FileKind>,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 digest of the file in lowercase hexadecimal.
    pub sha256: Option<String>,
}

impl DownloadedPicture {
    /// Renames the temporary file to `path`. The path must be on the same filesystem as the
    /// directory of [`Picture::download_in`]. This method never replaces an existing file.
    ///
    /// # Errors
    ///
    /// Kind [`File`](ErrorKind::File): the file exists, or could not be renamed. The picture can
    /// still be saved at another path, unless it was saved already.
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<Saved, Error> {
        self.rename(path.as_ref().to_owned(), false).await
    }

    /// Renames the temporary file like [`save`](Self::save), but replaces an existing file
    /// atomically. The new file has the permissions of the replaced one. A symbolic link at the
    /// path is replaced.
    ///
    /// # Errors
    ///
    /// Kind [`File`](ErrorKind::File): the file could not be renamed, or the path is not that of a
    /// regular file. The picture can still be saved at another path, unless it was saved already.
    pub async fn replace(&self, path: impl AsRef<Path>) -> Result<Saved, Error> {
        self.rename(path.as_ref().to_owned(), true).await
    }

    async fn rename(&self, path: PathBuf, overwrite: bool) -> Result<Saved, Error> {
        let unwritable = |error| self.picture.unwritable(&path, error).into_error();
        let Some(file) = self.file.lock().take() else {
            return Err(unwritable(io::Error::other("the picture is saved already")));
        };
        let named = path.clone();
        let renaming = blocking(move || Ok(file.rename(&named, overwrite)));
        if let Err((file, error)) = renaming.await.map_err(unwritable)? {
            *self.file.lock() = file;
            return Err(unwritable(error));
        }
        let Self { kind, bytes, sha256, .. } = self.clone();
        let saved = Saved { path, kind, bytes, sha256 };
        self.picture.report_saved(&saved);
        Ok(saved)
    }
}

impl Picture {
    /// Downloads the picture and saves it with the default [`SaveOptions`].
    ///
    /// An existing file is replaced atomically by a new file with the same permissions. Other
    /// processes see either the old or the new file. Other hard links keep the old content, and the
    /// owner becomes the user of this process. If the path is a symbolic link, its target is
    /// replaced.
    ///
    /// # Errors
    ///
    /// The same errors as [`save_with`](Self::save_with).
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<Saved, Error> {
        self.save_with(path, SaveOptions::default()).await
    }

    /// Downloads the picture and saves it.
    ///
    /// The picture is written to a temporary file next to its destination (`.imagekiln-*.part`),
    /// which is flushed to disk and then renamed. When a client first saves to a directory, it
    /// deletes the temporary files of killed processes there. On filesystems without file locks, it
    /// does not delete them.
    ///
    /// # Errors
    ///
    /// Every error carries the reference of the task, and leaves the file at `path` unchanged.
    ///
    /// - [`File`](ErrorKind::File): the file could not be written, it exists and must not be
    ///   overwritten, or the path is a directory, a device, a pipe or a socket. The picture can
    ///   still be downloaded.
    /// - [`Damaged`](ErrorKind::Damaged): the delivery is not a complete picture. Its bytes are
    ///   kept next to the path, for example in `fox.png.damaged`: see [`Error::damaged`].
    /// - [`Expired`](ErrorKind::Expired), [`Download`](ErrorKind::Download),
    ///   [`AddressRefused`](ErrorKind::AddressRefused): the picture could not be downloaded, as for
    ///   [`bytes`](Self::bytes).
    pub async fn save_with(
        &self,
        path: impl AsRef<Path>,
        options: SaveOptions,
    ) -> Result<Saved, Error> {
        self.save_to(&Target::File(path.as_ref().to_owned(), options)).await
    }

    /// Downloads the picture and saves it in a directory.
    ///
    /// The file name consists of the operation, the task id and the extension of the downloaded
    /// format, for example `gen-2-pro-f7a1c9.png`. If the id contains other characters than ASCII
    /// letters, digits, `-`, `.` and `_`, or is longer than 120 characters, the name ends with a
    /// hash of the region, the polling URL and the id, because the names of different ids could
    /// otherwise be equal.
    ///
    /// No file is ever replaced. If a file with this name exists and has the same content, it is
    /// the saved picture. If the content differs, the name of this picture also contains the hash
    /// and, if that name is taken, a number.
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
    /// The same errors as [`save_with`](Self::save_with). The directory must exist.
    pub async fn save_in(&self, directory: impl AsRef<Path>) -> Result<Saved, Error> {
        self.save_to(&Target::In(directory.as_ref().to_owned())).await
    }

    async fn save_to(&self, target: &Target) -> Result<Saved, Error> {
        let saving = self.attempt(|opening| self.save_once(target, opening));
        match saving.await {
            Ok(saved) => {
                self.report_saved(&saved);
                let (path, sha256) = (absolute(&saved.path), saved.sha256.clone());
                self.note(&Step::Saved { path, bytes: saved.bytes, sha256 }).await;
                Ok(saved)
            }
            Err(error) => Err(self.keep_damaged(target, error).await),
        }
    }

    /// Keeps the bytes of a damaged delivery next to its target. The picture is paid, and a person
    /// may be able to use what has arrived.
    async fn keep_damaged(&self, target: &Target, error: Error) -> Error {
        let Some(damaged) = error.damaged().cloned() else { return error };
        let picture = match target {
            Target::File(path, _) => path.clone(),
            Target::In(directory) => {
                let extension = damaged.kind().map_or("bin", FileKind::extension);
                let stem = file_stems(&self.task).next().unwrap_or_default();
                directory.join(format!("{stem}.{extension}"))
            }
        };
        match blocking(move || damaged.keep(picture)).await {
            Ok(path) => self.note(&Step::Damaged { path: absolute(&path) }).await,
            // The caller needs the error of the download, so this error is only logged.
            Err(problem) => {
                tracing::warn!(task_id = self.task.id(), %problem, "could not keep the bytes");
            }
        }
        error
    }

    /// Records what happened to the picture in the journal of its client.
    pub(super) async fn note(&self, step: &Step) {
        journal::note(self.downloads().journal.as_deref(), &self.task, step).await;
    }

    /// Downloads the picture to a temporary file in this directory, for programs that choose the
    /// file name after they know the format: [`DownloadedPicture::save`] and
    /// [`replace`](DownloadedPicture::replace) then rename the file.
    ///
    /// The record of the submission in the [journal](crate::journal) stays open. The program must
    /// apply [`Step::Saved`](crate::journal::Step::Saved) itself once the file is final. Otherwise
    /// the next process resumes the task.
    ///
    /// ```
    /// # async fn save(task: imagekiln::Task) -> Result<(), Box<dyn std::error::Error>> {
    /// let picture = task.wait().await?;
    /// let fox = picture.download_in("pictures").await?;
    /// let extension = fox.kind.map_or("bin", |kind| kind.extension());
    /// fox.save(format!("pictures/fox.{extension}")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The same errors as [`save_with`](Self::save_with). The directory must exist. The bytes of a
    /// damaged delivery are in a temporary file, which [`Damaged::keep`] renames.
    ///
    /// For `kiln` and the batches.
    #[doc(hidden)]
    pub async fn download_in(
        &self,
        directory: impl AsRef<Path>,
    ) -> Result<DownloadedPicture, Error> {
        let target = Target::In(directory.as_ref().to_owned());
        let download = async |opening| {
            let (part, saved) = self.download(&target, true, opening).await?;
            let flush = blocking(move || part.flush().map(|()| (part, saved))).await;
            flush.map_err(|error| self.unwritable(directory.as_ref(), error))
        };
        let (part, Saved { kind, bytes, sha256, .. }) = self.attempt(download).await?;
        let (picture, file) = (self.clone(), Arc::new(Mutex::new(Some(part))));
        Ok(DownloadedPicture { picture, file, kind, bytes, sha256 })
    }

    fn report_saved(&self, saved: &Saved) {
        tracing::info!(task_id = self.task.id(), bytes = saved.bytes, "picture saved");
        if saved.has_wrong_extension() {
            tracing::warn!(
                task_id = self.task.id(),
                path = %saved.path.display(),
                format = saved.kind.map(FileKind::extension),
                "the picture has another format than its file name; set `output_format`"
            );
        }
        telemetry::saved(&self.task);
    }

    async fn save_once(&self, target: &Target, opening: Opening) -> Result<Saved, DownloadFailure> {
        let has_journal = self.downloads().journal.is_some();
        let (part, saved) = self.download(target, has_journal, opening).await?;
        let names = file_stems(&self.task).map(move |stem| match saved.kind {
            Some(kind) => format!("{stem}.{}", kind.extension()),
            None => stem,
        });
        let named = blocking(move || part.finish(names)).await;
        let path = named.map_err(|error| self.unwritable(&saved.path, error))?;
        Ok(Saved { path, ..saved })
    }

    /// Downloads the picture to a temporary file, and checks it. The path of the result is that of
    /// the target.
    async fn download(
        &self,
        target: &Target,
        with_digest: bool,
        opening: Opening,
    ) -> Result<(Part, Saved), DownloadFailure> {
        let (path, is_checked) = match target {
            Target::File(path, options) => (path, options.check),
            Target::In(path) => (path, true),
        };
        let unwritable = |error| self.unwritable(path, error);
        // The file is created before the download, so that nothing is downloaded for a destination
        // that cannot be written.
        let starting = blocking({
            let source = Arc::clone(&self.source);
            let target = target.clone();
            move || Part::create(target, &source.downloads().swept)
        });
        let mut part = starting.await.map_err(unwritable)?;
        let mut download = opening.await?;
        let (chunks, received) = mpsc::channel(AHEAD);
        let writing =
            blocking(move || part.write(received, with_digest).map(|digest| (part, digest)));
        let downloaded = send_chunks(&mut download, chunks).await;
        // The writer is awaited even after an error, so that a program that exits because of the
        // error does not leave a temporary file behind.
        let (part, sha256) = writing.await.map_err(unwritable)?;
        let (kind, bytes) = (download.kind(), download.received);
        let check = || if is_checked { download.check().map(drop) } else { Ok(()) };
        match downloaded.and_then(|()| check()) {
            Ok(()) => Ok((part, Saved { path: path.clone(), kind, bytes, sha256 })),
            Err(DownloadFailure::Unreadable { error, broken_after, .. }) => {
                let keep = Box::new(move |path: &Path, names: &mut dyn Iterator<Item = String>| {
                    part.keep(path, names)
                });
                let file = (bytes > 0).then(|| Damaged::new(keep, kind, bytes));
                Err(DownloadFailure::Unreadable { error, broken_after, file })
            }
            Err(failure) => Err(failure),
        }
    }

    fn unwritable(&self, path: &Path, error: io::Error) -> DownloadFailure {
        let advice = match error.kind() {
            io::ErrorKind::AlreadyExists => "save it to another path or allow overwriting",
            _ => "save it to another path",
        };
        let message = format!("could not write {}", path.display());
        DownloadFailure::Permanent(
            Error::new(ErrorKind::of_file(&error), message)
                .with_advice(format!(
                    "the picture is billed and ready; {advice} before its delivery URL expires"
                ))
                .with_task(&self.task)
                .with_source(error),
        )
    }
}

/// Returns the path for a record. It is absolute, because the next process may have another working
/// directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Starts blocking work immediately. The work completes even if the future is dropped.
fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> impl Future<Output = io::Result<T>> {
    let running = task::spawn_blocking(work);
    async { running.await.map_err(io::Error::other).flatten() }
}

/// Sends the download to the writer. Returns at the end of the download, or when the writer has
/// failed.
async fn send_chunks(
    download: &mut Download,
    chunks: mpsc::Sender<Bytes>,
) -> Result<(), DownloadFailure> {
    while let Some(chunk) = download.next().await? {
        if chunks.send(chunk).await.is_err() {
            break;
        }
    }
    Ok(())
}
