//! The migrations that create the tables of a ledger.

#[cfg(feature = "postgres")]
use std::future;

#[cfg(feature = "postgres")]
use futures_core::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use sha2::{Digest as _, Sha384};
#[cfg(feature = "postgres")]
use sqlx_core::{
    error::BoxDynError,
    migrate::{MigrateError, Migration, MigrationSource, MigrationType, Migrator},
};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The version of the last migration.
pub(super) const NEWEST: i64 = SQLITE.len() as i64;

/// Why a ledger with other migrations is not opened.
pub(super) const LATER: &str = "a later version of this program wrote it";

/// Embeds the files of a folder of `migrations/`.
macro_rules! scripts {
    ($folder:literal) => {
        scripts!($folder: (1, "ledger"), (2, "order"), (3, "records"), (4, "identity"),
            (5, "submissions"), (6, "spending"), (7, "staged"), (8, "groups"), (9, "fleet"))
    };
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

const SQLITE: &[Script] = scripts!("sqlite");

#[cfg(feature = "postgres")]
const POSTGRES: &[Script] = scripts!("postgres");

/// Brings the tables of a file up to date. Another process may do the same at the same time.
pub(super) fn upgrade_file(connection: &mut Connection) -> Result<(), BoxError> {
    apply(connection, SQLITE)
}

/// Records what it did in the table that sqlx uses, as earlier versions did.
fn apply(connection: &mut Connection, scripts: &[Script]) -> Result<(), BoxError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
            version BIGINT PRIMARY KEY,
            description TEXT NOT NULL,
            installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
            success BOOLEAN NOT NULL,
            checksum BLOB NOT NULL,
            execution_time BIGINT NOT NULL
        )",
    )?;
    let newest = "SELECT MAX(version) FROM _sqlx_migrations";
    let newest: Option<i64> = connection.query_row(newest, [], |row| row.get(0))?;
    if newest > Some(NEWEST) {
        return Err(LATER.into());
    }
    scripts.iter().try_for_each(|script| script.apply(connection))
}

#[cfg(feature = "postgres")]
pub(super) async fn postgres() -> Result<Migrator, MigrateError> {
    Migrator::new(Embedded(POSTGRES)).await
}

#[cfg(feature = "postgres")]
#[derive(Debug)]
struct Embedded(&'static [Script]);

/// A file of `migrations/`, whose name is the version and the description.
#[derive(Debug)]
struct Script {
    version: i64,
    description: &'static str,
    sql: &'static str,
}

impl Script {
    fn apply(&self, connection: &mut Connection) -> Result<(), BoxError> {
        let checksum = Sha384::digest(self.sql);
        if self.is_applied(connection, &checksum)? {
            return Ok(());
        }
        let migration = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if self.is_applied(&migration, &checksum)? {
            return Ok(());
        }
        migration.execute_batch(self.sql)?;
        let record = "INSERT INTO _sqlx_migrations
            (version, description, success, checksum, execution_time) VALUES (?, ?, TRUE, ?, 0)";
        migration.execute(record, params![self.version, self.description, &checksum[..]])?;
        Ok(migration.commit()?)
    }

    fn is_applied(&self, connection: &Connection, checksum: &[u8]) -> Result<bool, BoxError> {
        let find = "SELECT checksum FROM _sqlx_migrations WHERE version = ?";
        let applied = connection
            .query_row(find, [self.version], |row| row.get::<_, Vec<u8>>(0))
            .optional()?;
        match applied {
            Some(applied) if applied != checksum => {
                Err(format!("its tables are not those of version {}", self.version).into())
            }
            applied => Ok(applied.is_some()),
        }
    }
}

#[cfg(feature = "postgres")]
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
    use imagekiln::{
        TaskRef, TaskStatus,
        journal::{Record, State},
    };

    use super::*;
    use crate::ledger::{admission::SPENDING, clocks::Clocks, database::Database};

    /// The digests of the migrations' texts, as ledgers record them. They refuse others.
    fn digests(scripts: &[Script]) -> Vec<String> {
        let digest = |script: &Script| Sha384::digest(script.sql);
        let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        scripts.iter().map(|script| hexadecimal(&digest(script))).collect()
    }

    #[test]
    fn migrations_of_existing_ledgers_do_not_change() {
        assert_eq!(
            digests(SQLITE),
            [
                "634b99c7ac893e711dc20f8f7c5258be7eef97d3fdfb780edf23fbf6e33d8098\
                 6933f667d0a478b08000828f53f745c9",
                "d3b843b4ece77a5b80ab6601556122f882f10952fb40d672ce1f0a15a18293a5\
                 53c0184bea2aa10eec68c1878dd3bd30",
                "cbecd344fc2df1fc4df260c0a5fab272d39ff917b986e85d4bfa235320865be1\
                 0fa7db9c7e701fcc9aaeef50da879edc",
                "cb1f99fdd707b7e76b9007cb9bc28843f6aa98194d923d5546565f32223a1785\
                 173ec1a0c116a6d0ca4b0b4af46317f0",
                "1d21bd0e4da1ec123f557bba2abbaaede40aff1b79d8aaddd2fdb3387771974f\
                 256a691ad64a4f766a8e08c086d4d01d",
                "2324c9c8a4dab16fc5e6ac23ecdc59014a0eb29188a1a3a42adfaf16d18bd7a4\
                 b507469abeaa2c897cd80edf891c2107",
                "bb0b56b2833a2635a70cc690b6c7c68abb1746cedee5b8428ee573b0631df164\
                 4da642b6c5607fa78eb8b43c8b13048a",
                "0cc749f8fa4b92e85e0c28c8304daf363f6a8b36e9b092321152552c95b0f6da\
                 65a9ba12946a762997f8eeefd1f60c02",
                "da7a4e7a09c26f45a07ed65ebce2320b0253874ecb9b257e29be74247fa00ba6\
                 7f3b434289ae3dae3ef3960eed6360ed",
            ]
        );
        #[cfg(feature = "postgres")]
        assert_eq!(
            digests(POSTGRES),
            [
                "ce1207e6698762535ce01c0c3d8403065f9c8bc4fca3002b99e75dcd21c4e6f8\
                 66fade502ff167f77f7a21eef69b31bd",
                "405b95bd96149b487e23ccd665385871ebb69a65108116fa6d3114c28e86330b\
                 1814cb484cf1a2e9c2f3d7bd6d76626b",
                "cbecd344fc2df1fc4df260c0a5fab272d39ff917b986e85d4bfa235320865be1\
                 0fa7db9c7e701fcc9aaeef50da879edc",
                "edcbd008de28ca41708c6773264a5d6e55d60cc7fe8c6401c4693d5d14eb7d28\
                 9a7cf1e50ea220ee2e74ca00615d9d4d",
                "91b8523ecdaab86dfd331cb900e904c985f7ee5bb9af459422f11a9e926d595f\
                 c261eab0992a29ee3496ecc7bee4ac99",
                "116475a78fc0f1eb640d4fc247f6545a81b349b4476688b01accbe29ce8a94c5\
                 adc3f3df4bbe0f9515adcbeee6c42d33",
                "83dabc676b3b5ec98654d808ef05c3489403a5c1d4784e008cfbf17298282bff\
                 0272608c5e836e5b681035607f675fdf",
                "7c781b67e9a8488f4a04d30a08c5f3b4159017f4084e666d4b069e4b860d4acc\
                 0b7197b581313b0a59a4dfe86060e8c4",
                "270f131d394b96b463e8b1146382653d4b364d704abbc420acad4b683ab4403b\
                 6f1526dde46840d686d08658b726c8f4",
            ]
        );
    }

    /// A job that a worker left at a time is left until later workers.
    #[test]
    fn ledgers_of_the_first_version_are_brought_up_to_date() {
        let mut connection = at_version(1);
        let rows = "INSERT INTO workers (id, name, started_at, lease_until) VALUES (7, '', 0, 0);
            INSERT INTO jobs (name, number, target, operation, request, state, left_at, added_at,
                changed_at) VALUES ('left', 1, 'a', '', '', 'queued', 5, 0, 0),
                ('free', 2, 'b', '', '', 'queued', NULL, 0, 0)";
        connection.execute_batch(rows).unwrap();
        upgrade_file(&mut connection).unwrap();
        let left = |name: &str| -> Option<i64> {
            let left = "SELECT left_after FROM jobs WHERE name = ?";
            connection.query_row(left, [name], |row| row.get(0)).unwrap()
        };
        assert_eq!((left("left"), left("free")), (Some(7), None));
    }

    /// Returns a file whose tables are those of an earlier version.
    fn at_version(version: usize) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, &SQLITE[..version]).unwrap();
        connection
    }

    #[test]
    fn a_file_with_other_tables_is_refused_and_stays_as_it_is() {
        let mut connection = at_version(2);
        let other = "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 2";
        connection.execute_batch(other).unwrap();
        let refused = upgrade_file(&mut connection).unwrap_err();
        assert_eq!(refused.to_string(), "its tables are not those of version 2");
        let applied = "SELECT COUNT(*) FROM _sqlx_migrations";
        let applied: i64 = connection.query_row(applied, [], |row| row.get(0)).unwrap();
        assert_eq!(applied, 2);
    }

    /// Rows of the fourth version. The first one wrote the same without records.
    const ROWS: &str = r#"
        INSERT INTO workers (name, started_at, lease_until, ended_at) VALUES ('old', 0, 0, 0);
        INSERT INTO jobs (name, number, target, operation, request, state, added_at, changed_at)
        WITH old (name, number) AS (VALUES ('submitting', 1), ('unknown', 2), ('submitted', 3),
            ('ready', 4), ('saved', 5), ('failed', 6), ('lost', 7), ('retried', 8))
        SELECT name, number, name, 'gen-2-pro', '', 'queued', 0, 0 FROM old;
        INSERT INTO submissions (intent_id, intent, operation, job, state, task_id, task, cost,
            sent_at, accepted_at, record)
        WITH old (id, job, state, cost, record) AS (VALUES
            ('s1', 1, 'open', 0, ''),
            ('s2', 2, 'open', 0, ''),
            ('s3', 3, 'accepted', 3, ''),
            ('s4', 4, 'accepted', 2.5, '"ready","task":{"id":"ts4","polling_url":""},"ready_at":7'),
            ('s5', 5, 'accepted', 1, ''),
            ('s6', 6, 'settled', 1, '{"failed":"Error"},"task":{"id":"ts6","polling_url":""}'),
            ('s7', 7, 'lost', 0, ''),
            ('s8', 8, 'accepted', 1, ''),
            ('s9', 8, 'withdrawn', 0, ''),
            ('t1', NULL, 'open', 0, ''),
            ('t2', NULL, 'accepted', 1, ''),
            ('t3', NULL, 'settled', 1,
                '{"saved":{"path":"a","bytes":7}},"task":{"id":"tt3","polling_url":""}'),
            ('t4', NULL, 'withdrawn', 0, '"settled"'),
            ('t5', NULL, 'settled', 1, '"ready","task":{"id":"tt5","polling_url":""}'))
        SELECT id, '{"id":"' || id || '","operation":"gen-2-pro","at":7}', 'gen-2-pro', job, state,
            CASE WHEN cost > 0 THEN 't' || id END,
            CASE WHEN cost > 0 THEN '{"id":"t' || id || '","polling_url":""}' END,
            NULLIF(cost, 0), 0, CASE WHEN cost > 0 THEN 9 END,
            CASE WHEN record <> '' THEN '{"intent":{"id":"' || id
                || '","operation":"gen-2-pro","at":7},"state":' || record || '}' END
        FROM old;
        UPDATE jobs SET submission = number, worker = 1, location = name,
            state = CASE WHEN name = 'lost' THEN 'failed' ELSE name END WHERE number <= 7;
    "#;

    async fn check_new_version(database: &mut Database) {
        let find = "SELECT s.intent_id, s.state, s.record, s.cost FROM submissions s ORDER BY s.id";
        let rows = database.rows::<(String, String, String, Option<f64>)>(find, []).await.unwrap();
        let mut lives = Vec::new();
        for (id, state, record, cost) in &rows {
            let record: Record = serde_json::from_str(record).unwrap();
            assert_eq!(record.intent().id(), id);
            let task = record.task();
            assert_eq!(task.and_then(TaskRef::cost), *cost, "{id}");
            assert!(task.is_none_or(|task| task.id() == format!("t{id}")), "{id}");
            let is_ready = record.ready_at().is_some();
            assert_eq!(is_ready, id == "s4", "{id}");
            lives.push((&**id, &**state, record.state().clone()));
        }
        let saved = State::Saved { path: "a".into(), bytes: 7, sha256: None };
        let expected = [
            ("s1", "open", State::Unknown),
            ("s2", "open", State::Unknown),
            ("s3", "accepted", State::Accepted),
            ("s4", "accepted", State::Ready),
            ("s5", "settled", State::Settled),
            ("s6", "settled", State::Failed(TaskStatus::Error)),
            ("s7", "settled", State::Settled),
            ("s8", "settled", State::Settled),
            ("s9", "withdrawn", State::NotBilled),
            ("t1", "open", State::Unknown),
            ("t2", "accepted", State::Accepted),
            ("t3", "settled", saved),
            ("t4", "withdrawn", State::Settled),
            ("t5", "settled", State::Settled),
        ];
        assert_eq!(lives, expected);
        // The rows still refer to each other.
        let joined = "SELECT COUNT(*) FROM jobs j JOIN submissions s ON s.job = j.id
            AND s.id = j.submission";
        assert_eq!(database.value::<i64>(joined, []).await.unwrap(), 7);
        database.execute("DELETE FROM submissions WHERE intent_id = 's1'", []).await.unwrap_err();
        check_spending(database).await;
    }

    /// The table is what the submissions add up to, after the migration and after each change.
    async fn check_spending(database: &mut Database) {
        type Rows = Vec<(String, Option<f64>, f64, i64, i64)>;
        const COUNTED: &str = "SELECT operation, MAX(cost),
                COALESCE(SUM(cost) FILTER (WHERE state <> 'withdrawn'), 0.0),
                COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
                COUNT(*) FILTER (WHERE state = 'open')
            FROM submissions WHERE $1 = '' OR group_name = $1
            GROUP BY operation ORDER BY operation";
        for change in [
            "UPDATE submissions SET state = 'accepted', cost = 4 WHERE intent_id = 's1'",
            "UPDATE submissions SET state = 'withdrawn' WHERE intent_id = 's2'",
            "UPDATE submissions SET state = 'open' WHERE intent_id IN ('s2', 's9')",
            "UPDATE submissions SET state = 'settled', cost = 1.5 WHERE intent_id = 's2'",
            "UPDATE submissions SET cost = cost + 1 WHERE cost IS NOT NULL",
            "INSERT INTO submissions
                (intent_id, operation, record, state, cost, sent_at, group_name)
             VALUES ('n1', 'new', '', 'open', NULL, 0, NULL),
                ('n2', 'new', '', 'settled', 7, 0, NULL),
                ('n3', 'new', '', 'withdrawn', NULL, 0, NULL),
                ('n4', 'new', '', 'open', NULL, 0, 'anna'),
                ('n5', 'gen-2-pro', '', 'open', NULL, 0, 'anna')",
            "UPDATE submissions SET state = 'accepted', cost = 3 WHERE intent_id = 'n4'",
            "UPDATE submissions SET state = 'settled', cost = 5 WHERE group_name = 'anna'",
            "UPDATE submissions SET record = 'new'",
        ] {
            database.execute(change, []).await.unwrap();
            for group in ["", "anna"] {
                let counted: Rows = database.rows(COUNTED, [group.into()]).await.unwrap();
                let kept: Rows = database.rows(SPENDING, [group.into()]).await.unwrap();
                assert_eq!(kept, counted, "{change} {group}");
            }
        }
    }

    #[tokio::test]
    async fn submissions_of_earlier_versions_become_records() {
        let mut connection = at_version(4);
        connection.execute_batch("PRAGMA foreign_keys = ON").unwrap();
        connection.execute_batch(ROWS).unwrap();
        upgrade_file(&mut connection).unwrap();
        check_new_version(&mut Database::Sqlite(connection, Clocks::default())).await;
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn submissions_of_earlier_versions_become_records_in_postgres() {
        use imagekiln_testbed::postgres::{POSTGRES as SERVER, cluster};
        use sqlx_core::{connection::Connection as _, raw_sql::raw_sql};
        if !(SERVER.is_present)() && std::env::var_os(SERVER.variable).is_none() {
            return;
        }
        let url = cluster().create_database();
        let mut connection = sqlx_postgres::PgConnection::connect(&url).await.unwrap();
        let schema = "CREATE SCHEMA imagekiln; SET search_path TO imagekiln";
        raw_sql(schema).execute(&mut connection).await.unwrap();
        let fourth = Migrator::new(Embedded(&POSTGRES[..4])).await.unwrap();
        fourth.run(&mut connection).await.unwrap();
        raw_sql(ROWS).execute(&mut connection).await.unwrap();
        postgres().await.unwrap().run(&mut connection).await.unwrap();
        check_new_version(&mut Database::Postgres(connection, 0)).await;
    }
}
