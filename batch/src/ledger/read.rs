//! Opens a ledger read-only, even while other processes write to it.

use std::{
    error, fmt,
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

/// There is no ledger where one should be read.
#[derive(Debug)]
pub(super) struct NoLedger;

impl fmt::Display for NoLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no ledger")
    }
}

impl error::Error for NoLedger {}

pub(super) async fn open_file(path: &PathBuf) -> Result<Database, BoxError> {
    if !path.try_exists()? {
        return Err(NoLedger.into());
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    if is_empty_file(&mut connection).await? {
        return Err(NoLedger.into());
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
        return Err(NoLedger.into());
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
    let applied = "SELECT MAX(version) AS version FROM _sqlx_migrations";
    let applied = database.row(applied, []).await?.ok_or(sqlx::Error::RowNotFound)?;
    match applied.get::<Option<i64>>("version")? {
        applied if applied == newest => Ok(()),
        None => Err(NoLedger.into()),
        applied if applied > newest => Err("a later version of this program wrote it".into()),
        _ => Err("an earlier version of this program wrote it; open it once to write".into()),
    }
}
