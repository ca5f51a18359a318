//! The ledger: a database that contains every job, every submission and every worker.

mod acceptances;
mod active;
mod add;
mod admission;
mod adopt;
mod advance;
mod archive;
mod changes;
mod claims;
mod clocks;
mod connect;
mod control;
mod database;
mod decisions;
mod ended;
mod file;
mod identity;
mod jobs;
mod journal;
mod keys;
mod limits;
mod manage;
mod metrics;
mod migrations;
mod order;
mod outage;
mod records;
mod resolve;
mod spending;
mod steps;
mod ticket;
mod transaction;
mod workers;

use std::{
    collections::HashMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use imagekiln::journal::{Directory, Step};
use tokio::{
    sync::{self, watch},
    time::sleep,
};

pub(crate) use self::acceptances::OpenLog;
pub(crate) use self::admission::Admission;
pub use self::changes::Watch;
pub(crate) use self::claims::{Claim, Claimed, Demand, Named};
pub use self::clocks::Clocks;
pub use self::control::LimitStatus;
pub use self::decisions::Resolved;
pub(crate) use self::identity::Marking;
pub use self::jobs::KnownJob;
pub(crate) use self::limits::{Limit, LimitReached, RunLimits};
pub(crate) use self::order::Order;
pub use self::outage::Outage;
pub(crate) use self::outage::refuses_others;
pub use self::resolve::Resolution;
pub(crate) use self::resolve::task_of;
pub(crate) use self::steps::Change;
pub(crate) use self::ticket::Ticket;
use self::{
    connect::Source,
    file::LockedFile,
    records::SubmissionRow,
    transaction::{Connection, Queue},
    workers::LocalWorker,
};
#[cfg(doc)]
use crate::JobState;
use crate::{
    Error, ErrorKind,
    error::{LOCKED, is_locked},
};

/// Identifies a database as a ledger: "IKLB". The script for files writes it to them.
const APPLICATION_ID: i64 = 1_229_671_490;

/// How often, and with which pauses, a ledger is opened that another process has opened.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A durable record of jobs and submissions in a SQLite file or in PostgreSQL. Clones share the
/// connection.
///
/// Each state of a job is flushed to disk before the step that it announces. A ledger is also a
/// [`Journal`](imagekiln::journal::Journal): a program can journal its other submissions, without a
/// job, in the same ledger. [`Client::resume`](imagekiln::Client::resume) returns only those.
///
/// A ledger contains prompts, images in memory as base64, and polling URLs, which may be signed. It
/// contains no keys and no webhook secrets.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    /// One connection, because SQLite has one writer at a time.
    database: Arc<sync::Mutex<Connection>>,
    /// The connection for transactions that wait for those of other processes, if there are any.
    exclusive: Arc<sync::Mutex<Connection>>,
    queue: Queue,
    clocks: Clocks,
    /// The workers of this process.
    workers: Mutex<HashMap<i64, LocalWorker>>,
    /// The submissions of jobs as this process last wrote them, which need not be read again.
    known: Mutex<HashMap<String, SubmissionRow>>,
    /// The polls that are not written yet, by submission.
    held_polls: Mutex<HashMap<String, Option<Step>>>,
    places: order::Places,
    /// Changes when this process adds a job or makes one claimable.
    changes: watch::Sender<()>,
    /// What this process knows about outages of the service.
    outages: Mutex<outage::Known>,
    acceptances: OnceLock<Directory>,
    /// The number of submissions that this process has written to the acceptance log.
    logged: AtomicU64,
    /// Dropped after the connection.
    source: Source,
}

impl Ledger {
    /// Opens the ledger in the SQLite file at `path`, or creates an empty one.
    ///
    /// - Only the user of the process can read the file (mode 0600).
    /// - Only one process can open the ledger. The file `PATH.lock` is locked while it is open.
    ///   Other processes can still [read](Self::open_read_only) it.
    /// - The directory `PATH.acceptances` has the acceptance log. Each task is written there before
    ///   it is written to the ledger, in space that was reserved before the submission was sent.
    ///   When the ledger is opened, and when a batch runs, it records the tasks of the log that it
    ///   could not record before. A ledger that has lost submissions is
    ///   [`Foreign`](ErrorKind::Foreign).
    /// - The file must be on a local disk, because SQLite's write-ahead log does not work on
    ///   network filesystems.
    ///
    /// Jobs that a previous process was submitting become [`Unknown`](JobState::Unknown).
    ///
    /// # Errors
    ///
    /// - [`Locked`](ErrorKind::Locked): another process has opened the ledger, and has not closed
    ///   it within a second.
    /// - [`Ledger`](ErrorKind::Ledger): the file cannot be read or written, is not a ledger, or was
    ///   written by a later version; or the program was built with a version of SQLite before
    ///   3.51.3, which can damage a file that two processes write. The file is not changed.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        // A process that manages the ledger while no batch runs has the lock for a moment.
        for _ in 0..LOCK_ATTEMPTS {
            match Self::open_at_once(path.as_ref()).await {
                Err(error) if error.kind() == ErrorKind::Locked => sleep(LOCK_PAUSE).await,
                opened => return opened,
            }
        }
        Self::open_at_once(path.as_ref()).await
    }

    async fn open_at_once(path: &Path) -> Result<Self, Error> {
        Self::open_logging(path, Clocks::default(), Box::new(Directory::open)).await
    }

    /// Opens the ledger with these clocks, and with an acceptance log that `open` opens.
    pub(crate) async fn open_logging(
        path: &Path,
        clocks: Clocks,
        open: OpenLog,
    ) -> Result<Self, Error> {
        let file = LockedFile::open(path)?;
        let mut acceptances = file.path.clone().into_os_string();
        acceptances.push(".acceptances");
        let ledger = Self::with(Source::File(file), clocks).await?;
        // The lock proves that the processes of all earlier workers ended.
        ledger.end_all_workers().await?;
        ledger.note_file().await?;
        ledger.open_acceptances(acceptances.into(), open).await?;
        Ok(ledger)
    }

    /// Opens the ledger in the SQLite file at `path` to manage it, even while another process runs
    /// a batch on it: to add, cancel, retry, resolve or forget jobs, and to set limits. The other
    /// process notices the changes within a second.
    ///
    /// If no other process has opened the ledger, this is the same as [`open`](Self::open).
    /// Otherwise, a batch cannot run on the returned ledger.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the file cannot be read or written, is not a ledger, or
    /// was written by a later version.
    pub async fn open_to_manage(path: impl AsRef<Path>) -> Result<Self, Error> {
        match Self::open_at_once(path.as_ref()).await {
            Err(error) if error.kind() == ErrorKind::Locked => {
                let source = Source::FileOfOther(path.as_ref().to_owned());
                Self::with(source, Clocks::default()).await
            }
            opened => opened,
        }
    }

    /// Opens the ledger in a PostgreSQL database, or creates an empty one in the schema
    /// `imagekiln`. Many processes on many machines can share it. The server must be PostgreSQL 14
    /// or later.
    ///
    /// `url` has the form `postgres://user:password@host:port/database`. Missing parts are read
    /// from the environment variables of PostgreSQL, such as `PGPASSWORD`. Everyone who can read
    /// the database can read the ledger.
    ///
    /// Jobs of workers whose leases have expired are freed. Those that such a worker was submitting
    /// become [`Unknown`](JobState::Unknown).
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the URL is invalid, the server cannot be reached, or a
    /// later version wrote the ledger.
    #[cfg(feature = "postgres")]
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let ledger = Self::with(Source::Server(connect::parse(url)?), Clocks::default()).await?;
        ledger.take_over().await?;
        Ok(ledger)
    }

    /// Opens the ledger in the SQLite file at `path` read-only, even while another process runs a
    /// batch on it.
    ///
    /// Methods that change the ledger fail with kind [`Ledger`](ErrorKind::Ledger). Jobs that a
    /// process was submitting when it ended are still [`Submitting`](JobState::Submitting).
    ///
    /// # Errors
    ///
    /// - [`Missing`](ErrorKind::Missing): there is no ledger at the path.
    /// - [`Ledger`](ErrorKind::Ledger): the file cannot be read, is not a ledger, or was written by
    ///   another version.
    pub async fn open_read_only(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::with(Source::FileToRead(path.as_ref().to_owned()), Clocks::default()).await
    }

    /// Opens the ledger in a PostgreSQL database read-only. `url` has the same form as for
    /// [`connect`](Self::connect).
    ///
    /// Methods that change the ledger fail with kind [`Ledger`](ErrorKind::Ledger). Jobs of workers
    /// whose leases have expired keep their states.
    ///
    /// # Errors
    ///
    /// - [`Missing`](ErrorKind::Missing): there is no ledger in the database.
    /// - [`Ledger`](ErrorKind::Ledger): the URL is invalid, the server cannot be reached, or
    ///   another version wrote the ledger.
    #[cfg(feature = "postgres")]
    pub async fn connect_read_only(url: &str) -> Result<Self, Error> {
        Self::with(Source::ServerToRead(connect::parse(url)?), Clocks::default()).await
    }

    /// Adds an acceptance log to a ledger in PostgreSQL, in case the server fails after the service
    /// accepted a submission, or is restored from a backup. [`open`](Self::open) says what it does;
    /// a ledger in a file has one already.
    ///
    /// `directory` is on a disk of this machine. Other processes and ledgers can share it.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the directory cannot be written, or the ledger has an
    /// acceptance log already.
    #[cfg(feature = "postgres")]
    pub async fn with_acceptance_log(self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().join(self.id().await?);
        self.open_acceptances(directory, Box::new(Directory::open)).await?;
        Ok(self)
    }

    async fn with(source: Source, clocks: Clocks) -> Result<Self, Error> {
        if !source.is_shared() {
            connect::check_sqlite(rusqlite::version_number())?;
        }
        // On a blocking thread, like every access to a file.
        let (mut connection, known) = (Connection::default(), clocks.clone());
        let connect = move || {
            let connected = connection.block_on(async |database| {
                source.connect(&known).await.map(|connected| *database = Some(connected))
            });
            (connected, source, connection)
        };
        let connected = tokio::task::spawn_blocking(connect).await;
        let (connected, source, connection) = connected.map_err(|error| {
            Error::new(ErrorKind::Ledger, "could not open the ledger").with_source(error)
        })?;
        connected?.map_err(|error| {
            if connect::is_missing(&error) {
                let message = format!("there is no ledger at {}", source.name());
                return Error::new(ErrorKind::Missing, message);
            }
            let advice = match source {
                Source::File(_) | Source::FileOfOther(_) | Source::FileToRead(_) => {
                    "move the file if it is not a ledger"
                }
                #[cfg(feature = "postgres")]
                Source::Server(_) | Source::ServerToRead(_) => "check the URL and the server",
            };
            let advice = if is_locked(&*error) { LOCKED.to_owned() } else { format!("; {advice}") };
            let message = format!("could not open the ledger {}{advice}", source.name());
            Error::new(ErrorKind::Ledger, message).with_source(error)
        })?;
        Ok(Self(Arc::new(Inner {
            database: Arc::new(sync::Mutex::new(connection)),
            exclusive: Arc::default(),
            queue: Queue::default(),
            clocks,
            workers: Mutex::default(),
            known: Mutex::default(),
            held_polls: Mutex::default(),
            places: order::Places::default(),
            changes: watch::Sender::new(()),
            outages: Mutex::default(),
            acceptances: OnceLock::new(),
            logged: AtomicU64::new(0),
            source,
        })))
    }

    /// Closes the ledger: waits until its transactions have ended, closes the connections, and lets
    /// another process open the file. Clones of the ledger, such as that of a batch, fail with kind
    /// [`Ledger`](ErrorKind::Ledger) afterwards. Close it after the last run: one that is under way
    /// could not record what the service accepts.
    ///
    /// A ledger is also closed when its last clone is dropped.
    pub async fn close(self) {
        for connection in [&self.0.database, &self.0.exclusive] {
            let mut connection = Arc::clone(connection).lock_owned().await;
            // Closing a connection blocks.
            let closing = tokio::task::spawn_blocking(move || connection.close());
            if let Err(error) = closing.await {
                tracing::warn!(%error, "could not close a connection of the ledger");
            }
        }
        if let Source::File(file) = &self.0.source {
            file.unlock();
        }
    }

    /// Runs a pragma of SQLite on the connection of the ledger.
    #[cfg(any(test, feature = "__fuzzing"))]
    pub(crate) async fn pragma(&self, pragma: &str) -> Result<(), Error> {
        let mut connection = Arc::clone(&self.0.database).lock_owned().await;
        let pragma = format!("PRAGMA {pragma}");
        let run = move || {
            connection.block_on(async |database| match database {
                Some(database) => database.finds(&pragma, []).await.map(drop),
                None => Ok(()),
            })?
        };
        tokio::task::spawn_blocking(run).await.map_err(|error| {
            Error::new(ErrorKind::Ledger, "could not run a pragma").with_source(error)
        })?
    }

    fn name(&self) -> String {
        self.0.source.name()
    }

    /// Returns a receiver that is notified when this process adds a job or makes one claimable. A
    /// change is not missed between two waits. Other processes do not notify it.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Returns what this process knows about its worker, until the worker retires.
    fn local(&self, worker: i64) -> Option<LocalWorker> {
        let workers = self.0.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.get(&worker).cloned()
    }

    fn set_local(&self, worker: i64, local: Option<LocalWorker>) {
        let mut workers = self.0.workers.lock().unwrap_or_else(PoisonError::into_inner);
        match local {
            Some(local) => workers.insert(worker, local),
            None => workers.remove(&worker),
        };
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("name", &self.name()).finish_non_exhaustive()
    }
}
