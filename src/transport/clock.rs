//! The one place that asks for the time of day.

use std::{fmt, sync::Arc, time::SystemTime};

/// The wall clock of a client: the system's, or one that was injected. It is asked each time, so it
/// is right after the machine was suspended and after its clock was set. Delays and deadlines run
/// on tokio's clock instead.
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

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}
