//! Work that takes the processor for long: off the runtime's threads, and no more of it at once
//! than there are cores.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

pub(crate) struct Workshop {
    places: Arc<Semaphore>,
}

/// The work panicked, which is a fault of the simulator or of a decoder.
pub(crate) struct Broken;

impl Workshop {
    pub(crate) fn new() -> Self {
        let places = available_parallelism().map_or(2, usize::from);
        Self { places: Arc::new(Semaphore::new(places)) }
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Broken> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Broken)?;
        let work = move || {
            let done = work();
            drop(place);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Broken)
    }
}
