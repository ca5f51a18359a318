//! The ledger: a database that contains every job, every submission and every worker.

mod connect;
mod database;
mod identity;
mod jobs;
mod limits;
mod records;
mod reports;
mod submissions;
mod ticket;
mod transaction;
mod workers;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, atomic::AtomicU64},
};

use imagekiln::journal::Directory;
use tokio::sync::watch;

use self::{
    connect::Source,
    limits::outage,
    transaction::Lane,
    workers::{LocalWorker, order},
};
pub use self::{
    database::clocks::Clocks,
    jobs::{Jobs, changes::Watch, decisions::Resolved, resolve::Resolution, status::KnownJob},
    limits::{
        control::{LimitStatus, Limits},
        outage::Outage,
    },
    reports::Reports,
};
pub(crate) use self::{
    identity::Marking,
    jobs::resolve::task_of,
    limits::{Limit, LimitReached, RunLimits, admission::Admission, outage::refuses_others},
    ticket::Ticket,
    workers::{
        claims::{Claim, Demand, Named},
        order::Order,
        steps::Change,
    },
};
#[cfg(doc)]
use crate::JobState;
use crate::{
    Error, ErrorKind,
    error::{DatabaseFailure, LOCKED},
    lock, random,
};

/// A durable record of jobs and submissions in a SQLite file or in PostgreSQL. Clones share the
/// connection.
///
/// A program reads and changes a ledger through its [`jobs`](Self::jobs), [`limits`](Self::limits)
/// and [`reports`](Self::reports). A [batch](crate::Batch) that runs on a ledger registers a worker
/// in it.
///
/// A ledger flushes each state of a job to disk before a worker takes the step that the state
/// announces, so a crash cannot hide a submission that was paid for.
///
/// A ledger is also a [`Journal`](imagekiln::journal::Journal): a program can record submissions
/// that belong to no job in the same ledger. [`Client::resume`](imagekiln::Client::resume) returns
/// only these submissions, because batches continue those of jobs, and leaves out those of other
/// processes that still run.
///
/// A ledger contains prompts, images that were given as bytes (in base64), and polling URLs, which
/// may be signed. It contains no API keys and no webhook secrets.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    /// One connection, because SQLite has one writer at a time.
    shared: Lane,
    /// A second connection for transactions that wait for other processes. Only PostgreSQL uses it.
    exclusive: Lane,
    clocks: Clocks,
    /// The workers of this process.
    workers: Mutex<HashMap<i64, LocalWorker>>,
    /// The places of jobs that are about to be submitted.
    places: Mutex<HashMap<i64, order::Waiting>>,
    /// Changes when this process adds a job or makes one claimable.
    changes: watch::Sender<()>,
    /// Tells this process from the others that use the ledger as the journal of a client. Positive,
    /// because it is also the number of a lock.
    owner: i64,
    /// What this process knows about outages of the service.
    outages: Mutex<outage::Known>,
    acceptances: OnceLock<Directory>,
    /// The number of submissions that this process has written to the acceptance log.
    logged: AtomicU64,
    /// The last field, so that the connections are closed before the file is unlocked.
    source: Source,
}

impl Ledger {
    async fn with(source: Source, clocks: Clocks) -> Result<Self, Error> {
        let owner = i64::from_le_bytes(random()?) & i64::MAX;
        // On a blocking thread, like every access to a file.
        let known = clocks.clone();
        let connect = move || (source.connect(&known), source);
        let connected = tokio::task::spawn_blocking(connect).await;
        let (connected, source) =
            connected.map_err(Error::because(ErrorKind::Ledger, "could not open the ledger"))?;
        let database = connected.map_err(|error| {
            let (name, advice) = source.name();
            if connect::is_missing(&error) {
                return Error::new(ErrorKind::Missing, format!("there is no ledger at {name}"));
            }
            let is_locked = DatabaseFailure::of(&*error) == Some(DatabaseFailure::Locked);
            let advice = if is_locked { LOCKED } else { advice };
            let message = format!("could not open the ledger {name}; {advice}");
            Error::new(ErrorKind::Ledger, message).with_source(error)
        })?;
        Ok(Self(Arc::new(Inner {
            shared: Lane::of(database),
            exclusive: Lane::default(),
            clocks,
            workers: Mutex::default(),
            places: Mutex::default(),
            changes: watch::Sender::new(()),
            owner,
            outages: Mutex::default(),
            acceptances: OnceLock::new(),
            logged: AtomicU64::new(0),
            source,
        })))
    }

    /// Closes the ledger: waits until its transactions have ended, closes the connections, and lets
    /// another process open the file. Clones of the ledger, such as the clone in a batch, fail with
    /// kind [`Ledger`](ErrorKind::Ledger) afterwards. Close the ledger only after the last run has
    /// ended: an active run could not record the tasks that the service accepts and bills.
    ///
    /// A ledger is also closed when its last clone is dropped.
    pub async fn close(self) {
        for lane in [&self.0.shared, &self.0.exclusive] {
            let mut connection = Arc::clone(&lane.connection).lock_owned().await;
            // Closing a connection blocks.
            let closing = tokio::task::spawn_blocking(move || connection.close());
            if let Err(error) = closing.await {
                tracing::warn!(%error, "could not close a connection of the ledger");
            }
        }
        #[cfg(feature = "sqlite")]
        if let Source::File { lock: Some(lock), .. } = &self.0.source {
            lock.unlock();
        }
    }

    /// Runs a pragma of SQLite on the connection of the ledger.
    #[cfg(feature = "__fuzzing")]
    pub(crate) async fn pragma(&self, pragma: &str) -> Result<(), Error> {
        let mut connection = Arc::clone(&self.0.shared.connection).lock_owned().await;
        let pragma = format!("PRAGMA {pragma}");
        let run = move || match connection.database()? {
            Some(database) => database.finds(&pragma, []).map(drop),
            None => Ok(()),
        };
        tokio::task::spawn_blocking(run)
            .await
            .map_err(Error::because(ErrorKind::Ledger, "could not run a pragma"))?
    }

    /// Wakes the workers of this process, because jobs were added or became claimable.
    fn announce(&self) {
        self.0.changes.send_replace(());
    }

    fn name(&self) -> String {
        self.0.source.name().0
    }

    /// Returns a receiver that is notified when this process adds a job or makes one claimable. The
    /// receiver also notices a change between two waits. Changes by other processes do not notify
    /// it.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Returns what this process knows about its worker, until the worker retires.
    fn local(&self, worker: i64) -> Option<LocalWorker> {
        lock(&self.0.workers).get(&worker).cloned()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("name", &self.name()).finish_non_exhaustive()
    }
}
