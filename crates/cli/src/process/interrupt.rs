//! Counts how often Ctrl-C was pressed or SIGTERM was sent. A count cannot miss a signal that
//! arrives between two waits.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Signal, ctrl_c};
use tokio::sync::watch;

use super::Process;
use crate::failure::Failure;

/// The number of times that the user asked the process to stop.
#[derive(Clone)]
pub struct Interrupts {
    count: watch::Receiver<u32>,
    /// Whether the user was told what the first Ctrl-C does.
    is_reported: Arc<AtomicBool>,
}

impl Interrupts {
    /// Starts to count signals: from now on, Ctrl-C no longer ends the process. Must be called
    /// within the runtime.
    pub fn listen(process: &Process) -> Result<Self, Failure> {
        let (count, seen) = watch::channel(0);
        let interrupts = Self { count: seen, is_reported: Arc::default() };
        if !process.has_signals {
            return Ok(interrupts);
        }
        let signals =
            signals().map_err(|error| Failure::other("could not listen for Ctrl-C", &error))?;
        for mut signal in signals {
            let count = count.clone();
            tokio::spawn(async move {
                while signal.recv().await.is_some() && !count.is_closed() {
                    count.send_modify(|count| *count += 1);
                }
            });
        }
        Ok(interrupts)
    }

    pub fn happened(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Returns true only for the first caller, who then tells the user what Ctrl-C does.
    pub fn is_first_report(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }

    /// Waits for the first signal. Returns at once if it came before the call.
    pub async fn first(&self) {
        self.reach(1).await;
    }

    pub async fn second(&self) {
        self.reach(2).await;
    }

    async fn reach(&self, presses: u32) {
        if self.count.clone().wait_for(|count| *count >= presses).await.is_err() {
            // The tasks that count have ended, so no signal will come.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
fn signals() -> io::Result<Vec<Signal>> {
    [SignalKind::interrupt(), SignalKind::terminate()].into_iter().map(signal).collect()
}

#[cfg(windows)]
fn signals() -> io::Result<Vec<Signal>> {
    Ok(vec![ctrl_c()?])
}
