//! Work that several requests wait for is done once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use tracing::debug;

use super::workers::{JobSize, WorkerPool};

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
