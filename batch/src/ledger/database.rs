//! The connection to the database. The statements of the ledger run on SQLite and on PostgreSQL
//! without a change.

use sqlx::{
    Arguments as _, Encode, FromRow, Sqlite, SqliteConnection, Type, query, query_as_with,
    query_with, sqlite::SqliteRow,
};
#[cfg(feature = "postgres")]
use sqlx::{PgConnection, Postgres, postgres::PgRow, query_scalar, raw_sql};

use super::clocks::Clocks;

/// Serializes the transactions that decide about limits and claims in PostgreSQL: "IKLB".
#[cfg(feature = "postgres")]
const LOCK: i64 = super::APPLICATION_ID;

pub(super) enum Database {
    Sqlite(SqliteConnection, Clocks),
    /// The time is that of the transaction.
    #[cfg(feature = "postgres")]
    Postgres(PgConnection, Option<i64>),
}

/// A value for a parameter of a statement, `$1` to `$9`.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
}

/// The columns of a row as a tuple.
#[cfg(not(feature = "postgres"))]
pub(super) trait Columns: for<'r> FromRow<'r, SqliteRow> + Send + Unpin {}
#[cfg(not(feature = "postgres"))]
impl<T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin> Columns for T {}

/// The columns of a row as a tuple.
#[cfg(feature = "postgres")]
pub(super) trait Columns:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}
#[cfg(feature = "postgres")]
impl<T> Columns for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl Database {
    /// Runs a statement, and returns the number of rows that it changed.
    pub(super) async fn execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<u64> {
        Ok(match self {
            Self::Sqlite(connection, _) => query_with(sql, arguments::<Sqlite>(values)?)
                .execute(connection)
                .await?
                .rows_affected(),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => query_with(sql, arguments::<Postgres>(values)?)
                .execute(connection)
                .await?
                .rows_affected(),
        })
    }

    /// Runs a statement, and returns its rows.
    pub(super) async fn rows<T: Columns>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<Vec<T>> {
        match self {
            Self::Sqlite(connection, _) => {
                query_as_with(sql, arguments::<Sqlite>(values)?).fetch_all(connection).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                query_as_with(sql, arguments::<Postgres>(values)?).fetch_all(connection).await
            }
        }
    }

    /// Runs a statement, and returns its first row, if there is one.
    pub(super) async fn row<T: Columns>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<Option<T>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Runs a statement, and returns its only value.
    pub(super) async fn value<T>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<T>
    where
        (T,): Columns,
    {
        self.row::<(T,)>(sql, values).await?.map(|row| row.0).ok_or(sqlx::Error::RowNotFound)
    }

    /// Runs a statement, and returns whether it has rows.
    pub(super) async fn finds(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<bool> {
        Ok(self.row::<()>(sql, values).await?.is_some())
    }

    /// Begins a transaction. If it is exclusive, it waits until no other one is.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "for PostgreSQL"))]
    pub(super) async fn begin(&mut self, is_exclusive: bool) -> sqlx::Result<()> {
        match self {
            // A transaction that reads first could not become a writer later. A connection that
            // only reads starts a reader.
            Self::Sqlite(connection, _) => {
                query("BEGIN IMMEDIATE").execute(connection).await?;
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, now) => {
                *now = None;
                let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})");
                let begin = if is_exclusive { &lock } else { "BEGIN" };
                raw_sql(begin).execute(connection).await?;
            }
        }
        Ok(())
    }

    /// Excludes other transactions that add many jobs, until the end of this one.
    pub(super) async fn lock_additions(&mut self) -> sqlx::Result<()> {
        match self {
            // A file has one writer at a time.
            Self::Sqlite(..) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                let lock = format!("SELECT pg_advisory_xact_lock({})", LOCK + 1);
                raw_sql(&lock).execute(connection).await.map(drop)
            }
        }
    }

    /// Returns an expression for the number of the next job, in order of their positions.
    pub(super) async fn next_number(&mut self) -> sqlx::Result<&'static str> {
        match self {
            Self::Sqlite(..) => Ok("MAX((SELECT COALESCE(MAX(number), 0) FROM jobs),
                    (SELECT COALESCE(MAX(number), 0) FROM archived_jobs))
                + ROW_NUMBER() OVER (ORDER BY position)"),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                // Workers of earlier versions count the jobs instead.
                let skip = "SELECT setval('job_numbers', last) FROM
                    (SELECT MAX(number) AS last FROM jobs) jobs, job_numbers
                    WHERE last > last_value";
                query(skip).execute(connection).await?;
                Ok("nextval('job_numbers')")
            }
        }
    }

    /// Returns the end of a query of submissions `s` that nobody else may change until the end of
    /// this transaction.
    pub(super) fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(..) => "",
            #[cfg(feature = "postgres")]
            Self::Postgres(..) => " FOR UPDATE OF s",
        }
    }

    /// Returns the time of the transaction in milliseconds since the Unix epoch, on the clock that
    /// all workers of the ledger share.
    pub(super) async fn now(&mut self) -> sqlx::Result<i64> {
        match self {
            Self::Sqlite(_, clocks) => Ok(clocks.milliseconds()),
            #[cfg(feature = "postgres")]
            Self::Postgres(_, Some(now)) => Ok(*now),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, now) => {
                // Not the time at which it began, because it may have waited for the lock.
                let clock = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT AS now";
                Ok(*now.insert(query_scalar(clock).fetch_one(connection).await?))
            }
        }
    }
}

fn arguments<'q, DB: sqlx::Database>(
    values: impl IntoIterator<Item = Value>,
) -> sqlx::Result<DB::Arguments<'q>>
where
    Option<i64>: Encode<'q, DB> + Type<DB> + 'q,
    Option<f64>: Encode<'q, DB> + Type<DB> + 'q,
    Option<String>: Encode<'q, DB> + Type<DB> + 'q,
{
    let mut arguments = DB::Arguments::default();
    for value in values {
        match value {
            Value::Integer(value) => arguments.add(value),
            Value::Real(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(Some(value.clone()))
    }
}

impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}
