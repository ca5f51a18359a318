//! Ledgers in PostgreSQL.

use std::{io, time::Duration};

use rustls::crypto::{CryptoProvider, ring};
use sqlx_core::{connection::Connection as _, raw_sql::raw_sql};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgSslMode};
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

use super::{
    database::{BoxError, Database},
    migrations,
};
use crate::{Error, ErrorKind};

/// Limits the waits of a connection for locks as those for a file, unless the URL or the server
/// sets a limit.
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

/// How long a server may take to accept a connection, and to respond to a statement: longer than it
/// waits for a lock. Afterwards, the network is taken for broken. The kernel would notice that after
/// a quarter of an hour, when the delivery URLs of the pictures have expired.
const LONGEST: Longest =
    Longest { connect: Duration::from_secs(10), statement: Duration::from_secs(90) };

#[derive(Clone, Copy)]
struct Longest {
    connect: Duration,
    statement: Duration,
}

/// A connection whose statements block the thread, which must be one that may be blocked. It has a
/// runtime of its own: on that of the program, every response of the server would wake two threads.
pub(super) struct Server {
    connection: PgConnection,
    /// `None` while this is dropped.
    runtime: Option<Runtime>,
    longest: Duration,
}

impl Server {
    fn connect(options: &PgConnectOptions, longest: Longest) -> Result<Self, BoxError> {
        let is_default = CryptoProvider::get_default().is_some();
        if matches!(options.get_ssl_mode(), PgSslMode::VerifyCa) && !is_default {
            // For this mode, sqlx panics without a default. Another thread may have set one.
            let _ = ring::default_provider().install_default();
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connection = PgConnection::connect_with(options);
        let connection = block_on(&runtime, longest.connect, connection)?;
        let mut server = Self { connection, runtime: Some(runtime), longest: longest.statement };
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
        block_on(runtime, self.longest, statements(&mut self.connection))
    }
}

fn block_on<T>(
    runtime: &Runtime,
    longest: Duration,
    exchange: impl Future<Output = Result<T, sqlx_core::Error>>,
) -> Result<T, sqlx_core::Error> {
    runtime.block_on(async { time::timeout(longest, exchange).await }).unwrap_or_else(|_| {
        let message = format!("the server has not responded for {} s", longest.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
    })
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
    let mut database = Database::Postgres(Server::connect(options, LONGEST)?, 0);
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
    let mut database = Database::Postgres(Server::connect(options, LONGEST)?, 0);
    for setting in ["search_path TO imagekiln", "default_transaction_read_only TO on"] {
        database.execute(&format!("SET {setting}"), [])?;
    }
    migrations::check(&mut database)?;
    Ok(database)
}

#[cfg(test)]
mod tests {
    use std::{env, net::TcpListener};

    use imagekiln_testbed::postgres::{POSTGRES, cluster};

    use super::*;

    fn is_late(error: &sqlx_core::Error) -> bool {
        matches!(error, sqlx_core::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut)
    }

    #[test]
    fn a_server_that_does_not_respond_is_left() {
        let at_once = Longest { connect: Duration::from_millis(50), ..LONGEST };
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let options = parse(&format!("postgres://postgres@127.0.0.1:{port}/fox")).unwrap();
        let error = Server::connect(&options, at_once).err().unwrap();
        assert!(is_late(error.downcast_ref().unwrap()), "{error}");

        if !(POSTGRES.is_present)() && env::var_os(POSTGRES.variable).is_none() {
            return;
        }
        let options = parse(&cluster().create_database()).unwrap();
        let mut server = Server::connect(&options, LONGEST).unwrap();
        server.longest = Duration::from_millis(50);
        let sleep = "SELECT pg_sleep(600)";
        let error = server.run(|connection| raw_sql(sleep).execute(connection)).err().unwrap();
        assert!(is_late(&error), "{error}");
    }
}
