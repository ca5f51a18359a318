//! The output directory.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use tokio::task;

use crate::{Error, ErrorKind};

/// The maximum length of a task id in a file name, in characters.
const LONGEST_ID: usize = 100;

/// Creates the output directory and returns its absolute path.
pub(super) async fn prepare(directory: PathBuf) -> Result<PathBuf, Error> {
    let name = directory.clone();
    let prepare = move || {
        let directory = std::path::absolute(directory)?;
        fs::create_dir_all(&directory)?;
        Ok(directory)
    };
    blocking(prepare).await.map_err(|error| unusable(&name, error))
}

/// Creates the directory of a target, and makes its name durable: a picture that the ledger calls
/// saved must not be lost with its directory.
pub(super) async fn prepare_parent(directory: &Path, target: &Path) -> Result<(), Error> {
    let parent = target.parent().unwrap_or(directory).to_owned();
    let (directory, name) = (directory.to_owned(), parent.clone());
    let prepare = move || {
        if parent.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&parent)?;
        let created = parent.ancestors().skip(1).take_while(|path| path.starts_with(&directory));
        for path in created.filter(|_| cfg!(unix)) {
            File::open(path)?.sync_all()?;
        }
        Ok(())
    };
    blocking(prepare).await.map_err(|error| unusable(&name, error))
}

/// Whether a file, a directory or a link has this path.
pub(super) async fn exists(path: &Path) -> bool {
    let path = path.to_owned();
    blocking(move || fs::symlink_metadata(path)).await.is_ok()
}

/// Returns another path for a picture if the file at `path` belongs to somebody else. The task id
/// comes from the service, so it must not be able to name another directory.
pub(super) fn beside(path: &Path, task_id: &str) -> PathBuf {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let id: String = task_id.chars().filter(is_plain).take(LONGEST_ID).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}-{id}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{id}"),
    };
    path.with_file_name(name)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn unusable(path: &Path, error: io::Error) -> Error {
    let message =
        format!("could not use the output directory {}; check its permissions", path.display());
    Error::new(ErrorKind::File, message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_path_is_in_the_same_directory() {
        assert_eq!(beside(Path::new("a/fox.png"), "t-1"), Path::new("a/fox-t-1.png"));
        assert_eq!(beside(Path::new("a/fox"), "../../b"), Path::new("a/fox-b"));
    }
}
