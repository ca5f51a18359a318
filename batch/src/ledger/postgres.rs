//! Ledgers in PostgreSQL.

use std::path::Path;

use imagekiln::journal::Directory;
use sqlx_core::{connection::Connection as _, query::query};
use sqlx_postgres::{PgConnectOptions, PgConnection};

use super::{
    Ledger,
    clocks::Clocks,
    connect::Source,
    database::{BoxError, Database},
    migrations,
};
#[cfg(doc)]
use crate::JobState;
use crate::{Error, ErrorKind};

/// Limits the waits of a connection for locks as those for a file, unless the URL or the server
/// sets a limit.
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

impl Ledger {
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
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let ledger = Self::with(Source::Server(parse(url)?), Clocks::default()).await?;
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
        Self::with(Source::ServerToRead(parse(url)?), Clocks::default()).await
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
    pub async fn with_acceptance_log(self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().join(self.id().await?);
        self.open_acceptances(directory, Box::new(Directory::open)).await?;
        Ok(self)
    }
}

fn parse(url: &str) -> Result<Box<PgConnectOptions>, Error> {
    url.parse().map(Box::new).map_err(|error: sqlx_core::Error| {
        let message = "could not parse the URL of the ledger; use \
                       postgres://user:password@host:port/database";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })
}

pub(super) async fn open_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
    let mut connection = connect_server(options).await?;
    for setting in [
        "search_path TO imagekiln",
        // A commit must survive a crash of the server, whatever its settings are.
        "synchronous_commit TO on",
        // Outside of transactions, the connection holds no locks.
        "idle_session_timeout TO 0",
        // A process that is suspended while it holds a lock must not stop all other workers. One on
        // a busy machine may need seconds between two statements of a migration.
        "idle_in_transaction_session_timeout TO '30s'",
    ] {
        query(&format!("SET {setting}")).execute(&mut connection).await?;
    }
    let mut database = Database::Postgres(connection, 0);
    migrations::upgrade(&mut database).await?;
    database.execute("SET idle_in_transaction_session_timeout TO '5s'", []).await?;
    Ok(database)
}

async fn connect_server(options: &PgConnectOptions) -> Result<PgConnection, BoxError> {
    let mut connection = PgConnection::connect_with(options).await?;
    query(LONGEST_LOCK).execute(&mut connection).await?;
    Ok(connection)
}

pub(super) async fn read_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
    let mut connection = connect_server(options).await?;
    for setting in ["search_path TO imagekiln", "default_transaction_read_only TO on"] {
        query(&format!("SET {setting}")).execute(&mut connection).await?;
    }
    let mut database = Database::Postgres(connection, 0);
    migrations::check(&mut database).await?;
    Ok(database)
}
