//! A connection to PostgreSQL.

use std::{io, time::Duration};

use rustls::crypto::{CryptoProvider, ring};
use sqlx_core::{connection::Connection as _, raw_sql::raw_sql};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgSslMode};
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

/// Limits the wait for a lock to 60 seconds, like the wait for a file of SQLite, unless the URL or
/// the server sets another limit.
const LONGEST_LOCK: &str = "SELECT set_config('lock_timeout', '60s', false)
    WHERE current_setting('lock_timeout') = '0'";

/// How long the server may take to accept a connection, and to respond to a statement, which is
/// longer than a statement may wait for a lock. After that, the connection counts as broken. The
/// kernel would notice a broken connection only after a quarter of an hour, when the delivery URLs
/// of paid pictures have expired.
pub(in crate::ledger) const LONGEST_CONNECT: Duration = Duration::from_secs(10);
const LONGEST_STATEMENT: Duration = Duration::from_secs(90);

/// A connection whose statements block the calling thread. The connection has a runtime of its own,
/// because on the runtime of the program, every response of the server would wake two threads.
pub(in crate::ledger) struct Server {
    connection: PgConnection,
    /// `None` while this is dropped.
    runtime: Option<Runtime>,
    pub(in crate::ledger) longest: Duration,
}

impl Server {
    pub(super) fn connect(
        options: &PgConnectOptions,
        longest: Duration,
    ) -> Result<Self, sqlx_core::Error> {
        let has_default = CryptoProvider::get_default().is_some();
        if matches!(options.get_ssl_mode(), PgSslMode::VerifyCa) && !has_default {
            // In this mode, sqlx panics if the process has no default provider. The call fails only
            // if another thread has just installed one, which serves as well.
            let _ = ring::default_provider().install_default();
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connection = PgConnection::connect_with(options);
        let connection = block_on(&runtime, longest, connection)?;
        let longest = LONGEST_STATEMENT;
        let mut server = Self { connection, runtime: Some(runtime), longest };
        server.run(|connection| raw_sql(LONGEST_LOCK).execute(connection))?;
        Ok(server)
    }

    /// Runs statements, and waits for the response of the server, at most for `longest`.
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
        // A runtime that waits for its threads when it is dropped panics inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
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
        let at_once = Duration::from_millis(50);
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let url = format!("postgres://postgres@127.0.0.1:{port}/fox");
        let error = Server::connect(&url.parse().unwrap(), at_once).err().unwrap();
        assert!(is_late(&error), "{error}");

        if !(POSTGRES.is_present)() && env::var_os(POSTGRES.variable).is_none() {
            return;
        }
        let options = cluster().create_database().parse().unwrap();
        let mut server = Server::connect(&options, LONGEST_CONNECT).unwrap();
        server.longest = Duration::from_millis(50);
        let sleep = "SELECT pg_sleep(600)";
        let error = server.run(|connection| raw_sql(sleep).execute(connection)).err().unwrap();
        assert!(is_late(&error), "{error}");
    }
}
