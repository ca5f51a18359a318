//! The scripts that create the tables of a ledger, and that change them in later versions.

use std::io;

use super::{BoxError, Database};
use crate::Error;

/// The script at position N takes a ledger from schema version N to version N + 1.
const SQLITE: &[&str] = &[include_str!("../../../migrations/sqlite/0001_ledger.sql")];
const POSTGRES: &[&str] = &[include_str!("../../../migrations/postgres/0001_ledger.sql")];

const LATER: &str = "a later version of this program wrote it";
const EARLIER: &str = "an earlier version of this program wrote it; open it once to write";

/// Brings the tables up to date. If another process does the same, the second one waits and finds
/// nothing missing. If `reads`, changes nothing, and fails if the tables have another version.
pub(super) fn open(database: &mut Database, reads: bool) -> Result<(), BoxError> {
    let scripts = scripts(database);
    if reads { check_for(database, scripts) } else { apply(database, scripts) }
}

fn scripts(database: &Database) -> &'static [&'static str] {
    database.either(SQLITE, POSTGRES)
}

fn apply(database: &mut Database, scripts: &[&str]) -> Result<(), BoxError> {
    if missing(database, scripts)?.is_empty() {
        return Ok(());
    }
    // If a script fails, the connection is closed, and the transaction is rolled back.
    database.begin(true)?;
    for (version, script) in missing(database, scripts)? {
        database.run_script(script)?;
        let record = "INSERT INTO schema_version (version) VALUES ($1)";
        database.execute(record, [version.into()])?;
    }
    database.execute("COMMIT", [])?;
    Ok(())
}

/// Returns the scripts that the ledger needs, with the versions that they lead to.
fn missing<'s>(
    database: &mut Database,
    scripts: &[&'s str],
) -> Result<Vec<(i64, &'s str)>, BoxError> {
    let version = version(database)?;
    if version > scripts.len() as i64 {
        return Err(LATER.into());
    }
    let numbered = (1..).zip(scripts.iter().copied());
    Ok(numbered.filter(|(number, _)| *number > version).collect())
}

fn check_for(database: &mut Database, scripts: &[&str]) -> Result<(), BoxError> {
    match (version(database)?, missing(database, scripts)?.is_empty()) {
        (0, _) => Err(no_ledger()),
        (_, true) => Ok(()),
        (_, false) => Err(EARLIER.into()),
    }
}

/// Returns the error for a place without a ledger.
pub(super) fn no_ledger() -> BoxError {
    io::Error::from(io::ErrorKind::NotFound).into()
}

/// Returns the version of the tables, or 0 if there are no tables.
fn version(database: &mut Database) -> Result<i64, Error> {
    let table = database.either(
        "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'",
        "SELECT 1 WHERE to_regclass('imagekiln.schema_version') IS NOT NULL",
    );
    if !database.finds(table, [])? {
        return Ok(0);
    }
    database.value("SELECT COALESCE(MAX(version), 0) FROM schema_version", [])
}

#[cfg(test)]
pub(in crate::ledger) mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::ledger::database::clocks::Clocks;

    /// Returns an empty ledger in memory.
    pub(in crate::ledger) fn sqlite() -> Database {
        let connection = Connection::open_in_memory().unwrap();
        let mut database = Database::Sqlite(connection, Clocks::default());
        open(&mut database, false).unwrap();
        database
    }

    /// Returns an empty ledger in PostgreSQL, unless there is no server to start.
    #[cfg(feature = "postgres")]
    pub(in crate::ledger) fn postgres() -> Option<Database> {
        use crate::ledger::database::server::{LONGEST_CONNECT, Server};
        use imagekiln_testbed::postgres::{POSTGRES, cluster};
        if !(POSTGRES.is_present)() && std::env::var_os(POSTGRES.variable).is_none() {
            return None;
        }
        let options = cluster().create_database().parse().unwrap();
        let mut database =
            Database::Postgres(Server::connect(&options, LONGEST_CONNECT).unwrap(), 0);
        database.run_script("SET search_path TO imagekiln").unwrap();
        open(&mut database, false).unwrap();
        Some(database)
    }

    const SECOND: &str = "ALTER TABLE workers ADD COLUMN city TEXT;
        UPDATE workers SET city = 'Bern'";

    /// Brings a ledger that has a row to the next version.
    fn migrate(mut database: Database) {
        let scripts = [scripts(&database), &[SECOND]].concat();
        let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)";
        database.execute(worker, []).unwrap();
        let error = check_for(&mut database, &scripts).unwrap_err();
        assert_eq!(error.to_string(), EARLIER);
        // The second time, nothing is missing.
        for _ in 0..2 {
            apply(&mut database, &scripts).unwrap();
        }
        check_for(&mut database, &scripts).unwrap();
        let cities = database.rows::<(String,)>("SELECT city FROM workers", []).unwrap();
        assert_eq!(cities, [("Bern".to_owned(),)]);
        for reads in [false, true] {
            assert_eq!(open(&mut database, reads).unwrap_err().to_string(), LATER);
        }
    }

    #[test]
    fn a_ledger_is_migrated_once() {
        migrate(sqlite());
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_ledger_in_postgres_is_migrated_once() {
        if let Some(database) = postgres() {
            migrate(database);
        }
    }
}
