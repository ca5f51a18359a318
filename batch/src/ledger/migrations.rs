//! The scripts that create the tables of a ledger, and that will change them.

use std::io;

use super::database::{BoxError, Database};
use crate::Error;

/// Each one leads from its version, which is its position, to the next one.
#[cfg(feature = "sqlite")]
const SQLITE: &[&str] = &[include_str!("../../migrations/sqlite/0001_ledger.sql")];
#[cfg(feature = "postgres")]
const POSTGRES: &[&str] = &[include_str!("../../migrations/postgres/0001_ledger.sql")];

const LATER: &str = "a later version of this program wrote it";
const EARLIER: &str = "an earlier version of this program wrote it; open it once to write";

/// Brings the tables up to date. Another process may do the same at the same time.
pub(super) async fn upgrade(database: &mut Database) -> Result<(), BoxError> {
    let scripts = scripts(database);
    apply(database, scripts).await
}

/// Fails if the tables are not those of this version. A reader cannot bring them up to date.
pub(super) async fn check(database: &mut Database) -> Result<(), BoxError> {
    let scripts = scripts(database);
    check_for(database, scripts).await
}

fn scripts(database: &Database) -> &'static [&'static str] {
    match database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite(..) => SQLITE,
        #[cfg(feature = "postgres")]
        Database::Postgres(..) => POSTGRES,
    }
}

async fn apply(database: &mut Database, scripts: &[&str]) -> Result<(), BoxError> {
    if missing(database, scripts).await?.is_empty() {
        return Ok(());
    }
    // If a script fails, the connection is closed, and the transaction is rolled back.
    database.begin(true).await?;
    for (version, script) in missing(database, scripts).await? {
        database.run_script(script).await?;
        let record = "INSERT INTO schema_version (version) VALUES ($1)";
        database.execute(record, [version.into()]).await?;
    }
    database.execute("COMMIT", []).await?;
    Ok(())
}

/// Returns the scripts that the ledger needs, with the versions that they lead to.
async fn missing<'s>(
    database: &mut Database,
    scripts: &[&'s str],
) -> Result<Vec<(i64, &'s str)>, BoxError> {
    let version = version(database).await?;
    if version > scripts.len() as i64 {
        return Err(LATER.into());
    }
    let numbered = (1..).zip(scripts.iter().copied());
    Ok(numbered.filter(|(number, _)| *number > version).collect())
}

async fn check_for(database: &mut Database, scripts: &[&str]) -> Result<(), BoxError> {
    match (version(database).await?, missing(database, scripts).await?.is_empty()) {
        (0, _) => Err(no_ledger()),
        (_, true) => Ok(()),
        (_, false) => Err(EARLIER.into()),
    }
}

/// Returns the error for a place without a ledger.
pub(super) fn no_ledger() -> BoxError {
    io::Error::from(io::ErrorKind::NotFound).into()
}

/// Returns the version of the tables. Zero: there are none.
async fn version(database: &mut Database) -> Result<i64, Error> {
    let table = match database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite(..) => "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'",
        #[cfg(feature = "postgres")]
        Database::Postgres(..) => {
            "SELECT 1 WHERE to_regclass('imagekiln.schema_version') IS NOT NULL"
        }
    };
    if !database.finds(table, []).await? {
        return Ok(0);
    }
    database.value("SELECT COALESCE(MAX(version), 0) FROM schema_version", []).await
}

#[cfg(test)]
pub(super) mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::ledger::clocks::Clocks;

    /// Returns an empty ledger in memory.
    pub(in crate::ledger) async fn sqlite() -> Database {
        let connection = Connection::open_in_memory().unwrap();
        let mut database = Database::Sqlite(connection, Clocks::default());
        upgrade(&mut database).await.unwrap();
        database
    }

    /// Returns an empty ledger in PostgreSQL, unless there is no server to start.
    #[cfg(feature = "postgres")]
    pub(in crate::ledger) async fn postgres() -> Option<Database> {
        use imagekiln_testbed::postgres::{POSTGRES as SERVER, cluster};
        use sqlx_core::connection::Connection as _;
        if !(SERVER.is_present)() && std::env::var_os(SERVER.variable).is_none() {
            return None;
        }
        let connection =
            sqlx_postgres::PgConnection::connect(&cluster().create_database()).await.unwrap();
        let mut database = Database::Postgres(connection, 0);
        database.run_script("SET search_path TO imagekiln").await.unwrap();
        upgrade(&mut database).await.unwrap();
        Some(database)
    }

    const SECOND: &str = "ALTER TABLE workers ADD COLUMN city TEXT;
        UPDATE workers SET city = 'Bern'";

    /// Brings a ledger that has a row to the next version.
    async fn migrate(mut database: Database) {
        let scripts = [scripts(&database), &[SECOND]].concat();
        let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)";
        database.execute(worker, []).await.unwrap();
        let error = check_for(&mut database, &scripts).await.unwrap_err();
        assert_eq!(error.to_string(), EARLIER);
        // The second time, nothing is missing.
        for _ in 0..2 {
            apply(&mut database, &scripts).await.unwrap();
        }
        check_for(&mut database, &scripts).await.unwrap();
        let cities = database.rows::<(String,)>("SELECT city FROM workers", []).await.unwrap();
        assert_eq!(cities, [("Bern".to_owned(),)]);
        for refused in [upgrade(&mut database).await, check(&mut database).await] {
            assert_eq!(refused.unwrap_err().to_string(), LATER);
        }
    }

    #[tokio::test]
    async fn a_ledger_is_migrated_once() {
        migrate(sqlite().await).await;
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn a_ledger_in_postgres_is_migrated_once() {
        if let Some(database) = postgres().await {
            migrate(database).await;
        }
    }
}
