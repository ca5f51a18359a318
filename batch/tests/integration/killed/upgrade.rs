//! An upgrade of the ledger while a worker of an earlier version writes to it.
//!
//! No program of an earlier version is at hand. The test takes back the last migrations, which
//! leaves the tables and the data that such a version would have, and runs the statements with
//! which it wrote submissions.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use imagekiln_batch::Ledger;
use imagekiln_testbed::postgres::cluster;
use sqlx_core::{
    Error, connection::Connection as _, executor::Executor as _, query::query,
    query_scalar::query_scalar, raw_sql::raw_sql,
};
use sqlx_postgres::PgConnection;
use tokio::{task::JoinSet, time::sleep};

use crate::support::open;

/// Takes back the migrations after the fifth, from the last one.
const REVERSALS: [(i64, &str); 4] = [
    (
        9,
        "DROP TABLE outages, prices;
         ALTER TABLE limits DROP COLUMN rate, DROP COLUMN next_at;
         ALTER TABLE submissions DROP COLUMN worker, DROP COLUMN key_name;
         DROP INDEX jobs_to_claim, jobs_of_workers;
         CREATE INDEX jobs_to_claim ON jobs (worker, state, priority DESC, id);
         CREATE INDEX jobs_by_claim ON jobs (worker, claim)",
    ),
    (
        8,
        "DROP TABLE archived_jobs, limits;
         DROP SEQUENCE job_numbers;
         DROP INDEX submissions_by_job, jobs_by_change;
         ALTER TABLE submissions DROP COLUMN group_name;
         ALTER TABLE jobs DROP COLUMN group_name, DROP COLUMN metadata, DROP COLUMN priority,
            DROP CONSTRAINT jobs_state_check, DROP CONSTRAINT jobs_check,
            DROP CONSTRAINT jobs_check1,
            ADD CHECK (state IN ('queued', 'submitting', 'submitted', 'ready', 'saved',
                'failed', 'moderated', 'expired', 'unknown')),
            ADD CHECK (state IN ('queued', 'failed') OR submission IS NOT NULL),
            ADD CHECK (state <> 'queued' OR submission IS NULL);
         CREATE INDEX jobs_to_claim ON jobs (worker, state, id)",
    ),
    (7, "DROP TABLE staged_jobs"),
    (
        6,
        "DROP TRIGGER spending_of_new ON submissions;
         DROP TRIGGER spending_of_changed ON submissions;
         DROP FUNCTION count_spending;
         DROP TABLE spending;
         CREATE INDEX submissions_by_operation ON submissions (operation, state, cost)",
    ),
];

/// Counts the operations for which the triggers did not count what the submissions add up to.
pub const MISCOUNTED: &str = "WITH counted AS (
        SELECT operation, MAX(cost),
            COALESCE(SUM(cost) FILTER (WHERE state <> 'withdrawn'), 0),
            COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
            COUNT(*) FILTER (WHERE state = 'open')
        FROM imagekiln.submissions GROUP BY operation),
    kept AS (
        SELECT operation, MAX(price), SUM(credits), SUM(without_cost)::BIGINT, SUM(open)::BIGINT
        FROM imagekiln.spending WHERE group_name = '' GROUP BY operation)
    SELECT COUNT(*) FROM
        ((TABLE counted EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE counted)) different";

/// The number of connections of the earlier version.
const CONNECTIONS: usize = 3;

/// Brings the ledger to the schema of the earlier version, and returns the version that it had. Its
/// workers must have ended.
pub async fn downgrade(url: &str) -> i64 {
    let mut database = connect(url).await;
    let mut transaction = database.begin().await.unwrap();
    // The server may still run the last transactions of killed workers.
    let lock = "LOCK TABLE submissions IN ACCESS EXCLUSIVE MODE";
    transaction.execute(lock).await.unwrap();
    for (version, sql) in REVERSALS {
        let newest = newest_migration(&mut transaction).await;
        assert_eq!(newest, version, "add the reversal of each new migration");
        raw_sql(sql).execute(&mut *transaction).await.unwrap();
        query("DELETE FROM _sqlx_migrations WHERE version = $1")
            .bind(version)
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    transaction.commit().await.unwrap();
    REVERSALS[0].0
}

/// Waits until a worker has brought the ledger to this version.
pub async fn until_upgraded(url: &str, version: i64) {
    let mut database = connect(url).await;
    while newest_migration(&mut database).await < version {
        sleep(Duration::from_millis(5)).await;
    }
}

async fn newest_migration(database: &mut PgConnection) -> i64 {
    let newest = "SELECT MAX(version) FROM _sqlx_migrations";
    query_scalar(newest).fetch_one(database).await.unwrap()
}

/// Writes submissions as a worker of the earlier version does for a part of the program without
/// jobs.
pub struct EarlierWriter {
    written: Arc<AtomicU64>,
    is_stopped: Arc<AtomicBool>,
    connections: JoinSet<()>,
}

impl EarlierWriter {
    /// Starts to write.
    pub async fn start(url: &str) -> Self {
        let (written, is_stopped) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let mut connections = JoinSet::new();
        for connection in 0..CONNECTIONS {
            let mut database = connect(url).await;
            let (written, is_stopped) = (Arc::clone(&written), Arc::clone(&is_stopped));
            connections.spawn(async move {
                for number in 0.. {
                    if is_stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    write(&mut database, &format!("earlier-{connection}-{number}")).await;
                    written.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(1)).await;
                }
            });
        }
        Self { written, is_stopped, connections }
    }

    /// Waits until it has written some more submissions. Returns the number of all of them.
    pub async fn progress(&mut self) -> u64 {
        let before = self.written.load(Ordering::Relaxed);
        loop {
            if let Some(ended) = self.connections.try_join_next() {
                ended.unwrap();
            }
            let written = self.written.load(Ordering::Relaxed);
            if written >= before + 2 * CONNECTIONS as u64 {
                return written;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    pub async fn stop(mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        while let Some(ended) = self.connections.join_next().await {
            ended.unwrap();
        }
    }
}

/// Writes a submission in three transactions: it is about to be sent, accepted, and settled.
async fn write(database: &mut PgConnection, id: &str) {
    let record = |state: &str, task: &str| {
        let intent = format!(r#"{{"id":"{id}","operation":"gen-2-pro","at":7}}"#);
        format!(r#"{{"intent":{intent},"state":"{state}"{task}}}"#)
    };
    let task = format!(r#","task":{{"id":"task-{id}","polling_url":"","cost":3.0}}"#);
    insert(database, id, &record("unknown", "")).await;
    for state in ["accepted", "settled"] {
        while !advance(database, id, &record(state, &task), state).await {}
    }
}

async fn insert(database: &mut PgConnection, id: &str, record: &str) {
    const INSERT: &str = "INSERT INTO submissions
        (intent_id, operation, job, token, record, state, sent_at)
        VALUES ($1, 'gen-2-pro', NULL, NULL, $2, 'open', 0) RETURNING id";
    query(INSERT).bind(id).bind(record).execute(database).await.unwrap();
}

/// Returns `false` if PostgreSQL ended the transaction in favor of a migration. The earlier version
/// also runs it again.
async fn advance(database: &mut PgConnection, id: &str, record: &str, state: &str) -> bool {
    const FIND: &str = "SELECT s.id, s.job, s.hold_until, s.record FROM submissions s
        LEFT JOIN jobs j ON j.id = s.job WHERE s.intent_id = $1 FOR UPDATE OF s";
    const WRITE: &str = "UPDATE submissions SET record = $1, state = $2, task_id = $3, cost = $4,
        accepted_at = COALESCE(accepted_at, $5) WHERE id = $6";
    let run = async {
        let mut transaction = database.begin().await?;
        let row: i64 = query_scalar(FIND).bind(id).fetch_one(&mut *transaction).await?;
        query(WRITE)
            .bind(record)
            .bind(state)
            .bind(format!("task-{id}"))
            .bind(3.0)
            .bind(0_i64)
            .bind(row)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    };
    match run.await {
        Ok(()) => true,
        Err(Error::Database(error)) if error.code().as_deref() == Some("40P01") => false,
        Err(error) => panic!("{error}"),
    }
}

async fn connect(url: &str) -> PgConnection {
    let mut database = PgConnection::connect(url).await.unwrap();
    database.execute("SET search_path TO imagekiln").await.unwrap();
    database
}

/// What [`downgrade`] leaves is what the earlier version created.
pub async fn a_downgraded_ledger_has_the_schema_of_the_earlier_version() {
    let [earlier, downgraded] = [(); 2].map(|()| cluster().create_database());
    let mut database = PgConnection::connect(&earlier).await.unwrap();
    let create = "CREATE SCHEMA imagekiln; SET search_path TO imagekiln";
    raw_sql(create).execute(&mut database).await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort_unstable();
    for file in &files[..files.len() - REVERSALS.len()] {
        let sql = fs::read_to_string(file).unwrap();
        raw_sql(&sql).execute(&mut database).await.unwrap();
    }
    drop(open(&downgraded).await);
    downgrade(&downgraded).await;
    assert_eq!(schema(&downgraded).await, schema(&earlier).await);
}

/// Returns the columns, constraints, indices, triggers and functions of a ledger.
async fn schema(url: &str) -> Vec<String> {
    const LINES: &str = "SELECT line FROM (
            SELECT CONCAT_WS(' ', table_name, column_name, data_type, is_nullable, column_default)
            FROM information_schema.columns WHERE table_schema = 'imagekiln'
            UNION ALL SELECT conrelid::REGCLASS || ' ' || PG_GET_CONSTRAINTDEF(oid)
            FROM pg_constraint WHERE connamespace = 'imagekiln'::REGNAMESPACE
            UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'imagekiln'
            UNION ALL SELECT PG_GET_TRIGGERDEF(oid) FROM pg_trigger WHERE NOT tgisinternal
            UNION ALL SELECT proname::TEXT
            FROM pg_proc WHERE pronamespace = 'imagekiln'::REGNAMESPACE) AS lines (line)
        WHERE line NOT LIKE '%_sqlx_migrations%' ORDER BY line";
    let mut database = connect(url).await;
    query_scalar(LINES).fetch_all(&mut database).await.unwrap()
}

/// A worker of an earlier version waits for a lock of a migration, which then needs one of the
/// worker. PostgreSQL ends the migration.
pub async fn an_upgrade_runs_again_after_a_deadlock() {
    let url = cluster().create_database();
    drop(open(&url).await);
    let version = downgrade(&url).await;
    let (mut worker, mut other) = (connect(&url).await, connect(&url).await);
    insert(&mut worker, "1", "{}").await;
    worker.execute("BEGIN; SELECT 1 FROM submissions FOR UPDATE").await.unwrap();
    // The migration cannot create its function until this transaction ends.
    let function = "BEGIN; CREATE FUNCTION count_spending() RETURNS INTEGER RETURN 1";
    other.execute(function).await.unwrap();
    let write = async {
        until_waiting(&url, 1).await;
        let write = worker.execute("UPDATE submissions SET state = 'withdrawn'; COMMIT");
        let release = async {
            until_waiting(&url, 2).await;
            other.execute("ROLLBACK").await
        };
        tokio::try_join!(write, release).unwrap();
    };
    let (upgraded, ()) = tokio::join!(Ledger::connect(&url), write);
    upgraded.unwrap();
    assert_eq!(newest_migration(&mut other).await, version);
}

/// Waits until this number of connections wait for locks.
async fn until_waiting(url: &str, connections: i64) {
    let mut database = connect(url).await;
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity
        WHERE datname = CURRENT_DATABASE() AND wait_event_type = 'Lock'";
    while query_scalar::<_, i64>(waiting).fetch_one(&mut database).await.unwrap() < connections {
        sleep(Duration::from_millis(5)).await;
    }
}
