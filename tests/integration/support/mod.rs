//! Test support: a scripted server, its responses, and captured events.

pub mod child;
mod connection;
pub mod events;
#[cfg(all(unix, not(target_os = "macos")))]
pub mod http2;
pub mod received;
pub mod reply;
pub mod samples;
pub mod scripted;
pub mod spans;

use std::{sync::mpsc, time::Duration};

use tokio::time;

/// Awaits a future that must not hang. With a paused clock, the limit passes as soon as nothing
/// makes progress.
pub async fn done<T>(future: impl Future<Output = T>) -> T {
    time::timeout(Duration::from_secs(86_400), future).await.expect("the future hangs")
}

/// Returns when both sides are idle: a paused clock advances only when every task waits.
pub async fn settle() {
    time::sleep(Duration::from_millis(1)).await;
}

/// Keeps a paused clock from advancing until the guard is dropped, because a blocking task is
/// running.
#[must_use]
pub fn hold_clock() -> mpsc::Sender<()> {
    let (held, released) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || released.recv().is_err());
    held
}
