//! Opens a ledger read-only, even while other processes write to it.

use std::{
    io,
    path::{Path, PathBuf},
};

use sqlx::{Connection as _, SqliteConnection, migrate::Migrator, sqlite::SqliteConnectOptions};
#[cfg(feature = "postgres")]
use sqlx::{PgConnection, postgres::PgConnectOptions};

use super::{
    Ledger,
    connect::{BoxError, Source, is_empty_file},
    database::Database,
    migrations,
};
use crate::Error;

impl Ledger {
    /// Opens the ledger in the SQLite file at `path` to read it. Another process may have opened
    /// it, for example to run a batch.
    ///
    /// What changes the ledger fails with kind [`Ledger`](crate::ErrorKind::Ledger). Jobs that a
    /// process was submitting when it ended are still [`Submitting`](crate::State::Submitting).
    ///
    /// # Errors
    ///
    /// - [`Missing`](crate::ErrorKind::Missing): there is no ledger at the path.
    /// - [`Ledger`](crate::ErrorKind::Ledger): the file cannot be read, is not a ledger, or was
    ///   written by another version.
    pub async fn open_read_only(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::with(Source::FileToRead(path.as_ref().to_owned())).await
    }

    /// Opens the ledger in a PostgreSQL database to read it. `url` has the same form as for
    /// [`connect`](Self::connect).
    ///
    /// What changes the ledger fails with kind [`Ledger`](crate::ErrorKind::Ledger). Jobs of
    /// workers whose leases have expired keep their states.
    ///
    /// # Errors
    ///
    /// - [`Missing`](crate::ErrorKind::Missing): there is no ledger in the database.
    /// - [`Ledger`](crate::ErrorKind::Ledger): the URL is invalid, the server cannot be reached, or
    ///   another version wrote the ledger.
    #[cfg(feature = "postgres")]
    pub async fn connect_read_only(url: &str) -> Result<Self, Error> {
        Self::with(Source::ServerToRead(super::connect::parse(url)?)).await
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

pub(super) async fn open_file(path: &PathBuf) -> Result<Database, BoxError> {
    if !path.try_exists()? {
        return Err(no_ledger());
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    if is_empty_file(&mut connection).await? {
        return Err(no_ledger());
    }
    let mut database = Database::Sqlite(connection);
    check_version(&mut database, &migrations::sqlite().await?).await?;
    Ok(database)
}

#[cfg(feature = "postgres")]
pub(super) async fn open_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
    let mut connection = PgConnection::connect_with(options).await?;
    let table = "SELECT to_regclass('imagekiln._sqlx_migrations') IS NOT NULL";
    if !sqlx::query_scalar(table).fetch_one(&mut connection).await? {
        return Err(no_ledger());
    }
    for setting in ["search_path TO imagekiln", "default_transaction_read_only TO on"] {
        sqlx::query(&format!("SET {setting}")).execute(&mut connection).await?;
    }
    let mut database = Database::Postgres(connection);
    check_version(&mut database, &migrations::postgres().await?).await?;
    Ok(database)
}

/// Fails if the tables are not those of this version. A reader cannot bring them up to date.
async fn check_version(database: &mut Database, migrations: &Migrator) -> Result<(), BoxError> {
    let newest = migrations.iter().map(|migration| migration.version).max();
    let applied = "SELECT MAX(version) FROM _sqlx_migrations";
    match database.value::<Option<i64>>(applied, []).await? {
        applied if applied == newest => Ok(()),
        None => Err(no_ledger()),
        applied if applied > newest => Err("a later version of this program wrote it".into()),
        _ => Err("an earlier version of this program wrote it; open it once to write".into()),
    }
}
