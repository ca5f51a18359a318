//! The connection to the database. SQLite and PostgreSQL run the same statements, except where
//! [`Database::either`] chooses between two.

pub(super) mod clocks;
pub(super) mod migrations;
#[cfg(feature = "postgres")]
pub(super) mod postgres;
#[cfg(feature = "postgres")]
mod server;
#[cfg(feature = "sqlite")]
pub(super) mod sqlite;
mod values;

#[cfg(feature = "postgres")]
use sqlx_core::{arguments::Arguments as _, query::query_with, raw_sql::raw_sql, row::Row as _};
#[cfg(feature = "postgres")]
use sqlx_postgres::PgArguments;

#[cfg(feature = "sqlite")]
use self::clocks::Clocks;
#[cfg(feature = "postgres")]
use self::server::Server;
pub(in crate::ledger) use self::values::{FromRow, Row, Value};
use crate::{Error, ErrorKind, error::DatabaseFailure};

/// Identifies a database as a ledger: "IKLB". In SQLite, the first migration writes this number to
/// the header of the file. In PostgreSQL, a lock with this number serializes the transactions that
/// decide about limits and claims.
const APPLICATION_ID: i64 = 1_229_671_490;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[cfg(feature = "postgres")]
const CLOCK: &str = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT AS now";

pub(super) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(rusqlite::Connection, Clocks),
    /// The number is the time of the transaction, in milliseconds since the Unix epoch.
    #[cfg(feature = "postgres")]
    Postgres(Server, i64),
}

impl Database {
    /// Runs a statement, and returns the number of rows that it changed.
    pub(super) fn execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection, _) => {
                let changed = bound(connection, sql, values)?.raw_execute()?;
                Ok(changed as u64)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                let query = query_with(sql, arguments(values)?);
                let done = connection.run(|connection| query.execute(connection))?;
                Ok(done.rows_affected())
            }
        }
    }

    /// Runs a statement, and returns its rows.
    pub(super) fn rows<T: FromRow>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<T>, Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection, _) => {
                let (mut found, mut statement) = (Vec::new(), bound(connection, sql, values)?);
                let mut rows = statement.raw_query();
                while let Some(row) = rows.next()? {
                    found.push(T::from_row(&Row::Sqlite(row))?);
                }
                Ok(found)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                let query = query_with(sql, arguments(values)?);
                let rows = connection.run(|connection| query.fetch_all(connection))?;
                rows.iter().map(|row| T::from_row(&Row::Postgres(row))).collect()
            }
        }
    }

    /// Runs a statement, and returns its first row, if there is one.
    pub(super) fn row<T: FromRow>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Option<T>, Error> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// Runs a statement, and returns its only value.
    pub(super) fn value<T>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<T, Error>
    where
        (T,): FromRow,
    {
        self.row::<(T,)>(sql, values)?.map(|row| row.0).ok_or_else(no_row)
    }

    /// Runs a statement, and returns whether it has rows.
    pub(super) fn finds(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<bool, Error> {
        Ok(self.row::<()>(sql, values)?.is_some())
    }

    /// Runs the statements of a script.
    pub(super) fn run_script(&mut self, script: &str) -> Result<(), Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection, _) => Ok(connection.execute_batch(script)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                connection.run(|connection| raw_sql(script).execute(connection))?;
                Ok(())
            }
        }
    }

    /// Begins a transaction. An exclusive transaction first waits until no other exclusive one
    /// runs.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "for PostgreSQL"))]
    pub(super) fn begin(&mut self, is_exclusive: bool) -> Result<(), Error> {
        match self {
            // IMMEDIATE takes the write lock at once. A transaction that reads before it takes the
            // lock fails if another one writes in between. On a read-only connection, IMMEDIATE
            // only begins to read.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(..) => self.execute("BEGIN IMMEDIATE", []).map(drop),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, now) => {
                let lock = format!("SELECT pg_advisory_xact_lock({APPLICATION_ID});");
                let lock = if is_exclusive { &*lock } else { "" };
                // One round trip for everything. The server reads the clock after it has the lock,
                // because the wait for the lock may be long.
                let begin = format!("BEGIN; {lock} {CLOCK}");
                let rows = connection.run(|connection| raw_sql(&begin).fetch_all(connection))?;
                *now = rows.last().ok_or_else(no_row)?.try_get("now")?;
                Ok(())
            }
        }
    }

    /// Reads the clock again, and makes the result the time of the transaction: for a transaction
    /// that has already taken long.
    pub(super) fn later(&mut self) -> Result<i64, Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(..) => {}
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, now) => {
                let row = connection.run(|connection| raw_sql(CLOCK).fetch_one(connection))?;
                *now = row.try_get("now")?;
            }
        }
        Ok(self.now())
    }

    /// Returns the first value if the database is SQLite, and the second one if it is PostgreSQL.
    #[cfg_attr(
        not(all(feature = "sqlite", feature = "postgres")),
        expect(unused_variables, reason = "one of them is for the other database")
    )]
    pub(super) fn either<T>(&self, sqlite: T, postgres: T) -> T {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(..) => sqlite,
            #[cfg(feature = "postgres")]
            Self::Postgres(..) => postgres,
        }
    }

    /// Waits for other transactions that add many jobs, and makes later ones wait for this one.
    /// SQLite needs no lock, because a file has one writer at a time.
    pub(super) fn lock_additions(&mut self) -> Result<(), Error> {
        let lock = format!("SELECT pg_advisory_xact_lock({})", APPLICATION_ID + 1);
        self.finds(self.either("SELECT 1", &lock), []).map(drop)
    }

    /// Returns an SQL expression that numbers new jobs, in the order of their positions.
    pub(super) fn next_number(&self) -> &'static str {
        let highest = "MAX((SELECT COALESCE(MAX(number), 0) FROM jobs),
                (SELECT COALESCE(MAX(number), 0) FROM archived_jobs))
            + ROW_NUMBER() OVER (ORDER BY position)";
        self.either(highest, "nextval('job_numbers')")
    }

    /// Returns the clause that locks the selected `rows` until the end of the transaction, so that
    /// nobody else can change them. The clause is empty for SQLite, where nobody else can write.
    pub(super) fn for_update(&self, rows: &str) -> String {
        self.either(String::new(), format!(" FOR UPDATE OF {rows}"))
    }

    /// Returns a query that turns a JSON array of texts, the value of this parameter, into rows.
    pub(super) fn elements(&self, parameter: usize) -> String {
        self.either(
            format!("SELECT value FROM json_each(${parameter})"),
            format!("SELECT json_array_elements_text(CAST(${parameter} AS json))"),
        )
    }

    /// Returns a query that turns a JSON array of numbers, the value of this parameter, into rows.
    pub(super) fn numbers(&self, parameter: usize) -> String {
        self.either(
            self.elements(parameter),
            format!("SELECT CAST(json_array_elements_text(${parameter}::json) AS BIGINT)"),
        )
    }

    /// Returns the time of the transaction in milliseconds since the Unix epoch, from the clock
    /// that all workers of the ledger share.
    pub(super) fn now(&self) -> i64 {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_, clocks) => clocks.milliseconds(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_, now) => *now,
        }
    }
}

/// Returns a statement with these values. SQLite numbers the parameters in the order in which they
/// appear, so each parameter is looked up by its name.
#[cfg(feature = "sqlite")]
fn bound<'c>(
    connection: &'c rusqlite::Connection,
    sql: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<rusqlite::CachedStatement<'c>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    for (number, value) in (1..).zip(values) {
        let Some(index) = statement.parameter_index(&format!("${number}"))? else { continue };
        match value {
            Value::Integer(value) => statement.raw_bind_parameter(index, value),
            Value::Real(value) => statement.raw_bind_parameter(index, value),
            Value::Text(value) => statement.raw_bind_parameter(index, value),
        }?;
    }
    Ok(statement)
}

#[cfg(feature = "postgres")]
fn arguments(values: impl IntoIterator<Item = Value>) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    for value in values {
        match value {
            Value::Integer(value) => arguments.add(value),
            Value::Real(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
        }
        .map_err(sqlx_core::Error::Encode)?;
    }
    Ok(arguments)
}

/// Whether a statement failed because another row has a value that must be unique.
pub(super) fn is_taken(error: &Error) -> bool {
    DatabaseFailure::of(error) == Some(DatabaseFailure::Taken)
}

/// Returns the error for a row that the ledger always contains.
pub(super) fn no_row() -> Error {
    Error::new(ErrorKind::Ledger, "the ledger lacks a row; it may be damaged")
}
