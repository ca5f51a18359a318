//! Opens ledgers in three ways: to run batches, which also brings the tables up to date; to manage
//! jobs and limits while another process runs a batch; and read-only.

#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::{io, path::Path, time::Duration};

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
#[cfg(doc)]
use crate::JobState;
use crate::{Error, ErrorKind, output::split_scheme};

/// The place of a database, and how this process uses it. Not `Debug`, because a URL contains the
/// password.
pub(super) enum Source {
    #[cfg(feature = "sqlite")]
    File {
        path: PathBuf,
        reads: bool,
        /// `None` if another process has locked the file, or if this process only reads it.
        lock: Option<Lock>,
    },
    #[cfg(feature = "postgres")]
    Server { options: Box<PgConnectOptions>, reads: bool },
}

impl Source {
    /// Returns the source for a place, without locking its file.
    ///
    /// Text that contains `://` is a URL. Connection parameters, `host=... password=...`, are
    /// refused: as a path, they would create a new ledger on this machine. Anything else is a path.
    /// Error messages print only paths, because the other two may contain a password.
    ///
    /// Also fails if this program uses a version of SQLite that can damage ledgers.
    fn of(place: &Path, reads: bool) -> Result<Self, Error> {
        let text = place.to_string_lossy();
        let is_postgres = |scheme: &str| {
            ["postgres", "postgresql"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
        };
        let words = text.to_lowercase().replace(char::is_whitespace, "");
        let is_parameters = words.contains("password=")
            || ["host=", "server=", "dbname="].iter().any(|first| words.starts_with(first));
        let problem = match split_scheme(&text) {
            None if is_parameters => {
                "the ledger is given by parameters of a connection; use a postgres:// URL, or a \
                 path"
            }
            #[cfg(feature = "sqlite")]
            None => {
                sqlite::check_version(rusqlite::version_number())?;
                return Ok(Self::File { path: place.to_owned(), reads, lock: None });
            }
            #[cfg(not(feature = "sqlite"))]
            None => "a ledger in a file needs the Cargo feature `sqlite` of imagekiln-batch",
            #[cfg(feature = "postgres")]
            Some((scheme, _)) if is_postgres(scheme) => {
                return Ok(Self::Server { options: postgres::parse(text.trim())?, reads });
            }
            #[cfg(not(feature = "postgres"))]
            Some((scheme, _)) if is_postgres(scheme) => {
                "a ledger at a postgres:// URL needs the Cargo feature `postgres` of \
                 imagekiln-batch"
            }
            Some(_) => "the URL of the ledger is not a postgres:// URL; use one, or a path",
        };
        Err(Error::new(ErrorKind::Ledger, problem))
    }

    #[cfg_attr(not(feature = "sqlite"), expect(unused_variables, reason = "for SQLite"))]
    pub(super) fn connect(&self, clocks: &Clocks) -> Result<Database, BoxError> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File { path, reads, .. } => sqlite::open(path, *reads, clocks.clone()),
            #[cfg(feature = "postgres")]
            Self::Server { options, reads } => postgres::open(options, *reads),
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
            Self::File { reads, lock, .. } => !reads && lock.is_none(),
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

impl Ledger {
    /// Checks that text is the place of a ledger, without opening it.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the text is neither a path nor a `postgres://` URL. The
    /// error does not contain the text.
    #[doc(hidden)]
    pub fn check_place(place: impl AsRef<Path>) -> Result<(), Error> {
        Source::of(place.as_ref(), true).map(drop)
    }

    /// Opens a ledger to run batches on it, or creates an empty one. `place` is the path of a
    /// SQLite file, or the URL of a PostgreSQL database.
    ///
    /// Jobs that a previous process was submitting become [`Unknown`](JobState::Unknown), because
    /// the service may have accepted them. On a server, these are the jobs of workers whose leases
    /// have expired.
    ///
    /// # A file
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
    /// # A server
    ///
    /// The ledger is in the schema `imagekiln` of the database. Many processes on many machines can
    /// share it. The server must be PostgreSQL 14 or later.
    ///
    /// The URL has the form `postgres://user:password@host:port/database`. Missing parts are read
    /// from the environment variables of PostgreSQL, such as `PGPASSWORD`. `?sslmode=verify-full`
    /// checks the certificate of the server and its name, against the certificates of this machine
    /// or those of `&sslrootcert=FILE`; `verify-ca` checks the name, too. Everyone who can read the
    /// database can read the ledger.
    ///
    /// If the server does not accept a connection within 10 seconds, or does not respond to a
    /// statement within 90 seconds, the ledger considers the connection broken. It then reconnects
    /// and repeats the transaction for up to a minute.
    ///
    /// # Errors
    ///
    /// - [`Locked`](ErrorKind::Locked): another process has opened the file, and has not closed it
    ///   within a second.
    /// - [`Ledger`](ErrorKind::Ledger): the file cannot be read or written, or is not a ledger; the
    ///   URL is invalid, or the server cannot be reached; a later version wrote the ledger; or the
    ///   program was built without the Cargo feature `sqlite` or `postgres` that the ledger needs,
    ///   or with a version of SQLite before 3.51.3, which can damage a file that two processes
    ///   write. The ledger is not changed.
    pub async fn open(place: impl AsRef<Path>) -> Result<Self, Error> {
        const ATTEMPTS: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(50);
        let source = Source::of(place.as_ref(), false)?;
        // A process that manages the ledger while no batch runs holds the lock briefly.
        for _ in 0..ATTEMPTS {
            match Self::open_at_once(&source).await {
                Err(error) if error.kind() == ErrorKind::Locked => {
                    tokio::time::sleep(PAUSE).await;
                }
                opened => return opened,
            }
        }
        Self::open_at_once(&source).await
    }

    async fn open_at_once(source: &Source) -> Result<Self, Error> {
        match source {
            #[cfg(feature = "sqlite")]
            Source::File { path, .. } => {
                Self::open_logging(path, Clocks::default(), Box::new(Directory::open)).await
            }
            #[cfg(feature = "postgres")]
            Source::Server { options, .. } => {
                let source = Source::Server { options: options.clone(), reads: false };
                let ledger = Self::with(source, Clocks::default()).await?;
                ledger.take_over().await?;
                Ok(ledger)
            }
        }
    }

    /// Opens the ledger in a file with these clocks, and with an acceptance log that `open` opens.
    #[cfg(feature = "sqlite")]
    pub(crate) async fn open_logging(
        path: &Path,
        clocks: Clocks,
        open: OpenLog,
    ) -> Result<Self, Error> {
        let (path, lock) = sqlite::lock(path)?;
        let mut acceptances = path.clone().into_os_string();
        acceptances.push(".acceptances");
        let source = Source::File { path, reads: false, lock: Some(lock) };
        let ledger = Self::with(source, clocks).await?;
        // The lock proves that the processes of all earlier workers ended.
        ledger.end_all_workers().await?;
        ledger.set_file("file IS NULL").await?;
        ledger.open_acceptances(acceptances.into(), open).await?;
        Ok(ledger)
    }

    /// Opens a ledger to manage it, even while another process runs a batch on its file: to add,
    /// cancel, retry, resolve or forget jobs, and to set limits. The other process notices the
    /// changes within a second. `place` is the same as for [`open`](Self::open).
    ///
    /// If no other process has opened the file, or if the ledger is on a server, this is the same
    /// as `open`. Otherwise, a batch cannot run on the returned ledger, and if a client has the
    /// ledger as its journal, [`Client::resume`](imagekiln::Client::resume) of the other process
    /// returns the submissions of this one, too.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger), as for [`open`](Self::open).
    pub async fn open_to_manage(place: impl AsRef<Path>) -> Result<Self, Error> {
        let source = Source::of(place.as_ref(), false)?;
        match Self::open_at_once(&source).await {
            Err(error) if error.kind() == ErrorKind::Locked => {
                Self::with(source, Clocks::default()).await
            }
            opened => opened,
        }
    }

    /// Opens a ledger read-only, even while another process runs a batch on it. `place` is the same
    /// as for [`open`](Self::open).
    ///
    /// Methods that change the ledger fail with kind [`Ledger`](ErrorKind::Ledger). Jobs that a
    /// process was submitting when it ended are still [`Submitting`](JobState::Submitting).
    ///
    /// # Errors
    ///
    /// - [`Missing`](ErrorKind::Missing): there is no ledger at this place.
    /// - [`Ledger`](ErrorKind::Ledger): the file cannot be read, or is not a ledger; the URL is
    ///   invalid, or the server cannot be reached; or another version wrote the ledger.
    pub async fn open_read_only(place: impl AsRef<Path>) -> Result<Self, Error> {
        Self::with(Source::of(place.as_ref(), true)?, Clocks::default()).await
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
    #[cfg(feature = "postgres")]
    pub async fn with_acceptance_log(self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().join(self.identity().await?.0);
        self.open_acceptances(directory, Box::new(Directory::open)).await?;
        Ok(self)
    }
}
