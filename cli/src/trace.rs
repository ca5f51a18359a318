//! What the SDK does, shown as it happens on standard error with `--verbose`. The SDK puts no
//! secret into its events.

use std::io;

use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Shows events from here on: the steps at verbosity 1, polls and retries from 2.
pub fn show(verbosity: u8, json: bool) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // Only our own crates: those below them print whole addresses, with the signed query.
    let ours = Targets::new().with_target("imagekiln", level);
    let events = fmt::layer().with_writer(io::stderr).with_ansi(false);
    let events = if json { events.json().boxed() } else { events.without_time().boxed() };
    // An error means that there is a subscriber already, which is as good.
    let _ = tracing_subscriber::registry().with(events.with_filter(ours)).try_init();
}
