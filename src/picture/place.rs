//! Where a picture is saved: the file that a path stands for, and whether it may be replaced.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use tempfile::NamedTempFile;
use tokio::sync::mpsc;

use super::{SaveOptions, Swept, part};

/// As many links as Linux follows.
const MAX_LINKS: u32 = 40;

/// A place where a picture can be saved.
pub(super) struct Place {
    path: PathBuf,
    directory: PathBuf,
    overwrite: bool,
    permissions: Option<Permissions>,
}

/// A temporary file next to its place. It is deleted when dropped.
pub(super) struct Part {
    place: Place,
    file: NamedTempFile,
}

impl Place {
    /// Resolves links, and refuses what must not be replaced.
    pub(super) fn find(path: &Path, options: &SaveOptions) -> io::Result<Self> {
        let path = if options.follow_symlinks { resolved(path)? } else { path.to_owned() };
        if path.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        }
        let existing = match fs::symlink_metadata(&path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(metadata) = &existing {
            // A rename would replace a device or a pipe instead of writing to it.
            if !metadata.is_file() && !metadata.is_symlink() {
                return Err(io::Error::other("the path is not a regular file"));
            }
            if !options.overwrite {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        let kept = existing.filter(fs::Metadata::is_file).map(|metadata| metadata.permissions());
        Ok(Self {
            directory: directory_of(&path).to_owned(),
            path,
            overwrite: options.overwrite,
            permissions: options.permissions.clone().or(kept),
        })
    }

    /// Creates the temporary file.
    pub(super) fn start(self, swept: &Swept) -> io::Result<Part> {
        swept.sweep_once(&self.directory);
        // Private until it has its permissions, unless those are the usual ones of a new file.
        let file = part::create(&self.directory, self.permissions.is_some())?;
        Ok(Part { place: self, file })
    }
}

impl Part {
    /// Writes until the channel closes. A channel that closed early (the download broke, the future
    /// was dropped) never becomes a picture, because only a complete download goes on to
    /// [`finish`](Self::finish).
    pub(super) fn write(&mut self, mut chunks: mpsc::Receiver<Bytes>) -> io::Result<()> {
        while let Some(chunk) = chunks.blocking_recv() {
            self.file.write_all(&chunk)?;
        }
        Ok(())
    }

    /// Flushes the file and renames it to its place, with an extension if one is to be added.
    pub(super) fn finish(self, extension: Option<&str>) -> io::Result<()> {
        let Place { path, directory, overwrite, permissions } = self.place;
        let path = with_extension(path, extension);
        if let Some(permissions) = permissions
            // Some filesystems have the same permissions for every file and refuse to change them.
            && self.file.as_file().metadata()?.permissions() != permissions
        {
            self.file.as_file().set_permissions(permissions)?;
        }
        self.file.as_file().sync_all()?;
        // The file keeps its lock until after the rename.
        let _file = match overwrite {
            true => self.file.persist(&path),
            false => self.file.persist_noclobber(&path),
        }
        .map_err(|error| error.error)?;
        // The name is in the directory, so that is flushed too. A directory may be writable and not
        // readable.
        if cfg!(unix)
            && let Ok(directory) = File::open(directory)
        {
            directory.sync_all()?;
        }
        Ok(())
    }
}

/// Adds an extension; a dot within the name does not begin one.
pub(super) fn with_extension(path: PathBuf, extension: Option<&str>) -> PathBuf {
    let Some(extension) = extension else { return path };
    let mut path = path.into_os_string();
    path.push(".");
    path.push(extension);
    path.into()
}

/// Follows the links at the end of a path. The target of the last one need not exist.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    // The system sees through links that have no path to follow, such as those to an open pipe.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("the path is not a regular file"));
    }
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(path);
        }
        // An absolute target replaces the directory.
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
