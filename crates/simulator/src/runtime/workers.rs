//! A pool for CPU-bound work, off the runtime's threads. Small jobs do not wait for large ones, and
//! there is at most one job of each size per core. Tiny ones run at once on the thread of their
//! caller, because to wait for another thread would take longer.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::available_parallelism,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An image of more pixels is large: it takes longer than a few hundredths of a second.
const MAX_SMALL_PIXELS: u64 = 1 << 20;

/// So is a text of more bytes.
const MAX_SMALL_BYTES: usize = 1 << 20;

/// A text of at most this many bytes is tiny: it is read in a tenth of a millisecond.
const MAX_TINY_BYTES: usize = 4 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum JobSize {
    Tiny,
    Small,
    Large,
}

impl JobSize {
    pub(crate) fn of_pixels(pixels: u64) -> Self {
        if pixels > MAX_SMALL_PIXELS { Self::Large } else { Self::Small }
    }

    pub(crate) fn of_bytes(bytes: usize) -> Self {
        if bytes <= MAX_TINY_BYTES {
            Self::Tiny
        } else if bytes <= MAX_SMALL_BYTES {
            Self::Small
        } else {
            Self::Large
        }
    }
}

pub(crate) struct WorkerPool {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The job panicked: a bug in the simulator or in a decoder.
#[derive(Debug)]
pub(crate) struct Panicked;

/// The permission to run one job.
pub(crate) struct WorkerPermit(OwnedSemaphorePermit);

impl WorkerPool {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(2, usize::from);
        // Large jobs leave a core to the small ones, if there are several.
        let large = cores.saturating_sub(1).max(1);
        Self { small: Arc::new(Semaphore::new(cores)), large: Arc::new(Semaphore::new(large)) }
    }

    /// Waits for a permit. The jobs of each size get theirs in the order in which they ask.
    pub(crate) async fn permit(&self, size: JobSize) -> Result<WorkerPermit, Panicked> {
        let permits = match size {
            JobSize::Tiny | JobSize::Small => &self.small,
            JobSize::Large => &self.large,
        };
        Arc::clone(permits).acquire_owned().await.map(WorkerPermit).map_err(|_| Panicked)
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        size: JobSize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        if size == JobSize::Tiny {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
        }
        self.permit(size).await?.run(work).await
    }
}

impl WorkerPermit {
    pub(crate) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let work = move || {
            let done = work();
            drop(self.0);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Panicked)
    }
}
