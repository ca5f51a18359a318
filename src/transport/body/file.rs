//! Image files: measured when the request is planned, and read on a blocking thread while they are
//! sent.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Progress, pool::Pool};
use crate::values::image_file::{self, Fingerprint};

/// Raw bytes a chunk: a multiple of 3, so that encoded chunks join without padding.
const CHUNK: usize = 384 * 1024;

/// Encoded chunks on their way: one being sent, and one ready behind it.
const AHEAD: usize = 2;

/// A file as it was when the request was planned.
pub(super) struct PlannedFile {
    field: String,
    path: PathBuf,
    fingerprint: Fingerprint,
}

impl PlannedFile {
    pub(super) fn new(field: &str, path: &Path) -> io::Result<Self> {
        // Opened, because a file without read permission is better found before anything is sent.
        let fingerprint = image_file::open(path)
            .and_then(|file| Fingerprint::of(&file))
            .map_err(|error| described(field, path, &error))?;
        Ok(Self { field: field.to_owned(), path: path.to_owned(), fingerprint })
    }

    pub(super) fn length(&self) -> u64 {
        self.fingerprint.length()
    }

    /// Reads and encodes the file on a blocking thread. Called within a tokio runtime.
    pub(super) fn read(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        progress: &Progress,
    ) -> mpsc::Receiver<io::Result<Bytes>> {
        let (sender, chunks) = mpsc::channel(AHEAD);
        let (file, pool, progress) = (Arc::clone(self), Arc::clone(pool), progress.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = file.send(&pool, &sender) {
                let error = described(&file.field, &file.path, &error);
                progress.fail(error.to_string());
                // The receiver is gone if the attempt was given up; then nobody needs the error.
                let _ = sender.blocking_send(Err(error));
            }
        });
        chunks
    }

    fn send(&self, pool: &Arc<Pool>, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
        let mut file = image_file::open(&self.path)?;
        self.must_be_unchanged(&file)?;
        let mut raw = Vec::with_capacity(CHUNK);
        let mut left = self.length();
        while left > 0 {
            raw.clear();
            let take = left.min(CHUNK as u64);
            (&mut file).take(take).read_to_end(&mut raw)?;
            left -= take;
            if raw.len() as u64 != take {
                return Err(changed());
            }
            if left == 0 {
                // Before the last chunk goes out, so that the service never has all of a file that
                // changed.
                self.must_be_unchanged(&file)?;
            }
            if sender.blocking_send(Ok(pool.encode(&raw))).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn must_be_unchanged(&self, file: &File) -> io::Result<()> {
        match Fingerprint::of(file)? == self.fingerprint {
            true => Ok(()),
            false => Err(changed()),
        }
    }
}

fn changed() -> io::Error {
    io::Error::other("changed while it was being sent")
}

fn described(field: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} (field `{field}`): {error}", path.display()))
}
