//! Runs transactions. Pieces of work that wait at the same time share one transaction, because the
//! commit takes longer than all statements before it. If the connection to the database breaks, the
//! transaction runs again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use imagekiln::Backoff;
use tokio::{
    runtime::Handle,
    sync::{
        self,
        oneshot::{self, error::TryRecvError},
    },
    task,
};

use super::{
    Ledger,
    database::{Database, FromRow, Value},
};
use crate::{Error, ErrorKind, error::DatabaseFailure, lock};

/// How long the ledger repeats a transaction while the database does not respond, for example
/// because it restarts.
const OUTAGE: Duration = Duration::from_secs(60);

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The maximum number of pieces of work in one transaction. Other processes wait while the
/// transaction holds its locks.
const MOST: usize = 32;

/// A connection to the database. Statements block the calling thread, so they run on tokio's
/// threads for blocking work.
#[derive(Default)]
pub(super) struct Connection {
    /// `None` until a transaction needs the connection, and after it broke.
    database: Option<Database>,
    is_closed: bool,
}

impl Connection {
    pub(super) fn database(&mut self) -> Result<&mut Option<Database>, Error> {
        if self.is_closed {
            return Err(Error::new(ErrorKind::Ledger, "the ledger is closed"));
        }
        Ok(&mut self.database)
    }

    /// Closes the connection. Transactions that still wait for it fail.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.database = None;
    }
}

/// A connection, and the work that waits for a transaction on it.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) connection: Arc<sync::Mutex<Connection>>,
    queue: Mutex<VecDeque<Box<dyn Work>>>,
}

impl Lane {
    pub(super) fn of(database: Database) -> Self {
        let connection = Connection { database: Some(database), is_closed: false };
        Self { connection: Arc::new(sync::Mutex::new(connection)), queue: Mutex::default() }
    }

    /// Takes the next pieces of work from the queue, at most `most`. Work whose caller no longer
    /// waits is dropped.
    fn take(&self, most: usize) -> Vec<Box<dyn Work>> {
        let mut queue = lock(&self.queue);
        queue.retain(|work| work.is_wanted());
        let most = most.min(queue.len());
        queue.drain(..most).collect()
    }
}

impl Ledger {
    /// Runs `work` in a transaction. If the future is dropped, work that has started still
    /// completes, and work that is still in the queue never runs.
    ///
    /// `work` runs again if another piece of work in the same transaction fails, or if the
    /// connection breaks. The connection can break after the server has committed, so `work` must
    /// be repeatable: a second run must return what the first run returned.
    ///
    /// `work` runs on a blocking thread. Otherwise, tokio's paused clock would advance in tests
    /// while the database writes.
    pub(super) async fn transaction<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Database) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.run(work, false).await
    }

    /// Like [`transaction`](Self::transaction), but only one exclusive transaction runs at a time,
    /// among all workers of the ledger. Transactions that decide about limits and claims are
    /// exclusive: otherwise, two workers could spend the same credits of a budget.
    pub(super) async fn exclusive<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Database) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        // In a file, every transaction is exclusive, because SQLite has one writer at a time.
        self.run(work, self.0.source.is_shared()).await
    }

    /// Runs a statement in a transaction, and returns the number of rows that it changed.
    pub(super) async fn execute(
        &self,
        sql: impl Into<String>,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, Error> {
        let (sql, values): (_, Vec<_>) = (sql.into(), values.into_iter().collect());
        self.transaction(move |database| database.execute(&sql, values.clone())).await
    }

    /// Runs a statement in a transaction, and returns its rows.
    pub(super) async fn rows<T: FromRow + Send + 'static>(
        &self,
        sql: impl Into<String>,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<T>, Error> {
        let (sql, values): (_, Vec<_>) = (sql.into(), values.into_iter().collect());
        self.transaction(move |database| database.rows(&sql, values.clone())).await
    }

    fn lane(&self, is_exclusive: bool) -> &Lane {
        if is_exclusive { &self.0.exclusive } else { &self.0.shared }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Database) -> Result<T, Error> + Send + 'static,
        is_exclusive: bool,
    ) -> Result<T, Error> {
        let (caller, mut outcome) = oneshot::channel();
        let lane = self.lane(is_exclusive);
        lock(&lane.queue).push_back(Box::new(Waiting { work, done: None, caller }));
        loop {
            let mut connection = tokio::select! {
                biased;
                done = &mut outcome => return done.unwrap_or_else(|_| Err(shut_down())),
                connection = Arc::clone(&lane.connection).lock_owned() => connection,
            };
            match outcome.try_recv() {
                Ok(done) => return done,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Closed) => return Err(shut_down()),
            }
            let (program, ledger) = (Handle::current(), self.clone());
            let run = move || {
                let ran = connection.database().map(|database| {
                    ledger.run_group(database, is_exclusive, &program);
                });
                drop(connection);
                // This clone keeps the file locked until the transaction has ended.
                drop(ledger);
                ran
            };
            task::spawn_blocking(run).await.map_err(|error| shut_down().with_source(error))??;
        }
    }

    fn run_group(&self, database: &mut Option<Database>, is_exclusive: bool, program: &Handle) {
        let mut group = self.lane(is_exclusive).take(MOST);
        let mut attempts = Attempts { program, is_exclusive, failed_at: None };
        let done = self.repeat(database, &mut group, &mut attempts, true);
        match (done, group.len()) {
            (Ok(()), _) => group.into_iter().for_each(|work| work.report(Ok(()))),
            (error, 1) => group.remove(0).report(error),
            // One piece of work failed, and must not fail the others: each runs in a transaction of
            // its own.
            _ => {
                for work in group {
                    let mut alone = vec![work];
                    let done = self.repeat(database, &mut alone, &mut attempts, false);
                    alone.remove(0).report(done);
                }
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the pauses are real even if a test's are not")]
    fn repeat(
        &self,
        database: &mut Option<Database>,
        group: &mut Vec<Box<dyn Work>>,
        attempts: &mut Attempts<'_>,
        grows: bool,
    ) -> Result<(), Error> {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let error = match self.attempt(database, group, attempts.is_exclusive, grows) {
                Ok(()) => return Ok(()),
                Err(error) if database.is_some() && !is_disconnection(&error) => return Err(error),
                Err(error) => error,
            };
            *database = None;
            // If the program's runtime is shutting down, spawning fails, and nobody waits for the
            // database.
            let is_ending = attempts.program.block_on(attempts.program.spawn(async {})).is_err();
            let pause = backoff.pause();
            let failed_at = *attempts.failed_at.get_or_insert_with(Instant::now);
            if is_ending || failed_at.elapsed() + pause > OUTAGE {
                return Err(error);
            }
            tracing::warn!(error = error.chain(), "the ledger is not available; trying again");
            // A real pause on this blocking thread: the paused clock of a test would not advance.
            thread::sleep(pause);
        }
    }

    fn attempt(
        &self,
        database: &mut Option<Database>,
        group: &mut Vec<Box<dyn Work>>,
        is_exclusive: bool,
        grows: bool,
    ) -> Result<(), Error> {
        let database = match database {
            Some(database) => database,
            None => {
                let connected = self.0.source.connect(&self.0.clocks).map_err(|error| {
                    let message = format!("could not connect to the ledger {}", self.name());
                    Error::new(ErrorKind::Ledger, message).with_source(error)
                })?;
                database.insert(connected)
            }
        };
        let mut done = database.begin(is_exclusive);
        if grows && done.is_ok() {
            // More work may have arrived while other processes held the lock.
            group.extend(self.lane(is_exclusive).take(MOST.saturating_sub(group.len())));
        }
        for work in group {
            if done.is_ok() {
                done = work.run(database);
            }
        }
        if done.as_ref().is_err_and(is_disconnection) {
            // The caller closes the broken connection, which ends the transaction. A ROLLBACK would
            // wait for a server that does not respond.
            return done;
        }
        // If the disk is full, SQLite has already rolled back, and the ROLLBACK fails. The error
        // that is returned is the first one.
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = database.execute(end, []);
        done?;
        ended?;
        Ok(())
    }
}

/// The attempts to run a group.
struct Attempts<'a> {
    /// The runtime of the program.
    program: &'a Handle,
    is_exclusive: bool,
    /// When the database first failed.
    failed_at: Option<Instant>,
}

/// Work of any type that waits for a transaction.
trait Work: Send {
    /// Whether its caller still waits.
    fn is_wanted(&self) -> bool;

    /// Runs the work, and keeps what it returns.
    fn run(&mut self, database: &mut Database) -> Result<(), Error>;

    /// Tells the caller what the work returned, or why the transaction failed.
    fn report(self: Box<Self>, transaction: Result<(), Error>);
}

struct Waiting<T, W> {
    work: W,
    done: Option<T>,
    caller: oneshot::Sender<Result<T, Error>>,
}

impl<T, W> Work for Waiting<T, W>
where
    T: Send,
    W: Fn(&mut Database) -> Result<T, Error> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.caller.is_closed()
    }

    fn run(&mut self, database: &mut Database) -> Result<(), Error> {
        self.done = Some((self.work)(database)?);
        Ok(())
    }

    fn report(self: Box<Self>, transaction: Result<(), Error>) {
        let Self { done, caller, .. } = *self;
        let done = transaction.and_then(|()| done.ok_or_else(shut_down));
        // The caller may have left.
        let _ = caller.send(done);
    }
}

fn shut_down() -> Error {
    Error::new(ErrorKind::Ledger, "the runtime shut down before the ledger was written")
}

fn is_disconnection(error: &Error) -> bool {
    DatabaseFailure::of(error) == Some(DatabaseFailure::Disconnected)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Adds a row, and counts how often it ran.
    async fn add(ledger: Ledger, runs: Arc<AtomicU32>) -> Result<i64, Error> {
        let insert = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)
            RETURNING id";
        ledger
            .transaction(move |database| {
                runs.fetch_add(1, Ordering::Relaxed);
                database.value(insert, [])
            })
            .await
    }

    async fn fail(ledger: Ledger) -> Result<i64, Error> {
        ledger.transaction(|_| Err(Error::new(ErrorKind::State, "not now"))).await
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn a_server_that_does_not_respond_is_connected_to_again() {
        use imagekiln_testbed::postgres::{POSTGRES, cluster};
        if !(POSTGRES.is_present)() && std::env::var_os(POSTGRES.variable).is_none() {
            return;
        }
        let ledger = Ledger::open(&cluster().create_database()).await.unwrap();
        let mut connection = Arc::clone(&ledger.0.shared.connection).lock_owned().await;
        match connection.database().unwrap() {
            Some(Database::Postgres(server, _)) => server.longest = Duration::from_millis(50),
            _ => panic!("the ledger is not connected"),
        }
        drop(connection);
        let runs = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&runs);
        let work = move |database: &mut Database| match counted.fetch_add(1, Ordering::Relaxed) {
            0 => database.execute("SELECT pg_sleep(600)", []),
            _ => Ok(7),
        };
        assert_eq!(ledger.transaction(work).await.unwrap(), 7);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn work_that_waits_shares_a_transaction_and_fails_alone() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let turn = Arc::clone(&ledger.0.shared.connection).lock_owned().await;
        let runs = Arc::<AtomicU32>::default();
        let first = add(ledger.clone(), Arc::clone(&runs));
        let failing = fail(ledger.clone());
        let mut left = Box::pin(add(ledger.clone(), Arc::clone(&runs)));
        let last = add(ledger.clone(), Arc::clone(&runs));
        let release = async {
            tokio::select! {
                biased;
                _ = &mut left => panic!("it did not wait"),
                () = std::future::ready(()) => {}
            }
            // Its caller leaves while it waits, so it never runs.
            drop(left);
            drop(turn);
        };
        let (first, failing, last, ()) = tokio::join!(first, failing, last, release);
        assert_eq!(failing.unwrap_err().kind(), ErrorKind::State);
        assert_eq!((first.unwrap(), last.unwrap()), (1, 2));
        // The first one ran before the failure, and again after it.
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    }
}
