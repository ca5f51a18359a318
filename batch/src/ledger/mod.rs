//! The ledger: one SQLite file that contains every job and every submission.

mod budget;
mod file;
mod jobs;
mod journal;
mod resolve;
mod steps;

use std::{
    fmt,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::{
    Connection as _, SqliteConnection,
    migrate::{MigrateError, Migrator},
    sqlite::SqliteConnectOptions,
};
use tokio::{runtime::Handle, sync, task};

pub(crate) use self::budget::{Admission, BudgetReached};
use self::file::LockedFile;
pub(crate) use self::journal::label_of;
pub use self::resolve::Resolution;
pub(crate) use self::steps::{OpenJob, Pending};
use crate::{Error, ErrorKind, State};

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Identifies the file as a ledger. The first migration sets it.
const APPLICATION_ID: i64 = 1_229_671_490;

/// A durable record of jobs and submissions in a SQLite file. Clones share the file.
///
/// Each state of a job is flushed to disk before the step that it announces. A ledger is also a
/// [`Journal`](imagekiln::journal::Journal): a program can journal its other submissions, without a
/// job, in the same file. [`Client::resume`](imagekiln::Client::resume) returns only those.
///
/// - Only the user of the process can read the file (mode 0600), because polling URLs may be
///   signed. It contains prompts, and images in memory as base64. It contains no keys and no
///   webhook secrets.
/// - Only one process can open the ledger. The file `PATH.lock` is locked while it is open. Other
///   programs can still read the SQLite file.
/// - The file must be on a local disk, because SQLite's write-ahead log does not work on network
///   filesystems.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    /// One connection, because SQLite has one writer at a time.
    connection: Arc<sync::Mutex<SqliteConnection>>,
    /// The credits that jobs may cost in total.
    budget: Mutex<Option<f64>>,
    has_batch: AtomicBool,
    /// Dropped after the connection.
    file: LockedFile,
}

impl Ledger {
    /// Opens the ledger at `path`, or creates an empty one.
    ///
    /// Jobs that a previous process was submitting become [`Unknown`](State::Unknown).
    ///
    /// # Errors
    ///
    /// - [`Locked`](ErrorKind::Locked): another process has opened the ledger.
    /// - [`Ledger`](ErrorKind::Ledger): the file cannot be read or written, is not a ledger, or was
    ///   written by a later version. The file is not changed.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let file = LockedFile::open(path.as_ref())?;
        let connection = connect(&file.path).await.map_err(|error| {
            let message = format!(
                "could not open the ledger {}; move the file if it is not a ledger",
                file.path.display()
            );
            Error::new(ErrorKind::Ledger, message).with_source(error)
        })?;
        let connection = Arc::new(sync::Mutex::new(connection));
        let ledger = Self(Arc::new(Inner {
            connection,
            budget: Mutex::default(),
            has_batch: AtomicBool::default(),
            file,
        }));
        ledger.abandon_submissions("the process ended before the response arrived").await?;
        Ok(ledger)
    }

    /// Runs `work`, one call at a time. It completes even if the future is dropped.
    ///
    /// It runs on a blocking thread, because tokio's paused clock would otherwise advance while
    /// SQLite's own thread writes.
    async fn with<T, E>(
        &self,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let mut connection = Arc::clone(&self.0.connection).lock_owned().await;
        let (runtime, ledger) = (Handle::current(), self.clone());
        let work = move || {
            let done = runtime.block_on(work(&mut connection));
            drop(connection);
            // The file stays locked until here.
            drop(ledger);
            done
        };
        task::spawn_blocking(work).await.unwrap_or_else(|error| {
            let message = "the runtime shut down before the ledger was written";
            Err(Error::new(ErrorKind::Ledger, message).with_source(error).into())
        })
    }

    /// Reserves the ledger for a batch, until it is opened again. A second batch could not know
    /// which submissions of the first one are still in flight.
    pub(crate) fn reserve(&self) -> Result<(), Error> {
        if !self.0.has_batch.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let message = "the ledger already has a batch; drop it, and open the ledger again";
        Err(Error::new(ErrorKind::Locked, message))
    }

    pub(crate) fn set_budget(&self, credits: Option<f64>) {
        *self.0.budget.lock().unwrap_or_else(PoisonError::into_inner) = credits;
    }

    fn budget(&self) -> Option<f64> {
        *self.0.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("path", &self.0.file.path).finish_non_exhaustive()
    }
}

/// Changes nothing in a database of another program.
async fn connect(
    path: &Path,
) -> Result<SqliteConnection, Box<dyn std::error::Error + Send + Sync>> {
    let options = SqliteConnectOptions::new().filename(path).foreign_keys(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let id: i64 = sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut connection).await?;
    // sqlx creates its own table before the first migration.
    let others = "SELECT COUNT(*) FROM sqlite_schema WHERE tbl_name <> '_sqlx_migrations'";
    let others: i64 = sqlx::query_scalar(others).fetch_one(&mut connection).await?;
    if id != APPLICATION_ID && (id != 0 || others != 0) {
        return Err("the file is the database of another program".into());
    }
    let mode: String =
        sqlx::query_scalar("PRAGMA journal_mode = WAL").fetch_one(&mut connection).await?;
    if mode != "wal" {
        return Err("SQLite could not turn on its write-ahead log for this file".into());
    }
    sqlx::query("PRAGMA synchronous = FULL").execute(&mut connection).await?;
    MIGRATIONS.run(&mut connection).await.map_err(|error| match error {
        MigrateError::VersionMissing(_) => "a later version of this program wrote it".into(),
        error => Box::<dyn std::error::Error + Send + Sync>::from(error),
    })?;
    Ok(connection)
}

/// Fails if a change found its row in another state.
fn exactly_one(changed: u64, what: impl fmt::Display, state: State) -> Result<(), Error> {
    if changed == 1 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::State, format!("{what} is not {state}; nothing was changed")))
}
