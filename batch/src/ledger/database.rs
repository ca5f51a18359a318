//! The connection to the database. The statements of the ledger run on SQLite and on PostgreSQL
//! without a change.

#[cfg(feature = "postgres")]
use sqlx::{PgConnection, Postgres, postgres::PgRow};
use sqlx::{
    Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};

/// Serializes the transactions that decide about limits and claims in PostgreSQL: "IKLB".
#[cfg(feature = "postgres")]
const LOCK: i64 = super::APPLICATION_ID;

pub(super) enum Database {
    Sqlite(SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
}

/// A value for a parameter of a statement, `$1` to `$9`.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
}

pub(super) enum Row {
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
}

impl Database {
    /// Runs a statement, and returns the number of rows that it changed.
    pub(super) async fn execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<u64> {
        Ok(match self {
            Self::Sqlite(connection) => {
                sqlite(sql, values).execute(connection).await?.rows_affected()
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => {
                postgres(sql, values).execute(connection).await?.rows_affected()
            }
        })
    }

    /// Runs a statement, and returns its rows.
    pub(super) async fn rows(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<Vec<Row>> {
        Ok(match self {
            Self::Sqlite(connection) => {
                let rows = sqlite(sql, values).fetch_all(connection).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => {
                let rows = postgres(sql, values).fetch_all(connection).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Runs a statement, and returns its first row.
    pub(super) async fn row(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        let begin = match self {
            // A transaction that reads first could not become a writer later. A connection that
            // only reads starts a reader.
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "BEGIN",
        };
        self.execute(begin, []).await?;
        Ok(())
    }

    /// Excludes other transactions that call this, until the end of this transaction.
    pub(super) async fn lock(&mut self) -> sqlx::Result<()> {
        match self {
            // `BEGIN IMMEDIATE` has done it.
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                self.rows("SELECT pg_advisory_xact_lock($1)", [LOCK.into()]).await.map(drop)
            }
        }
    }

    /// Returns the time of the database in milliseconds since the Unix epoch. All workers of a
    /// ledger have the same clock.
    pub(super) async fn now(&mut self) -> sqlx::Result<i64> {
        let now = match self {
            Self::Sqlite(_) => "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT AS now"
            }
        };
        self.row(now, []).await?.ok_or(sqlx::Error::RowNotFound)?.get("now")
    }
}

type SqliteQuery<'q> = Query<'q, Sqlite, SqliteArguments<'q>>;

fn sqlite(sql: &str, values: impl IntoIterator<Item = Value>) -> SqliteQuery<'_> {
    values.into_iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Integer(value) => query.bind(value),
        Value::Real(value) => query.bind(value),
        Value::Text(value) => query.bind(value),
    })
}

#[cfg(feature = "postgres")]
type PostgresQuery<'q> = Query<'q, Postgres, sqlx::postgres::PgArguments>;

#[cfg(feature = "postgres")]
fn postgres(sql: &str, values: impl IntoIterator<Item = Value>) -> PostgresQuery<'_> {
    values.into_iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Integer(value) => query.bind(value),
        Value::Real(value) => query.bind(value),
        Value::Text(value) => query.bind(value),
    })
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

/// A type of the columns of a ledger.
#[cfg(not(feature = "postgres"))]
pub(super) trait Column: for<'r> sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite> {}

/// A type of the columns of a ledger.
#[cfg(feature = "postgres")]
pub(super) trait Column:
    for<'r> sqlx::Decode<'r, Sqlite>
    + sqlx::Type<Sqlite>
    + for<'r> sqlx::Decode<'r, Postgres>
    + sqlx::Type<Postgres>
{
}

impl Column for i64 {}
impl Column for f64 {}
impl Column for String {}
impl Column for Option<i64> {}
impl Column for Option<f64> {}
impl Column for Option<String> {}

impl Row {
    pub(super) fn get<T: Column>(&self, column: &str) -> sqlx::Result<T> {
        use sqlx::Row as _;
        match self {
            Self::Sqlite(row) => row.try_get(column),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.try_get(column),
        }
    }
}
