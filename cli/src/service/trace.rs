//! Logs what the SDK does to standard error with `--verbose`. The SDK's events contain no secrets.

use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::process::Stream;

/// Starts the log, if none is started: the steps at verbosity 1, also polls and retries from 2.
pub fn show(stderr: &Stream, verbosity: u8, json: bool) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // Only the SDK's events: those of its dependencies contain full URLs with the signed query.
    let ours = Targets::new().with_target("imagekiln", level);
    let stderr = stderr.clone();
    let events = fmt::layer().with_writer(move || stderr.clone()).with_ansi(false);
    let events = if json { events.json().boxed() } else { events.without_time().boxed() };
    // Fails only if a subscriber is already installed, which is fine.
    let _ = tracing_subscriber::registry().with(events.with_filter(ours)).try_init();
}
