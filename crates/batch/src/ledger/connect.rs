//! Opens ledgers in three ways: to run batches, which also brings the tables up to date; to manage
//! jobs and limits while another process runs a batch; and read-only.

use std::{io, path::Path};
#[cfg(feature = "sqlite")]
use std::{path::PathBuf, time::Duration};

use imagekiln::journal::Directory;
#[cfg(feature = "postgres")]
use sqlx_postgres::PgConnectOptions;

#[cfg(feature = "postgres")]
use super::database::postgres;
#[cfg(feature = "sqlite")]
use super::database::sqlite::{self, Lock};
#[cfg(feature = "sqlite")]
use super::submissions::acceptances::OpenLog;
use super::{
    Ledger,
    database::{BoxError, Database, clocks::Clocks},
};
use crate::Error;
#[cfg(any(feature = "sqlite", doc))]
use crate::ErrorKind;
#[cfg(doc)]
use crate::JobState;

/// The location of the database, and whether this process only reads it (`reads`).
pub(super) enum Source {
    /// `lock` is `None` if another process has locked the file, or if this process only reads it.
    #[cfg(feature = "sqlite")]
    File { path: PathBuf, lock: Option<Lock>, reads: bool },
    /// Not `Debug`, because it contains the password.
    #[cfg(feature = "postgres")]
    Server { options: Box<PgConnectOptions>, reads: bool },
}

impl Source {
    #[cfg_attr(not(feature = "sqlite"), expect(unused_variables, reason = "for SQLite"))]
    pub(super) fn connect(&self, clocks: &Clocks) -> Result<Database, BoxError> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { path, reads, .. } => sqlite::open(path, *reads, clocks.clone()),
            #[cfg(feature = "postgres")]
            Self::Server { options, reads } => postgres::open(options, *reads),
        }
    }

    /// Fails if this program uses a version of SQLite that can damage ledgers.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { .. } => sqlite::check_version(rusqlite::version_number()),
            #[cfg(feature = "postgres")]
            Self::Server { .. } => Ok(()),
        }
    }

    /// Returns the path of the file that this process has locked.
    pub(super) fn own_file(&self) -> Option<&Path> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { path, lock, .. } => lock.as_ref().map(|_| &**path),
            #[cfg(feature = "postgres")]
            Self::Server { .. } => None,
        }
    }

    /// Whether another process has locked the file.
    pub(super) fn is_of_other(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { lock, reads, .. } => lock.is_none() && !reads,
            #[cfg(feature = "postgres")]
            Self::Server { .. } => false,
        }
    }

    /// Whether several processes can run batches on the ledger.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { .. } => false,
            #[cfg(feature = "postgres")]
            Self::Server { .. } => true,
        }
    }

    /// Returns the path or the URL of the database, without the password, and advice for the case
    /// that the database cannot be opened.
    pub(super) fn name(&self) -> (String, &'static str) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { path, .. } => {
                (path.display().to_string(), "move the file if it is not a ledger")
            }
            #[cfg(feature = "postgres")]
            Self::Server { options, .. } => {
                let database = options.get_database().unwrap_or_else(|| options.get_username());
                let server = format!("{}:{}", options.get_host(), options.get_port());
                (format!("postgres://{server}/{database}"), "check the URL and the server")
            }
        }
    }
}

/// Whether opening failed because there is no ledger at this place.
pub(super) fn is_missing(error: &BoxError) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(feature = "sqlite")]
impl Ledger {
    /// Opens the ledger in the SQLite file at `path`, or creates an empty one.
    ///
    /// - Only the user of the process can read the file (mode 0600).
    /// - Only one process can open the ledger to run batches. It locks the file `PATH.lock` while
    ///   the ledger is open. Other processes can still [read](Self::open_read_only) and
    ///   [manage](Self::open_to_manage) the ledger.
    /// - The directory `PATH.acceptances` contains the acceptance log. The ledger writes each
    ///   accepted task to the log before it writes the task to the database. It reserves the space
    ///   before it sends the submission, so that a full disk does not lose a task that is paid for.
    ///   Whenever the ledger is opened or a batch starts, the ledger copies tasks from the log that
    ///   the database could not record. A batch does not submit jobs if the log shows that the
    ///   database has lost submissions: it fails with kind [`Foreign`](ErrorKind::Foreign).
    /// - The file must be on a local disk, because SQLite's write-ahead log does not work on
    ///   network filesystems.
    ///
    /// Jobs that a previous process was submitting become [`Unknown`](JobState::Unknown), because
    /// the service may have accepted them.
    ///
    /// # Errors
    ///
    /// - [`Locked`](ErrorKind::Locked): another process has opened the ledger, and has not closed
    ///   it within a second.
    /// - [`Ledger`](ErrorKind::Ledger): the file cannot be read or written, is not a ledger, or was
    ///   written by a later version; or the program was built with a version of SQLite before
    ///   3.51.3, which can damage a file that two processes write. The file is not changed.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        const ATTEMPTS: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(50);
        // A process that manages the ledger while no batch runs holds the lock briefly.
        for _ in 0..ATTEMPTS {
            match Self::open_at_once(path.as_ref()).await {
                Err(error) if error.kind() == ErrorKind::Locked => {
                    tokio::time::sleep(PAUSE).await;
                }
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
        let (path, lock) = sqlite::lock(path)?;
        let mut acceptances = path.clone().into_os_string();
        acceptances.push(".acceptances");
        let source = Source::File { path, lock: Some(lock), reads: false };
        let ledger = Self::with(source, clocks).await?;
        // The lock proves that the processes of all earlier workers ended.
        ledger.end_all_workers().await?;
        ledger.set_file("file IS NULL").await?;
        ledger.open_acceptances(acceptances.into(), open).await?;
        Ok(ledger)
    }

    /// Opens the ledger in the SQLite file at `path` to manage it, even while another process runs
    /// a batch on it: to add, cancel, retry, resolve or forget jobs, and to set limits. The other
    /// process notices the changes within a second.
    ///
    /// If no other process has opened the ledger, this is the same as [`open`](Self::open).
    /// Otherwise, a batch cannot run on the returned ledger, and if a client has the ledger as its
    /// journal, [`Client::resume`](imagekiln::Client::resume) of the other process returns the
    /// submissions of this one, too.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the file cannot be read or written, is not a ledger, or
    /// was written by a later version.
    pub async fn open_to_manage(path: impl AsRef<Path>) -> Result<Self, Error> {
        match Self::open_at_once(path.as_ref()).await {
            Err(error) if error.kind() == ErrorKind::Locked => {
                let path = path.as_ref().to_owned();
                let source = Source::File { path, lock: None, reads: false };
                Self::with(source, Clocks::default()).await
            }
            opened => opened,
        }
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
        let path = path.as_ref().to_owned();
        Self::with(Source::File { path, lock: None, reads: true }, Clocks::default()).await
    }
}

#[cfg(feature = "postgres")]
impl Ledger {
    /// Opens the ledger in a PostgreSQL database, or creates an empty one in the schema
    /// `imagekiln`. Many processes on many machines can share it. The server must be PostgreSQL 14
    /// or later.
    ///
    /// `url` has the form `postgres://user:password@host:port/database`. Missing parts are read
    /// from the environment variables of PostgreSQL, such as `PGPASSWORD`. `?sslmode=verify-full`
    /// checks the certificate of the server and its name, against the certificates of this machine
    /// or those of `&sslrootcert=FILE`; `verify-ca` checks the name, too. Everyone who can read the
    /// database can read the ledger.
    ///
    /// If the server does not accept a connection within 10 seconds, or does not respond to a
    /// statement within 90 seconds, the ledger considers the connection broken. It then reconnects
    /// and repeats the transaction for up to a minute.
    ///
    /// Other workers can then claim the jobs of workers whose leases have expired. Jobs that such a
    /// worker was submitting become [`Unknown`](JobState::Unknown), because the service may have
    /// accepted them.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the URL is invalid, the server cannot be reached, or a
    /// later version wrote the ledger.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let source = Source::Server { options: postgres::parse(url)?, reads: false };
        let ledger = Self::with(source, Clocks::default()).await?;
        ledger.take_over().await?;
        Ok(ledger)
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
    pub async fn connect_read_only(url: &str) -> Result<Self, Error> {
        let source = Source::Server { options: postgres::parse(url)?, reads: true };
        Self::with(source, Clocks::default()).await
    }

    /// Adds an acceptance log to a ledger in PostgreSQL. The log keeps accepted tasks on this
    /// machine, in case the database server fails right after the service accepted a submission, or
    /// is restored from a backup. [`open`](Self::open) describes the log; a ledger in a file always
    /// has one.
    ///
    /// `directory` must be on a disk of this machine. Other processes and other ledgers can use the
    /// same directory.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the directory cannot be written, or the ledger has an
    /// acceptance log already.
    pub async fn with_acceptance_log(self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().join(self.id().await?);
        self.open_acceptances(directory, Box::new(Directory::open)).await?;
        Ok(self)
    }
}
