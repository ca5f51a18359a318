//! A pool for CPU-bound work, off the runtime's threads. Small jobs do not wait for large ones, and
//! there is at most one job of each size per core. Tiny ones run at once on the thread of their
//! caller, because to wait for another thread would take longer.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::debug;

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

/// The jobs in progress, by their key.
pub(crate) struct SingleFlight<T> {
    pool: WorkerPool,
    jobs: Mutex<HashMap<String, Arc<Job<T>>>>,
}

/// The result of a job, once it is done.
type Job<T> = watch::Sender<Option<T>>;

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    pub(crate) fn new(pool: WorkerPool) -> Arc<Self> {
        Arc::new(Self { pool, jobs: Mutex::default() })
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<String, Arc<Job<T>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work, or waits for the same work if it is in progress. It starts only if somebody
    /// still waits for it when its turn comes, and continues to the end even if nobody does. `None`
    /// means that it panicked.
    pub(crate) async fn run(
        self: &Arc<Self>,
        key: &str,
        size: JobSize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let mut result = {
            let mut jobs = self.jobs();
            match jobs.get(key) {
                Some(job) => job.subscribe(),
                None => {
                    let (job, result) = watch::channel(None);
                    let job = Arc::new(job);
                    jobs.insert(key.to_owned(), Arc::clone(&job));
                    tokio::spawn(Arc::clone(self).complete(key.to_owned(), job, size, work));
                    result
                }
            }
        };
        result.wait_for(Option::is_some).await.ok()?.clone()
    }

    async fn complete(
        self: Arc<Self>,
        key: String,
        job: Arc<Job<T>>,
        size: JobSize,
        work: impl FnOnce() -> T + Send + 'static,
    ) {
        let Ok(permit) = self.pool.permit(size).await else { return };
        {
            // Under the lock, nobody can start to wait.
            let mut jobs = self.jobs();
            if job.receiver_count() == 0 {
                jobs.remove(&key);
                return;
            }
        }
        debug!(key, "a job starts");
        let done = permit.run(work).await.ok();
        self.jobs().remove(&key);
        // If it panicked, those who wait learn it when the sender is dropped.
        job.send_replace(done);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{FutureExt as _, future::join_all};
    use tokio::task::yield_now;

    use super::*;

    const SIZE: JobSize = JobSize::Large;

    #[tokio::test]
    async fn concurrent_callers_share_a_job() {
        let (jobs, runs) = (SingleFlight::new(WorkerPool::new()), Arc::new(AtomicUsize::new(0)));
        let work = || {
            let runs = Arc::clone(&runs);
            move || runs.fetch_add(1, Ordering::Relaxed)
        };
        let same = join_all((0..8).map(|_| jobs.run("a", SIZE, work()))).await;
        assert_eq!(same, [Some(0); 8]);
        let different = join_all([jobs.run("a", SIZE, work()), jobs.run("b", SIZE, work())]).await;
        assert_eq!(different.into_iter().flatten().sum::<usize>(), 1 + 2);
    }

    #[tokio::test]
    async fn a_job_that_nobody_waits_for_does_not_start() {
        let jobs = SingleFlight::new(WorkerPool::new());
        let mut permits = Vec::new();
        while let Some(permit) = jobs.pool.permit(SIZE).now_or_never() {
            permits.push(permit.unwrap());
        }
        assert_eq!(jobs.run("a", SIZE, || panic!("it started")).now_or_never(), None);
        drop(permits);
        while !jobs.jobs().is_empty() {
            yield_now().await;
        }
        assert_eq!(jobs.run("a", SIZE, || 7).await, Some(7));
    }

    #[tokio::test]
    async fn a_panic_is_reported_and_forgotten() {
        let jobs = SingleFlight::new(WorkerPool::new());
        assert_eq!(jobs.run("a", SIZE, || panic!("on purpose")).await, None);
        assert_eq!(jobs.run("a", SIZE, || 7).await, Some(7));
    }
}
