//! The migrations that create the tables of a ledger.
//!
//! `sqlx::migrate!` would embed the same files, but building that macro means compiling sqlx and
//! SQLite twice.

use std::future;

use futures_core::future::BoxFuture;
use sqlx::{
    error::BoxDynError,
    migrate::{MigrateError, Migration, MigrationSource, MigrationType, Migrator},
};

pub(super) async fn sqlite() -> Result<Migrator, MigrateError> {
    Migrator::new(Embedded(&[Script {
        version: 1,
        description: "ledger",
        sql: include_str!("../../migrations/sqlite/0001_ledger.sql"),
    }]))
    .await
}

#[cfg(feature = "postgres")]
pub(super) async fn postgres() -> Result<Migrator, MigrateError> {
    Migrator::new(Embedded(&[Script {
        version: 1,
        description: "ledger",
        sql: include_str!("../../migrations/postgres/0001_ledger.sql"),
    }]))
    .await
}

#[derive(Debug)]
struct Embedded(&'static [Script]);

/// A file of `migrations/`, whose name is the version and the description.
#[derive(Debug)]
struct Script {
    version: i64,
    description: &'static str,
    sql: &'static str,
}

impl MigrationSource<'static> for Embedded {
    fn resolve(self) -> BoxFuture<'static, Result<Vec<Migration>, BoxDynError>> {
        let migration = |script: &Script| {
            let Script { version, description, sql } = *script;
            let simple = MigrationType::Simple;
            Migration::new(version, description.into(), simple, sql.into(), false)
        };
        Box::pin(future::ready(Ok(self.0.iter().map(migration).collect())))
    }
}
