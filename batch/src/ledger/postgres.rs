//! Ledgers in PostgreSQL.

use sqlx_core::{connection::Connection as _, query::query};
use sqlx_postgres::{PgConnectOptions, PgConnection};

use super::{
    database::{BoxError, Database},
    migrations,
};
use crate::{Error, ErrorKind};

/// Limits the waits of a connection for locks as those for a file, unless the URL or the server
/// sets a limit.
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

pub(super) fn parse(url: &str) -> Result<Box<PgConnectOptions>, Error> {
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
