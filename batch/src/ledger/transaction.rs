//! Runs a transaction, and repeats it if the connection to the database breaks.

use std::{sync::Arc, thread, time::Duration};

use imagekiln::Backoff;
use tokio::{runtime::Handle, task};

use super::{Ledger, database::Database};
use crate::{Error, ErrorKind};

/// The time for which a transaction is repeated while the database does not respond, for example
/// because it restarts.
const OUTAGE: Duration = Duration::from_secs(60);

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Ledger {
    /// Runs `work` in a transaction. It completes even if the future is dropped.
    ///
    /// `work` runs again if the connection breaks, even if this happens after the commit: when it
    /// runs the second time, it must return what it returned the first time.
    ///
    /// It runs on a blocking thread, because tokio's paused clock would otherwise advance while the
    /// database writes.
    pub(super) async fn transaction<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: AsyncFn(&mut Database) -> Result<T, Error> + Send + 'static,
    {
        let mut database = Arc::clone(&self.0.database).lock_owned().await;
        let (runtime, ledger) = (Handle::current(), self.clone());
        let work = move || {
            let done = runtime.block_on(ledger.repeat(&mut database, &work));
            drop(database);
            // The file stays locked until here.
            drop(ledger);
            done
        };
        task::spawn_blocking(work).await.unwrap_or_else(|error| {
            let message = "the runtime shut down before the ledger was written";
            Err(Error::new(ErrorKind::Ledger, message).with_source(error))
        })
    }

    async fn repeat<T, W>(&self, database: &mut Option<Database>, work: &W) -> Result<T, Error>
    where
        W: AsyncFn(&mut Database) -> Result<T, Error>,
    {
        let mut waited = Duration::ZERO;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let error = match self.attempt(database, work).await {
                Ok(done) => return Ok(done),
                Err(error) if database.is_some() && !is_disconnection(&error) => return Err(error),
                Err(error) => error,
            };
            *database = None;
            // While the runtime shuts down, no connection works.
            let is_shutting_down = task::spawn(async {}).await.is_err();
            let pause = backoff.pause();
            if is_shutting_down || waited + pause > OUTAGE {
                return Err(error);
            }
            tracing::warn!(error = error.chain(), "the ledger is not available; trying again");
            // This is a blocking thread, and the paused clock of a test would not advance.
            thread::sleep(pause);
            waited += pause;
        }
    }

    async fn attempt<T, W>(&self, database: &mut Option<Database>, work: &W) -> Result<T, Error>
    where
        W: AsyncFn(&mut Database) -> Result<T, Error>,
    {
        let database = match database {
            Some(database) => database,
            None => {
                let connected = self.0.source.connect(&self.0.clocks).await.map_err(|error| {
                    let message = format!("could not connect to the ledger {}", self.name());
                    Error::new(ErrorKind::Ledger, message).with_source(error)
                })?;
                database.insert(connected)
            }
        };
        database.begin().await?;
        let done = work(database).await;
        // If the disk is full, SQLite has rolled back by itself.
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = database.execute(end, []).await;
        let done = done?;
        ended?;
        Ok(done)
    }
}

/// Whether the connection broke, the server shuts down or starts, or it ended the transaction in
/// favor of another one.
fn is_disconnection(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<sqlx::Error>()) {
        Some(sqlx::Error::Io(_) | sqlx::Error::Tls(_)) => true,
        Some(sqlx::Error::Database(error)) => error.code().is_some_and(|code| {
            // Classes of PostgreSQL: connection exceptions, operator interventions, and rollbacks.
            // 25P03: this process was suspended during the transaction.
            ["08", "57P", "40", "25P03"].iter().any(|class| code.starts_with(class))
        }),
        _ => false,
    }
}
