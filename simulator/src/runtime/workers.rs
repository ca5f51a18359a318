//! A pool for CPU-bound work, off the runtime's threads. It runs at most one job per core.

use std::{sync::Arc, thread::available_parallelism};

use tokio::sync::Semaphore;

pub(crate) struct WorkerPool {
    places: Arc<Semaphore>,
}

/// The job panicked: a bug in the simulator or in a decoder.
pub(crate) struct Panicked;

impl WorkerPool {
    pub(crate) fn new() -> Self {
        let places = available_parallelism().map_or(2, usize::from);
        Self { places: Arc::new(Semaphore::new(places)) }
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Panicked)?;
        let work = move || {
            let done = work();
            drop(place);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Panicked)
    }
}
