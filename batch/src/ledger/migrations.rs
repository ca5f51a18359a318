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
    Migrator::new(Embedded(&[
        Script {
            version: 1,
            description: "ledger",
            sql: include_str!("../../migrations/sqlite/0001_ledger.sql"),
        },
        Script {
            version: 2,
            description: "records",
            sql: include_str!("../../migrations/sqlite/0002_records.sql"),
        },
    ]))
    .await
}

#[cfg(feature = "postgres")]
pub(super) async fn postgres() -> Result<Migrator, MigrateError> {
    Migrator::new(Embedded(&[
        Script {
            version: 1,
            description: "ledger",
            sql: include_str!("../../migrations/postgres/0001_ledger.sql"),
        },
        Script {
            version: 2,
            description: "records",
            sql: include_str!("../../migrations/postgres/0002_records.sql"),
        },
    ]))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of a migration's text, as ledgers record it. They refuse another one.
    fn digest(migrator: &Migrator) -> String {
        let bytes = migrator.iter().flat_map(|migration| migration.checksum.iter());
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    #[tokio::test]
    async fn migrations_of_existing_ledgers_do_not_change() {
        assert_eq!(
            digest(&sqlite().await.unwrap()),
            "634b99c7ac893e711dc20f8f7c5258be7eef97d3fdfb780edf23fbf6e33d8098\
             6933f667d0a478b08000828f53f745c9"
        );
        #[cfg(feature = "postgres")]
        assert_eq!(
            digest(&postgres().await.unwrap()),
            "ce1207e6698762535ce01c0c3d8403065f9c8bc4fca3002b99e75dcd21c4e6f8\
             66fade502ff167f77f7a21eef69b31bd"
        );
    }
}
