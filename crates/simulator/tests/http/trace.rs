//! The events that the simulator traces.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use tracing::{Dispatch, Level, subscriber::DefaultGuard};
use tracing_subscriber::fmt::MakeWriter;

/// The events of this thread, on which a test and its simulator run.
pub struct Trace {
    lines: Lines,
    _guard: DefaultGuard,
    /// While a process has a single subscriber, an event that happens first in a thread without it
    /// is disabled for all threads. Other tests run in such threads. Of two, both are consulted.
    _other: Dispatch,
}

impl Trace {
    pub fn start() -> Self {
        let lines = Lines::default();
        let subscriber =
            tracing_subscriber::fmt().with_writer(lines.clone()).with_max_level(Level::TRACE);
        let guard = tracing::subscriber::set_default(subscriber.finish());
        Self { lines, _guard: guard, _other: Dispatch::new(tracing_subscriber::registry()) }
    }

    pub fn lines(&self) -> String {
        String::from_utf8(self.lines.0.lock().unwrap().clone()).unwrap()
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
