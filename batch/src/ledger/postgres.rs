//! Ledgers in PostgreSQL.

use sqlx_core::{connection::Connection as _, raw_sql::raw_sql};
use sqlx_postgres::{PgConnectOptions, PgConnection};
use tokio::runtime::{Builder, Runtime};

use super::{
    database::{BoxError, Database},
    migrations,
};
use crate::{Error, ErrorKind};

/// Limits the waits of a connection for locks as those for a file, unless the URL or the server
/// sets a limit.
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

/// A connection whose statements block the thread, which must be one that may be blocked. It has a
/// runtime of its own: on that of the program, every response of the server would wake two threads.
pub(super) struct Server {
    connection: PgConnection,
    /// `None` while this is dropped.
    runtime: Option<Runtime>,
}

impl Server {
    fn connect(options: &PgConnectOptions) -> Result<Self, BoxError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(PgConnection::connect_with(options))?;
        let mut server = Self { connection, runtime: Some(runtime) };
        server.run(|connection| raw_sql(LONGEST_LOCK).execute(connection))?;
        Ok(server)
    }

    /// Runs statements to their end.
    pub(super) fn run<'c, T, F>(
        &'c mut self,
        statements: impl FnOnce(&'c mut PgConnection) -> F,
    ) -> Result<T, sqlx_core::Error>
    where
        F: Future<Output = Result<T, sqlx_core::Error>>,
    {
        let runtime = self.runtime.as_ref().ok_or(sqlx_core::Error::WorkerCrashed)?;
        runtime.block_on(statements(&mut self.connection))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that waits for its threads panics on the runtime of the program.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(super) fn parse(url: &str) -> Result<Box<PgConnectOptions>, Error> {
    url.parse().map(Box::new).map_err(|error: sqlx_core::Error| {
        let message = "could not parse the URL of the ledger; use \
                       postgres://user:password@host:port/database";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })
}

pub(super) fn open_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
    let mut database = Database::Postgres(Server::connect(options)?, 0);
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
        database.execute(&format!("SET {setting}"), [])?;
    }
    migrations::upgrade(&mut database)?;
    database.execute("SET idle_in_transaction_session_timeout TO '5s'", [])?;
    Ok(database)
}

pub(super) fn read_server(options: &PgConnectOptions) -> Result<Database, BoxError> {
    let mut database = Database::Postgres(Server::connect(options)?, 0);
    for setting in ["search_path TO imagekiln", "default_transaction_read_only TO on"] {
        database.execute(&format!("SET {setting}"), [])?;
    }
    migrations::check(&mut database)?;
    Ok(database)
}
