//! The only place that reads the system's wall clock.

use std::{sync::Arc, time::SystemTime};

/// The wall clock of a client: the system clock, or an injected one. It is read every time, so the
/// result is correct after the machine was suspended or its clock was set. Delays and deadlines use
/// tokio's clock instead.
#[derive(Clone)]
pub(crate) struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for WallClock {
    #[allow(clippy::disallowed_methods, reason = "this is where the clock is injected")]
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}
