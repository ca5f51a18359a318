//! Opens the database of a ledger: to write, which brings its tables up to date, or read-only, even
//! while other processes write to it.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
#[cfg(feature = "postgres")]
use sqlx_core::{
    connection::Connection as _, migrate::MigrateError, query::query, query_scalar::query_scalar,
};
#[cfg(feature = "postgres")]
use sqlx_postgres::{PgConnectOptions, PgConnection};

use super::{
    APPLICATION_ID,
    clocks::Clocks,
    database::Database,
    file::LockedFile,
    migrations::{self, BoxError},
};
use crate::{Error, ErrorKind};

/// How long a process waits for the transactions of another one that has opened the same file.
const LONGEST_TURN: Duration = Duration::from_secs(60);

/// Limits the waits of a connection for locks as those for a file, unless the URL or the server
/// sets a limit.
#[cfg(feature = "postgres")]
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

/// The maximum number of attempts to bring a ledger up to date while workers of an earlier version
/// write to it.
#[cfg(feature = "postgres")]
const UPGRADES: u32 = 10;

/// The number of prepared statements that a connection keeps.
const STATEMENTS: usize = 100;

/// The first version of SQLite that loses no pages of a file if two connections write it or move
/// its write-ahead log at the same moment: <https://sqlite.org/wal.html#walresetbug>. The bundled
/// version is later, but a program can link another one.
const OLDEST_SQLITE: i32 = 3_051_003;

/// The location of the database.
pub(super) enum Source {
    File(LockedFile),
    /// Another process has the lock.
    FileOfOther(PathBuf),
    FileToRead(PathBuf),
    /// Not `Debug`, because it contains the password.
    #[cfg(feature = "postgres")]
    Server(Box<PgConnectOptions>),
    #[cfg(feature = "postgres")]
    ServerToRead(Box<PgConnectOptions>),
}

impl Source {
    pub(super) async fn connect(&self, clocks: &Clocks) -> Result<Database, BoxError> {
        match self {
            Self::File(LockedFile { path, .. }) | Self::FileOfOther(path) => {
                Ok(Database::Sqlite(open_file(path)?, clocks.clone()))
            }
            Self::FileToRead(path) => read_file(path, clocks.clone()).await,
            #[cfg(feature = "postgres")]
            Self::Server(options) => {
                open_server(options).await.map(|connection| Database::Postgres(connection, 0))
            }
            #[cfg(feature = "postgres")]
            Self::ServerToRead(options) => read_server(options).await,
        }
    }

    /// Whether several processes can write to it.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::File(_) | Self::FileOfOther(_) | Self::FileToRead(_))
    }

    /// Returns the place of the database, without secrets.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(LockedFile { path, .. })
            | Self::FileOfOther(path)
            | Self::FileToRead(path) => path.display().to_string(),
            #[cfg(feature = "postgres")]
            Self::Server(options) | Self::ServerToRead(options) => {
                let database = options.get_database().unwrap_or_else(|| options.get_username());
                format!("postgres://{}:{}/{database}", options.get_host(), options.get_port())
            }
        }
    }
}

/// Fails if SQLite has this version, and the version may damage ledgers.
pub(super) fn check_sqlite(version: i32) -> Result<(), Error> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    let message = format!(
        "SQLite {} can damage a ledger that two processes write; build this program with SQLite \
         {} or later",
        dotted(version),
        dotted(OLDEST_SQLITE)
    );
    Err(Error::new(ErrorKind::Ledger, message))
}

fn dotted(version: i32) -> String {
    format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000)
}

/// Changes nothing in a database of another program.
fn open_file(path: &Path) -> Result<Connection, BoxError> {
    let mut connection = connect_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    is_empty_file(&connection)?;
    let wal = "PRAGMA journal_mode = WAL";
    let mode: String = connection.query_row(wal, [], |row| row.get(0))?;
    if mode != "wal" {
        return Err("SQLite could not turn on its write-ahead log for this file".into());
    }
    // In KiB, if negative. A transaction of a large ledger changes pages all over its indices.
    let settings = "PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;
        PRAGMA foreign_keys = ON";
    connection.execute_batch(settings)?;
    migrations::upgrade_file(&mut connection)?;
    Ok(connection)
}

fn connect_file(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LONGEST_TURN)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Whether the file contains no tables yet. Fails if it is the database of another program.
fn is_empty_file(connection: &Connection) -> Result<bool, BoxError> {
    let id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    // This table is created before the first migration.
    let others = "SELECT COUNT(*) FROM sqlite_schema WHERE tbl_name <> '_sqlx_migrations'";
    let others: i64 = connection.query_row(others, [], |row| row.get(0))?;
    match (id, others) {
        (APPLICATION_ID, _) => Ok(false),
        (0, 0) => Ok(true),
        _ => Err("the file is the database of another program".into()),
    }
}

#[cfg(feature = "postgres")]
pub(super) fn parse(url: &str) -> Result<Box<PgConnectOptions>, Error> {
    url.parse().map(Box::new).map_err(|error: sqlx_core::Error| {
        let message = "could not parse the URL of the ledger; use \
                       postgres://user:password@host:port/database";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })
}

#[cfg(feature = "postgres")]
async fn open_server(options: &PgConnectOptions) -> Result<PgConnection, BoxError> {
    for _ in 1..UPGRADES {
        match upgrade_server(options).await {
            // The connection may still have locks of the migrator.
            Err(error) if is_rolled_back(&error) => {
                tracing::debug!(error = &*error, "a worker had locks that a migration needed");
            }
            connected => return connected,
        }
    }
    upgrade_server(options).await
}

/// Whether PostgreSQL ended a migration in favor of a worker of an earlier version.
#[cfg(feature = "postgres")]
fn is_rolled_back(error: &BoxError) -> bool {
    let Some(MigrateError::ExecuteMigration(error, _)) = error.downcast_ref() else { return false };
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code.starts_with("40"))
}

/// Uses a schema of its own, because other tables of the program may be in the same database.
#[cfg(feature = "postgres")]
async fn upgrade_server(options: &PgConnectOptions) -> Result<PgConnection, BoxError> {
    let mut connection = connect_server(options).await?;
    // A process that is suspended while it holds a lock must not stop all other workers. One on a
    // busy machine may need seconds between two statements.
    for setting in ["idle_in_transaction_session_timeout", "idle_session_timeout"] {
        query(&format!("SET {setting} TO '30s'")).execute(&mut connection).await?;
    }
    // The first workers of a fleet may create it at the same time.
    let schema = "SELECT pg_advisory_lock($1)";
    query(schema).bind(APPLICATION_ID).execute(&mut connection).await?;
    for statement in ["CREATE SCHEMA IF NOT EXISTS imagekiln", "SET search_path TO imagekiln"] {
        query(statement).execute(&mut connection).await?;
    }
    // A commit must survive a crash of the server, whatever its settings are.
    query("SET synchronous_commit TO on").execute(&mut connection).await?;
    migrations::postgres().await?.run(&mut connection).await.map_err(explain)?;
    let unlock = "SELECT pg_advisory_unlock($1)";
    query(unlock).bind(APPLICATION_ID).execute(&mut connection).await?;
    // Outside of transactions, the connection holds no locks.
    query("SET idle_session_timeout TO 0").execute(&mut connection).await?;
    let transactions = "SET idle_in_transaction_session_timeout TO '5s'";
    query(transactions).execute(&mut connection).await?;
    Ok(connection)
}

#[cfg(feature = "postgres")]
fn explain(error: MigrateError) -> BoxError {
    match error {
        MigrateError::VersionMissing(_) => migrations::LATER.into(),
        error => error.into(),
    }
}

/// Returns the error for a place without a ledger.
fn no_ledger() -> BoxError {
    io::Error::from(io::ErrorKind::NotFound).into()
}

/// Whether there is no ledger.
pub(super) fn is_missing(error: &BoxError) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

async fn read_file(path: &Path, clocks: Clocks) -> Result<Database, BoxError> {
    if !path.try_exists()? {
        return Err(no_ledger());
    }
    let connection = connect_file(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if is_empty_file(&connection)? {
        return Err(no_ledger());
    }
    let mut database = Database::Sqlite(connection, clocks);
    check_version(&mut database).await?;
    Ok(database)
}

#[cfg(feature = "postgres")]
async fn connect_server(options: &PgConnectOptions) -> Result<PgConnection, BoxError> {
    let mut connection = PgConnection::connect_with(options).await?;
    query(LONGEST_LOCK).execute(&mut connection).await?;
    Ok(connection)
}

#[cfg(feature = "postgres")]
async fn read_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
    let mut connection = connect_server(options).await?;
    let table = "SELECT to_regclass('imagekiln._sqlx_migrations') IS NOT NULL";
    if !query_scalar(table).fetch_one(&mut connection).await? {
        return Err(no_ledger());
    }
    for setting in ["search_path TO imagekiln", "default_transaction_read_only TO on"] {
        query(&format!("SET {setting}")).execute(&mut connection).await?;
    }
    let mut database = Database::Postgres(connection, 0);
    check_version(&mut database).await?;
    Ok(database)
}

/// Fails if the tables are not those of this version. A reader cannot bring them up to date.
async fn check_version(database: &mut Database) -> Result<(), BoxError> {
    let applied = "SELECT MAX(version) FROM _sqlx_migrations";
    match database.value::<Option<i64>>(applied, []).await? {
        Some(migrations::NEWEST) => Ok(()),
        None => Err(no_ledger()),
        Some(migrations::NEWEST..) => Err(migrations::LATER.into()),
        Some(_) => Err("an earlier version of this program wrote it; open it once to write".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_that_damages_ledgers_is_refused() {
        check_sqlite(rusqlite::version_number()).unwrap();
        check_sqlite(OLDEST_SQLITE).unwrap();
        let error = check_sqlite(3_046_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Ledger);
        assert!(error.to_string().starts_with("SQLite 3.46.0 can damage"), "{error}");
        assert!(error.to_string().ends_with("SQLite 3.51.3 or later"), "{error}");
    }
}
