//! Values of statements, and rows of their results.

#[cfg(feature = "postgres")]
use sqlx_core::{decode::Decode, row::Row as _, types::Type};
#[cfg(feature = "postgres")]
use sqlx_postgres::{PgRow, Postgres};

use crate::Error;

/// A value for a parameter of a statement: `$1` is the first one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ledger) enum Value {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
}

/// A row of a result.
pub(in crate::ledger) enum Row<'r> {
    #[cfg(feature = "sqlite")]
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg(feature = "postgres")]
    Postgres(&'r PgRow),
}

/// A type that both databases can read from a column.
pub(in crate::ledger) trait Column: SqliteColumn + PostgresColumn {}
impl<T: SqliteColumn + PostgresColumn> Column for T {}

#[cfg(feature = "sqlite")]
pub(in crate::ledger) use rusqlite::types::FromSql as SqliteColumn;
#[cfg(not(feature = "sqlite"))]
pub(in crate::ledger) trait SqliteColumn {}
#[cfg(not(feature = "sqlite"))]
impl<T> SqliteColumn for T {}

#[cfg(feature = "postgres")]
pub(in crate::ledger) trait PostgresColumn:
    for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}
#[cfg(feature = "postgres")]
impl<T: for<'r> Decode<'r, Postgres> + Type<Postgres>> PostgresColumn for T {}
#[cfg(not(feature = "postgres"))]
pub(in crate::ledger) trait PostgresColumn {}
#[cfg(not(feature = "postgres"))]
impl<T> PostgresColumn for T {}

impl Row<'_> {
    /// Returns the value of the column with this name.
    pub(in crate::ledger) fn named<T: Column>(&self, name: &str) -> Result<T, Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(row) => Ok(row.get(name)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => Ok(row.try_get(name)?),
        }
    }

    fn at<T: Column>(&self, index: usize) -> Result<T, Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(row) => Ok(row.get(index)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => Ok(row.try_get(index)?),
        }
    }
}

/// A type that is read from a row of a result.
pub(in crate::ledger) trait FromRow: Sized {
    fn from_row(row: &Row<'_>) -> Result<Self, Error>;
}

/// The columns of a row as a tuple, in order.
macro_rules! tuples {
    ($(($($column:ident $index:tt),*))*) => {
        $(impl<$($column: Column),*> FromRow for ($($column,)*) {
            fn from_row(row: &Row<'_>) -> Result<Self, Error> {
                Ok(($(row.at::<$column>($index)?,)*))
            }
        })*
    };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

impl FromRow for () {
    fn from_row(_: &Row<'_>) -> Result<Self, Error> {
        Ok(())
    }
}

macro_rules! values {
    ($($type:ty, $value:ident => $variant:ident($content:expr);)*) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                Self::$variant($content)
            }
        })*
    };
}

values! {
    i64, value => Integer(Some(value));
    Option<i64>, value => Integer(value);
    Option<f64>, value => Real(value);
    &str, value => Text(Some(value.to_owned()));
    &String, value => Text(Some(value.clone()));
    String, value => Text(Some(value));
    Option<String>, value => Text(value);
}
