//! Opens the database of a ledger: to write, which brings its tables up to date, or read-only, even
//! while other processes write to it.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
#[cfg(feature = "postgres")]
use sqlx_core::{connection::Connection as _, query::query};
#[cfg(feature = "postgres")]
use sqlx_postgres::{PgConnectOptions, PgConnection};

use super::{
    APPLICATION_ID,
    clocks::Clocks,
    database::{BoxError, Database},
    file::LockedFile,
    migrations::{self, no_ledger},
};
use crate::{Error, ErrorKind};

/// How long a process waits for the transactions of another one that has opened the same file.
const LONGEST_TURN: Duration = Duration::from_secs(60);

/// Limits the waits of a connection for locks as those for a file, unless the URL or the server
/// sets a limit.
#[cfg(feature = "postgres")]
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

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
                open_file(path, clocks.clone()).await
            }
            Self::FileToRead(path) => read_file(path, clocks.clone()).await,
            #[cfg(feature = "postgres")]
            Self::Server(options) => open_server(options).await,
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
async fn open_file(path: &Path, clocks: Clocks) -> Result<Database, BoxError> {
    let connection = connect_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    check_program(&connection)?;
    let wal = "PRAGMA journal_mode = WAL";
    let mode: String = connection.query_row(wal, [], |row| row.get(0))?;
    if mode != "wal" {
        return Err("SQLite could not turn on its write-ahead log for this file".into());
    }
    // In KiB, if negative. A transaction of a large ledger changes pages all over its indices.
    let settings = "PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;
        PRAGMA foreign_keys = ON";
    connection.execute_batch(settings)?;
    let mut database = Database::Sqlite(connection, clocks);
    migrations::upgrade(&mut database).await?;
    Ok(database)
}

fn connect_file(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LONGEST_TURN)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Fails if the file is the database of another program. An empty one becomes a ledger.
fn check_program(connection: &Connection) -> Result<(), BoxError> {
    // In one statement, because another process may create the tables at the same time.
    let find = "SELECT application_id, (SELECT COUNT(*) FROM sqlite_schema)
        FROM pragma_application_id";
    let found = connection.query_row(find, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match found {
        (APPLICATION_ID, _) | (0, 0_i64) => Ok(()),
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
async fn open_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
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
    check_program(&connection)?;
    let mut database = Database::Sqlite(connection, clocks);
    migrations::check(&mut database).await?;
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
    for setting in ["search_path TO imagekiln", "default_transaction_read_only TO on"] {
        query(&format!("SET {setting}")).execute(&mut connection).await?;
    }
    let mut database = Database::Postgres(connection, 0);
    migrations::check(&mut database).await?;
    Ok(database)
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
