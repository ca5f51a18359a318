//! Captures all events and spans of a thread at the finest level.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tracing::{
    Dispatch,
    subscriber::{DefaultGuard, NoSubscriber},
};
use tracing_subscriber::{
    filter::LevelFilter,
    fmt::{self, format::FmtSpan},
};

/// Captures until it is dropped. For tests on a single-threaded runtime.
pub struct Events {
    written: Arc<Mutex<Vec<u8>>>,
    _guard: DefaultGuard,
    /// With a single subscriber, `tracing` caches for all threads whether an event is enabled, as
    /// decided by the first thread that reaches it. The threads of other tests have no subscriber.
    _second: Dispatch,
}

impl Events {
    pub fn capture() -> Self {
        let second = Dispatch::new(NoSubscriber::default());
        let written = Arc::new(Mutex::new(Vec::new()));
        let writer = Arc::clone(&written);
        let subscriber = fmt::Subscriber::builder()
            .with_max_level(LevelFilter::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(move || Writer(Arc::clone(&writer)))
            .finish();
        Self { written, _guard: tracing::subscriber::set_default(subscriber), _second: second }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Returns the events with this message: the level and the fields of each.
    pub fn with_message(&self, message: &str) -> Vec<String> {
        let text = self.text();
        let lines = text.lines().filter_map(|line| {
            let (head, fields) = line.split_once(message)?;
            let level = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"]
                .into_iter()
                .find(|level| head.contains(&format!(" {level} ")))?;
            Some(format!("{level}{fields}"))
        });
        lines.collect()
    }
}

struct Writer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
