//! A folder of this machine.
//!
//! Pictures are saved by the client and not by `object_store`, whose local store does not flush
//! files, and does not check pictures while they arrive.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use imagekiln::{Damaged, DownloadedPicture, ErrorKind as Kind, FileKind, Picture};
use tokio::task;

use super::{SaveError, SavedPicture};
use crate::{Error, ErrorKind};

/// The number of attempts to write a file. Another process may delete the temporary file before it
/// is locked.
const MAX_WRITES: u32 = 3;

/// How many bytes at the beginning of a picture are read to find its width and height.
const HEAD: u64 = 256 * 1024;

/// The size of a sector in bytes, which a disk writes completely or not at all.
const SECTOR: usize = 512;

#[derive(Debug, Clone)]
pub(crate) struct Folder {
    /// Absolute.
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(path).map_err(|error| unusable(path, error))?;
        // The ledger contains paths as text.
        match root.to_str() {
            Some(_) => Ok(Self { root }),
            None => Err(unusable(path, io::Error::other("the path is not valid Unicode"))),
        }
    }

    /// Creates the folder.
    pub(super) async fn check(&self) -> Result<(), Error> {
        blocking(self.root.clone(), create_durably).await
    }

    pub(super) async fn is_free(&self, key: &str) -> Result<bool, Error> {
        let path = self.path(key);
        let look = move |directory: &Path| {
            create_durably(directory)?;
            Ok(fs::symlink_metadata(path).is_err())
        };
        blocking(self.path(key).parent().unwrap_or(&self.root).to_owned(), look).await
    }

    /// Whether a file, a directory or a link has this key.
    async fn exists(&self, key: &str) -> bool {
        blocking(self.path(key), |path| fs::symlink_metadata(path)).await.is_ok()
    }

    pub(super) async fn download(
        &self,
        key: &str,
        picture: &Picture,
    ) -> Result<DownloadedPicture, SaveError> {
        let path = self.path(key);
        // The record stays open, because the picture has no description yet.
        let directory = path.parent().unwrap_or(&self.root);
        picture.download_in(directory).await.map_err(SaveError::Client)
    }

    pub(super) async fn save(
        &self,
        key: &str,
        picture: &DownloadedPicture,
    ) -> Result<SavedPicture, SaveError> {
        let sha256 = picture.sha256.clone().unwrap_or_default();
        let (bytes, kind, location) = (picture.bytes, picture.kind, self.location(key));
        let saved = SavedPicture { bytes, sha256, kind, location, pixels: None };
        match picture.save(self.path(key)).await {
            Ok(_) => Ok(SavedPicture { pixels: self.pixels(key).await, ..saved }),
            // A worker that lost its lease may have saved the same picture.
            Err(error) if error.kind() == Kind::File && self.exists(key).await => {
                let found = self.read(key).await?;
                let found = found.map(|found| SavedPicture::new(&found, self.location(key)));
                let is_same = |found: &SavedPicture| found.sha256 == saved.sha256;
                found.filter(is_same).ok_or(SaveError::Exists)
            }
            Err(error) => Err(SaveError::Client(error)),
        }
    }

    /// Returns the size of the picture at a key from the beginning of its file.
    async fn pixels(&self, key: &str) -> Option<(usize, usize)> {
        let read = |path: &Path| {
            let mut head = Vec::new();
            File::open(path)?.take(HEAD).read_to_end(&mut head)?;
            Ok(FileKind::pixels(&head))
        };
        blocking(self.path(key), read).await.ok().flatten()
    }

    pub(super) async fn keep_damaged(&self, key: &str, damaged: &Damaged) -> Result<String, Error> {
        let damaged = damaged.clone();
        let kept = blocking(self.path(key), move |path| damaged.keep(path)).await?;
        Ok(kept.to_string_lossy().into_owned())
    }

    /// Creates a file atomically and durably. A file that already has the same content counts as
    /// created.
    pub(super) async fn create_file(
        &self,
        key: &str,
        content: &[u8],
    ) -> Result<SavedPicture, SaveError> {
        let bytes = content.to_owned();
        let create = move |path: &Path| match write(path, &bytes, false) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            written => written.map(|()| true),
        };
        if !blocking(self.path(key), create).await?
            && self.read(key).await?.as_deref() != Some(content)
        {
            return Err(SaveError::Exists);
        }
        Ok(SavedPicture::new(content, self.location(key)))
    }

    pub(super) async fn remove(&self, key: &str) {
        if let Err(error) = blocking(self.path(key), |path| fs::remove_file(path)).await {
            tracing::warn!(error = error.chain(), "could not delete a damaged file");
        }
    }

    pub(super) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let read = |path: &Path| match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => fs::read(path).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        blocking(self.path(key), read).await
    }

    /// Replaces a file atomically and durably.
    pub(super) async fn write(&self, key: &str, content: &[u8]) -> Result<(), Error> {
        let content = content.to_owned();
        let write = move |path: &Path| {
            let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            let mut written = write(path, &content, true);
            for _ in 1..MAX_WRITES {
                if written.as_ref().is_err_and(is_gone) {
                    written = write(path, &content, true);
                }
            }
            written
        };
        blocking(self.path(key), write).await
    }

    /// Returns the place of these bytes in a file, to replace them without writing the file anew.
    /// Returns `None` if the file no longer has this content, or if the bytes are in two sectors: a
    /// crash could then leave half of them.
    pub(super) async fn place(
        &self,
        key: &str,
        content: &[u8],
        bytes: Range<usize>,
    ) -> Result<Option<Place>, Error> {
        if cfg!(not(unix)) || bytes.start / SECTOR != (bytes.end - 1) / SECTOR {
            return Ok(None);
        }
        let content = content.to_owned();
        let open = move |path: &Path| {
            let mut file = File::options().read(true).write(true).open(path)?;
            let mut found = Vec::new();
            file.read_to_end(&mut found)?;
            let (file, path) = (Arc::new(file), path.to_owned());
            let place = Place { file, path, offset: bytes.start as u64 };
            Ok(Some(place).filter(|_| found == content))
        };
        blocking(self.path(key), open).await
    }

    /// Returns the keys of all files. Links are not followed.
    pub(super) async fn keys(&self) -> Result<Vec<String>, Error> {
        let keys = |root: &Path| {
            let (mut keys, mut directories) = (Vec::new(), vec![root.to_owned()]);
            while let Some(directory) = directories.pop() {
                for entry in fs::read_dir(directory)? {
                    let entry = entry?;
                    let (path, kind) = (entry.path(), entry.file_type()?);
                    if kind.is_dir() {
                        directories.push(path);
                    } else if kind.is_file()
                        && let Some(key) = path.strip_prefix(root).ok().and_then(key_of)
                    {
                        keys.push(key);
                    }
                }
            }
            Ok(keys)
        };
        blocking(self.root.clone(), keys).await
    }

    pub(super) fn location(&self, key: &str) -> String {
        self.path(key).to_string_lossy().into_owned()
    }

    fn path(&self, key: &str) -> PathBuf {
        // Joined by component, so that locations on Windows have its separators.
        key.split('/').fold(self.root.clone(), |path, component| path.join(component))
    }
}

/// A place in a file whose content can be replaced.
#[derive(Debug)]
pub(crate) struct Place {
    file: Arc<File>,
    path: PathBuf,
    offset: u64,
}

impl Place {
    /// Writes and flushes the bytes. Returns `false` if another file has replaced this one at the
    /// path.
    pub(super) async fn write(&self, content: Vec<u8>) -> Result<bool, Error> {
        let (file, offset) = (Arc::clone(&self.file), self.offset);
        let write = move |path: &Path| {
            write_at(&file, &content, offset)?;
            file.sync_data()?;
            is_at(&file, path)
        };
        blocking(self.path.clone(), write).await
    }
}

#[cfg(unix)]
fn write_at(file: &File, content: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, content, offset)
}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether the file is still at the path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Returns the key of a path below the folder, unless its name is not valid Unicode.
fn key_of(path: &Path) -> Option<String> {
    let components = path.components().map(|component| component.as_os_str().to_str());
    Some(components.collect::<Option<Vec<_>>>()?.join("/"))
}

/// Creates a directory, and flushes the names of new directories to disk.
fn create_durably(directory: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.is_dir()).collect();
    fs::create_dir_all(directory)?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        sync_directory(parent)?;
    }
    Ok(())
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        Ok(directory) if cfg!(unix) => directory.sync_all(),
        // A writable directory may not be readable.
        _ => Ok(()),
    }
}

/// Creates a file atomically and durably.
fn write(path: &Path, content: &[u8], replaces: bool) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    // Named and locked like the temporary files of the client, so that the client also deletes this
    // file if the process is killed.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".imagekiln-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    // Some filesystems have no locks. On those, the client deletes no temporary files.
    let _ = file.as_file().try_lock();
    file.write_all(content)?;
    file.as_file().sync_all()?;
    let named = if replaces { file.persist(path) } else { file.persist_noclobber(path) };
    let _file = named.map_err(|error| error.error)?;
    sync_directory(directory)
}

/// Runs `work` with a path on one of tokio's threads for blocking work.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let name = path.clone();
    let done = task::spawn_blocking(move || work(&path)).await;
    done.map_err(io::Error::other).flatten().map_err(|error| unusable(&name, error))
}

fn unusable(path: &Path, error: io::Error) -> Error {
    let message = format!("could not use {} for pictures; check its permissions", path.display());
    Error::new(ErrorKind::File, message).with_source(error)
}
