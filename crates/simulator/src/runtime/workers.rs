//! A pool for CPU-bound work, which must not run on the runtime's threads. Small jobs do not wait
//! for large ones, and for each size there is at most one job per core. Tiny jobs run at once on
//! the thread of the caller, because waiting for another thread would take longer.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    thread::available_parallelism,
};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tracing::debug;

use super::Lock;

/// Images with more pixels are large jobs, which take longer than a few hundredths of a second.
const MAX_SMALL_PIXELS: u64 = 1 << 20;

/// Texts with more bytes are large jobs, too.
const MAX_SMALL_BYTES: usize = 1 << 20;

/// Texts with at most this many bytes are tiny jobs, which take a tenth of a millisecond.
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
        match bytes {
            0..=MAX_TINY_BYTES => Self::Tiny,
            _ if bytes <= MAX_SMALL_BYTES => Self::Small,
            _ => Self::Large,
        }
    }
}

pub(crate) struct WorkerPool {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The job panicked, because of a bug in the simulator or in a decoder.
#[derive(Debug)]
pub(crate) struct Panicked;

impl WorkerPool {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(2, usize::from);
        // If there are several cores, large jobs leave one to small ones.
        let large = cores.saturating_sub(1).max(1);
        Self { small: Arc::new(Semaphore::new(cores)), large: Arc::new(Semaphore::new(large)) }
    }

    /// Waits for the permission to run a job. Jobs of the same size get it in the order of their
    /// calls.
    pub(crate) async fn permit(&self, size: JobSize) -> Result<OwnedSemaphorePermit, Panicked> {
        let permits = match size {
            JobSize::Tiny | JobSize::Small => &self.small,
            JobSize::Large => &self.large,
        };
        Arc::clone(permits).acquire_owned().await.map_err(|_| Panicked)
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        size: JobSize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        if size == JobSize::Tiny {
            return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
        }
        run_with(self.permit(size).await?, work).await
    }
}

/// Runs a job on a thread of its own, and then returns its permission.
async fn run_with<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    let work = move || {
        let done = work();
        drop(permit);
        done
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| Panicked)
}

/// Runs jobs that have keys. While a job runs, further calls with its key wait for its result.
pub(crate) struct SingleFlight<T> {
    pool: WorkerPool,
    /// The result of each job that somebody waits for.
    jobs: Lock<HashMap<String, Weak<OnceCell<T>>>>,
}

impl<T: Clone + Send + 'static> SingleFlight<T> {
    pub(crate) fn new(pool: WorkerPool) -> Self {
        Self { pool, jobs: Lock::default() }
    }

    /// Runs a job, or waits for the result of the job with this key if it is in progress. When it
    /// is the job's turn, the job starts only if its caller still waits for it. After that, it runs
    /// to its end even if its caller leaves; then the next one of those who wait runs their own
    /// job. Returns `None` if the job panicked.
    pub(crate) async fn run(
        &self,
        key: &str,
        size: JobSize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let job = {
            let mut jobs = self.jobs.lock();
            jobs.retain(|_, job| job.strong_count() > 0);
            let known = jobs.get(key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let job = Arc::default();
                jobs.insert(key.to_owned(), Arc::downgrade(&job));
                job
            })
        };
        let result = job.get_or_try_init(async || {
            let permit = self.pool.permit(size).await?;
            debug!(key, "a job starts");
            run_with(permit, work).await
        });
        result.await.ok().cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{FutureExt as _, future::join_all};

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
        assert_eq!(jobs.run("a", SIZE, || 7).await, Some(7));
    }

    #[tokio::test]
    async fn a_panic_is_reported_and_forgotten() {
        let jobs = SingleFlight::new(WorkerPool::new());
        assert_eq!(jobs.run("a", SIZE, || panic!("on purpose")).await, None);
        assert_eq!(jobs.run("a", SIZE, || 7).await, Some(7));
    }
}
