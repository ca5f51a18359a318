//! Reads image files. A file is measured when the request is planned, and read on a blocking thread
//! while it is sent.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{
    BodyFailure, Progress,
    stream::{Pool, RAW_FRAME},
};
use crate::values::image_file::{self, Fingerprint};

/// Frames per chunk. Each chunk costs a switch between threads.
const FRAMES: usize = 8;

/// The channel capacity: one encoded chunk being sent and one ready to send.
const AHEAD: usize = 2;

/// A file in the state that it had when the request was planned.
pub(super) struct PlannedFile {
    field: String,
    path: PathBuf,
    fingerprint: Fingerprint,
}

impl PlannedFile {
    pub(super) fn new(field: &str, path: &Path) -> io::Result<Self> {
        // Opening the file finds missing read permission before anything is sent.
        let fingerprint = image_file::open(path)
            .and_then(|file| Fingerprint::of(&file))
            .map_err(|error| described(field, path, &error))?;
        Ok(Self { field: field.to_owned(), path: path.to_owned(), fingerprint })
    }

    pub(super) fn length(&self) -> u64 {
        self.fingerprint.length
    }

    /// Reads and encodes the file on a blocking thread. Must be called within a tokio runtime.
    pub(super) fn read(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        progress: &Arc<Progress>,
    ) -> mpsc::Receiver<io::Result<Bytes>> {
        let (sender, chunks) = mpsc::channel(AHEAD);
        let (file, pool, progress) = (Arc::clone(self), Arc::clone(pool), Arc::clone(progress));
        tokio::task::spawn_blocking(move || {
            if let Err(error) = file.send(&pool, &sender) {
                let error = described(&file.field, &file.path, &error);
                progress.fail(BodyFailure::File(error.to_string()));
                // Fails if the attempt was cancelled and the receiver is gone.
                let _ = sender.blocking_send(Err(error));
            }
        });
        chunks
    }

    fn send(&self, pool: &Arc<Pool>, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
        let mut file = image_file::open(&self.path)?;
        self.must_be_unchanged(&file)?;
        let mut frame = vec![0; RAW_FRAME];
        let mut left = self.length();
        while left > 0 {
            let mut chunk = pool.buffer();
            for _ in 0..FRAMES {
                // Encoded in small pieces, while they are in the cache.
                frame.truncate(left.min(RAW_FRAME as u64) as usize);
                file.read_exact(&mut frame).map_err(or_changed)?;
                chunk.encode(&frame);
                left -= frame.len() as u64;
                if left == 0 {
                    break;
                }
            }
            if left == 0 {
                // Checked before the last chunk, so that the service never receives a complete file
                // that has changed.
                self.must_be_unchanged(&file)?;
            }
            if sender.blocking_send(Ok(Bytes::from_owner(chunk))).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn must_be_unchanged(&self, file: &File) -> io::Result<()> {
        if Fingerprint::of(file)? == self.fingerprint { Ok(()) } else { Err(changed()) }
    }
}

/// The end of the file before its planned length is a change.
fn or_changed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => changed(),
        _ => error,
    }
}

fn changed() -> io::Error {
    io::Error::other("changed while it was being sent")
}

fn described(field: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} (field `{field}`): {error}", path.display()))
}
