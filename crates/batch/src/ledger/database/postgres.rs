//! Opens ledgers in PostgreSQL.

use sqlx_postgres::PgConnectOptions;

use super::{
    BoxError, Database, migrations,
    server::{LONGEST_CONNECT, Server},
};
use crate::{Error, ErrorKind};

pub(in crate::ledger) fn parse(url: &str) -> Result<Box<PgConnectOptions>, Error> {
    url.parse().map(Box::new).map_err(|error: sqlx_core::Error| {
        let message = "could not parse the URL of the ledger; use \
                       postgres://user:password@host:port/database";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })
}

pub(in crate::ledger) fn open(
    options: &PgConnectOptions,
    reads: bool,
) -> Result<Database, BoxError> {
    const TO_WRITE: [&str; 4] = [
        "search_path TO imagekiln",
        // A commit must survive a crash of the server, whatever its settings are.
        "synchronous_commit TO on",
        // A connection without a transaction holds no locks, so the server need not close it.
        "idle_session_timeout TO 0",
        // If a process is suspended while it holds a lock, the server must disconnect it, or all
        // other workers would wait. During migrations, the limit is 30 seconds, because a process
        // on a busy machine may need seconds between two statements.
        "idle_in_transaction_session_timeout TO '30s'",
    ];
    const TO_READ: [&str; 2] = ["search_path TO imagekiln", "default_transaction_read_only TO on"];
    let mut database = Database::Postgres(Server::connect(options, LONGEST_CONNECT)?, 0);
    for setting in if reads { &TO_READ[..] } else { &TO_WRITE } {
        database.execute(&format!("SET {setting}"), [])?;
    }
    migrations::open(&mut database, reads)?;
    if !reads {
        database.execute("SET idle_in_transaction_session_timeout TO '5s'", [])?;
    }
    Ok(database)
}
