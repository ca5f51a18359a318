//! The destination of a saved picture, and the options for it.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufRead, BufReader, Seek, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{Swept, part::TemporaryFile};
use crate::values::hash::hex;

/// The maximum number of links to follow, as on Linux.
const MAX_LINKS: u32 = 40;

/// Options for [`Picture::save_with`](crate::Picture::save_with).
///
/// ```
/// let options = imagekiln::SaveOptions::default().overwrite(false);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct SaveOptions {
    pub(super) check: bool,
    pub(super) permissions: Option<Permissions>,
    pub(super) follow_symlinks: bool,
    pub(super) overwrite: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self { check: true, permissions: None, follow_symlinks: true, overwrite: true }
    }
}

impl SaveOptions {
    /// Sets whether the download must be a complete picture of a known
    /// [`FileKind`](crate::FileKind). The default is `true`.
    ///
    /// If `false`, the content is saved without a check.
    pub fn check(mut self, on: bool) -> Self {
        self.check = on;
        self
    }

    /// Sets the permissions of the saved file.
    ///
    /// By default, a replaced file keeps its permissions, and a new file gets the default
    /// permissions of new files: on Unix, 0o666 without the bits of the umask.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Sets whether to follow a symbolic link at the path. The default is `true`.
    ///
    /// If `true`, the link is kept, and its target is replaced or created. If `false`, the link
    /// itself is replaced.
    pub fn follow_symlinks(mut self, on: bool) -> Self {
        self.follow_symlinks = on;
        self
    }

    /// Sets whether to replace an existing file. The default is `true`.
    ///
    /// If `false`, an existing file is an error of kind [`File`](crate::ErrorKind::File), even if
    /// it is created during the download.
    pub fn overwrite(mut self, on: bool) -> Self {
        self.overwrite = on;
        self
    }
}

/// Where a picture is saved.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// At this path.
    File(PathBuf, SaveOptions),
    /// In a new file in this directory, with the extension of the downloaded format.
    In(PathBuf),
}

/// A temporary file next to its destination. Dropping it deletes the file.
#[derive(Debug)]
pub(super) struct Part {
    target: Target,
    permissions: Option<Permissions>,
    file: TemporaryFile,
}

impl Part {
    /// Creates the temporary file. Refuses destinations that must not be replaced.
    pub(super) fn create(target: Target, swept: &Swept) -> io::Result<Self> {
        let (target, directory, permissions) = match target {
            Target::File(path, options) => {
                let path = if options.follow_symlinks { resolved(&path)? } else { path };
                let kept = kept_permissions(&path, options.overwrite)?;
                let permissions = options.permissions.clone().or(kept);
                let directory = directory_of(&path).to_owned();
                (Target::File(path, options), directory, permissions)
            }
            Target::In(path) => {
                let directory = directory_of(&path.join("picture")).to_owned();
                (Target::In(path), directory, None)
            }
        };
        swept.sweep_once(&directory);
        // The file is private until its permissions are set, unless they are the default ones.
        let file = TemporaryFile::create(&directory, permissions.is_some())?;
        Ok(Self { target, permissions, file })
    }

    /// Writes chunks until the channel closes, and returns their SHA-256 digest if `with_digest` is
    /// set. The channel also closes if the download fails or its future is dropped; only a complete
    /// download continues with [`finish`](Self::finish).
    pub(super) fn write(
        &mut self,
        mut chunks: mpsc::Receiver<Bytes>,
        with_digest: bool,
    ) -> io::Result<Option<String>> {
        let mut digest = with_digest.then(Sha256::new);
        while let Some(chunk) = chunks.blocking_recv() {
            if let Some(digest) = &mut digest {
                digest.update(&chunk);
            }
            self.file.file.write_all(&chunk)?;
        }
        Ok(digest.map(hex))
    }

    /// Sets the permissions of the file, and flushes it.
    pub(super) fn flush(&self) -> io::Result<()> {
        let file = &self.file.file;
        if let Some(permissions) = &self.permissions
            // Some filesystems have fixed permissions and refuse to change them.
            && file.metadata()?.permissions() != *permissions
        {
            file.set_permissions(permissions.clone())?;
        }
        file.sync_all()
    }

    /// Flushes the file, renames it to its destination, and returns its path. If the destination is
    /// a directory, the file gets the first of these names that is free.
    pub(super) fn finish(self, names: impl Iterator<Item = String>) -> io::Result<PathBuf> {
        self.flush()?;
        let Self { target, file, .. } = self;
        // The file stays locked until after the rename.
        let path = match target {
            Target::File(path, SaveOptions { overwrite, .. }) => {
                let renamed = if overwrite { file.persist(&path) } else { file.persist_new(&path) };
                renamed.map(|()| path).map_err(|(_, error)| error)?
            }
            Target::In(directory) => persist_as(file, &directory, names)?,
        };
        sync_directory_of(&path)?;
        Ok(path)
    }

    /// Flushes the file, and gives it the first of these names that is free in the directory of
    /// `path`. Returns its path.
    pub(super) fn keep(
        self,
        path: &Path,
        names: impl Iterator<Item = String>,
    ) -> io::Result<PathBuf> {
        self.file.file.sync_all()?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let path = persist_as(self.file, directory, names)?;
        sync_directory_of(&path)?;
        Ok(path)
    }

    /// Renames the flushed file. The error contains the file if it was not renamed, so that the
    /// caller can try another path.
    pub(super) fn rename(
        mut self,
        path: &Path,
        overwrite: bool,
    ) -> Result<(), (Option<Self>, io::Error)> {
        if overwrite && let Err(error) = self.take_permissions(path) {
            return Err((Some(self), error));
        }
        let Self { file, .. } = self;
        let renamed = if overwrite { file.persist(path) } else { file.persist_new(path) };
        match renamed {
            Ok(()) => sync_directory_of(path).map_err(|error| (None, error)),
            Err((file, error)) => Err((Some(Self { file, ..self }), error)),
        }
    }

    /// Copies the permissions of the file at `path`, if there is one, because this file is going to
    /// replace it.
    fn take_permissions(&mut self, path: &Path) -> io::Result<()> {
        self.permissions = kept_permissions(path, true)?;
        self.flush()
    }
}

/// Flushes the directory that contains the name of the file, so that the name survives a crash. A
/// writable directory may not be readable, and then cannot be flushed.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path)) {
        Ok(directory) if cfg!(unix) => directory.sync_all(),
        _ => Ok(()),
    }
}

/// Returns the permissions of the file that the new file would replace, or `None` if there is none.
/// Fails if it must not be replaced.
fn kept_permissions(path: &Path, overwrite: bool) -> io::Result<Option<Permissions>> {
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
    }
    match fs::symlink_metadata(path) {
        // A rename would replace a device or a pipe instead of writing to it.
        Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
            Err(io::Error::other("the path is not a regular file"))
        }
        Ok(_) if !overwrite => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(metadata) => Ok(Some(metadata.permissions()).filter(|_| metadata.is_file())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Renames a file to the first of these names that is free, and returns its path. If a file with
/// one of the names has the same content, it is a copy of this picture, so its path is returned
/// instead.
fn persist_as(
    mut file: TemporaryFile,
    directory: &Path,
    names: impl Iterator<Item = String>,
) -> io::Result<PathBuf> {
    for name in names {
        let path = directory.join(name);
        match file.persist_new(&path) {
            Ok(()) => return Ok(path),
            Err((part, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                file = part;
                // A file that cannot be read is not treated as a copy: it probably belongs to
                // another user.
                if is_copy(&path, &mut file.file).unwrap_or(false) {
                    return Ok(path);
                }
            }
            Err((_, error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns whether the file at `path` has the same content as `part`.
fn is_copy(path: &Path, part: &mut File) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    // Opening a pipe would block.
    if !metadata.is_file() || metadata.len() != part.metadata()?.len() {
        return Ok(false);
    }
    part.rewind()?;
    let (mut theirs, mut ours) = (BufReader::new(File::open(path)?), BufReader::new(part));
    loop {
        let (theirs_next, ours_next) = (theirs.fill_buf()?, ours.fill_buf()?);
        let count = theirs_next.len().min(ours_next.len());
        if theirs_next.get(..count) != ours_next.get(..count) {
            return Ok(false);
        }
        if count == 0 {
            return Ok(theirs_next.len() == ours_next.len());
        }
        theirs.consume(count);
        ours.consume(count);
    }
}

/// Follows symbolic links at the end of a path. The target of the last one may not exist.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    // `metadata` also resolves links without a path, such as those to an open pipe.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("the path is not a regular file"));
    }
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(path);
        }
        // `join` replaces the directory if the target is absolute.
        path = directory_of(&path).join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
