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

/// Embeds the files of `migrations/` with these names.
macro_rules! scripts {
    ($folder:literal: $(($version:literal, $name:literal)),+) => {
        &[$(Script {
            version: $version,
            description: $name,
            sql: include_str!(concat!(
                "../../migrations/", $folder, "/000", $version, "_", $name, ".sql"
            )),
        }),+]
    };
}

const SQLITE: &[Script] =
    scripts!("sqlite": (1, "ledger"), (2, "order"), (3, "records"), (4, "identity"));

#[cfg(feature = "postgres")]
const POSTGRES: &[Script] =
    scripts!("postgres": (1, "ledger"), (2, "order"), (3, "records"), (4, "identity"));

pub(super) async fn sqlite() -> Result<Migrator, MigrateError> {
    Migrator::new(Embedded(SQLITE)).await
}

#[cfg(feature = "postgres")]
pub(super) async fn postgres() -> Result<Migrator, MigrateError> {
    Migrator::new(Embedded(POSTGRES)).await
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
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;

    /// The digests of the migrations' texts, as ledgers record them. They refuse others.
    fn digests(migrator: &Migrator) -> Vec<String> {
        let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        migrator.iter().map(|migration| hexadecimal(&migration.checksum)).collect()
    }

    #[tokio::test]
    async fn migrations_of_existing_ledgers_do_not_change() {
        assert_eq!(
            digests(&sqlite().await.unwrap()),
            [
                "634b99c7ac893e711dc20f8f7c5258be7eef97d3fdfb780edf23fbf6e33d8098\
                 6933f667d0a478b08000828f53f745c9",
                "d3b843b4ece77a5b80ab6601556122f882f10952fb40d672ce1f0a15a18293a5\
                 53c0184bea2aa10eec68c1878dd3bd30",
                "cbecd344fc2df1fc4df260c0a5fab272d39ff917b986e85d4bfa235320865be1\
                 0fa7db9c7e701fcc9aaeef50da879edc",
                "7354223f4b8690389d0c561d7ba97d0ef3ff047a270e33bed0f8f3816f7d967d\
                 0500cb10ac40643ac2e958d6cbb62cfa",
            ]
        );
        #[cfg(feature = "postgres")]
        assert_eq!(
            digests(&postgres().await.unwrap()),
            [
                "ce1207e6698762535ce01c0c3d8403065f9c8bc4fca3002b99e75dcd21c4e6f8\
                 66fade502ff167f77f7a21eef69b31bd",
                "405b95bd96149b487e23ccd665385871ebb69a65108116fa6d3114c28e86330b\
                 1814cb484cf1a2e9c2f3d7bd6d76626b",
                "cbecd344fc2df1fc4df260c0a5fab272d39ff917b986e85d4bfa235320865be1\
                 0fa7db9c7e701fcc9aaeef50da879edc",
                "4f2817205f9e554f4c4fe9c4e672ed466403d17c9fad800909f4605a5691a254\
                 bc43c5a6a286461ad26a2d321efd220b",
            ]
        );
    }

    /// A job that a worker left at a time is left until later workers.
    #[tokio::test]
    async fn ledgers_of_the_first_version_are_brought_up_to_date() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let first = Migrator::new(Embedded(&SQLITE[..1])).await.unwrap();
        first.run(&mut connection).await.unwrap();
        let rows = "INSERT INTO workers (id, name, started_at, lease_until) VALUES (7, '', 0, 0);
            INSERT INTO jobs (name, number, target, operation, request, state, left_at, added_at,
                changed_at) VALUES ('left', 1, 'a', '', '', 'queued', 5, 0, 0),
                ('free', 2, 'b', '', '', 'queued', NULL, 0, 0)";
        sqlx::raw_sql(rows).execute(&mut connection).await.unwrap();
        sqlite().await.unwrap().run(&mut connection).await.unwrap();
        let left: Vec<Option<i64>> = sqlx::query_scalar("SELECT left_after FROM jobs ORDER BY id")
            .fetch_all(&mut connection)
            .await
            .unwrap();
        assert_eq!(left, [Some(7), None]);
    }
}
