//! What the tests stand on: a server that answers by script, the answers, and what a subscriber of
//! events saw.

pub mod answer;
pub mod child;
mod connection;
pub mod events;
pub mod http2;
pub mod received;
pub mod samples;
pub mod scripted;

use std::{sync::mpsc, time::Duration};

use tokio::time;

/// The outcome of what must not hang: on a paused clock the limit passes when nothing moves any
/// more.
pub async fn done<T>(future: impl Future<Output = T>) -> T {
    time::timeout(Duration::from_secs(86_400), future)
        .await
        .expect("nothing moves, and it is not done")
}

/// Returns when nothing is left to do for either side: a paused clock moves only when every task
/// waits.
pub async fn settle() {
    time::sleep(Duration::from_millis(1)).await;
}

/// A paused clock does not move by itself until this is dropped: not while a blocking task runs.
#[must_use]
pub fn hold_clock() -> mpsc::Sender<()> {
    let (held, released) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || released.recv().is_err());
    held
}
