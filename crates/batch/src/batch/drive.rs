//! The run of a batch: starts it, stops it, and retires its workers.

use std::{pin::pin, sync::Arc};

use tokio::sync::watch;

use super::{Batch, engine::Engine, run::Run, unrecorded::first, worker::Worker};
use crate::{Error, ledger::Marking, output::Output};

impl Batch {
    /// Runs a worker until it ends. Dropping the future stops it.
    pub(super) async fn run_worker(&mut self, output: &Output) -> Result<(), Error> {
        self.unrecorded.retire(&self.client, &self.ledger).await?;
        self.ledger.end_pause_of_refusals().await?;
        let (stop, stopped) = watch::channel(false);
        loop {
            let engine = Engine::start(self.worker(output, &stopped));
            let run = async {
                let engine = Arc::new(engine.await?);
                let run = async {
                    let ended = Run::new(Arc::clone(&engine)).finish().await;
                    drop(engine.renewing.lock().await);
                    ended
                };
                tokio::select! {
                    ended = run => ended,
                    never = engine.renew() => match never {},
                }
            };
            let ended = self.wait_for_run(run, &stop).await;
            // Also records the responses that were still in flight.
            let retired = self.unrecorded.retire(&self.client, &self.ledger).await;
            let lost_a_lease = first(ended, retired)?;
            if !lost_a_lease || *stopped.borrow() {
                return Ok(());
            }
            // Run again: retiring the worker may have recorded a response whose job can now
            // continue.
        }
    }

    pub(super) fn worker(&self, output: &Output, stopped: &watch::Receiver<bool>) -> Worker {
        Worker {
            client: self.client.clone(),
            ledger: self.ledger.clone(),
            output: output.clone(),
            on_change: self.on_change.clone(),
            unrecorded: self.unrecorded.clone(),
            settings: self.settings.clone(),
            receivers: Arc::downgrade(&self.receivers),
            stopped: stopped.clone(),
            admission: Arc::default(),
            marking: Arc::new(Marking::new(output.clone())),
        }
    }

    /// Waits for the run, and returns its outcome. When the signal arrives, tells the run to stop.
    async fn wait_for_run(
        &mut self,
        run: impl Future<Output = Result<bool, Error>>,
        stop: &watch::Sender<bool>,
    ) -> Result<bool, Error> {
        let mut run = pin!(run);
        if let Some(signal) = &mut self.stop {
            tokio::select! {
                ended = &mut run => return ended,
                () = signal => {}
            }
            self.stop = None;
            stop.send_replace(true);
        }
        run.await
    }
}
