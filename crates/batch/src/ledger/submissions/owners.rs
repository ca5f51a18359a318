//! The processes that use a ledger as the journal of a client. None of them resumes the submissions
//! of another one that still runs: a submission in flight would look like one whose response was
//! lost.

use std::{thread, time::Duration};

use imagekiln::journal::Record;
use tokio::task::spawn_blocking;

use crate::{
    Error,
    ledger::{Ledger, database::Database, records::SubmissionRow},
    state::UNFINISHED,
};

/// Takes a lock that ends with the connection to PostgreSQL. Does not wait: until the server
/// notices that an old connection of this process is broken, the old connection has the lock.
const LOCK: &str = "SELECT pg_try_advisory_lock($1)";

/// Whether the process that owns the submission `s` still has its lock.
const IS_LOCKED: &str = "EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory'
    AND l.objsubid = 1 AND (l.classid::BIGINT << 32 | l.objid::BIGINT) = s.owner
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))";

/// How often, and how long between, the locks are read again. The server notices only after a
/// moment that a process has ended.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Shows other processes that this one runs, as long as its connection lasts. If the connection
/// breaks, this process looks as if it had ended until its next submission. A file needs no such
/// lock, because a process that runs batches locks the whole file.
pub(super) fn show_running(database: &mut Database, owner: i64) -> Result<(), Error> {
    match database.either(None, Some(LOCK)) {
        Some(lock) => database.execute(lock, [owner.into()]).map(drop),
        None => Ok(()),
    }
}

impl Ledger {
    /// Returns the open records of submissions without a job, except those of other processes that
    /// still run.
    pub(super) async fn unowned_records(&self) -> Result<Vec<Record>, Error> {
        for _ in 1..ATTEMPTS {
            if let (records, false) = self.records_and_owners().await? {
                return Ok(records);
            }
            // If the runtime shuts down, the next transaction fails.
            let _ = spawn_blocking(|| thread::sleep(PAUSE)).await;
        }
        Ok(self.records_and_owners().await?.0)
    }

    /// Returns the same records, and whether other processes own some more.
    async fn records_and_owners(&self) -> Result<(Vec<Record>, bool), Error> {
        let owner = self.0.owner;
        // If another process has locked the file, it resumes what nobody else owns.
        let of_file = if self.0.source.is_of_other() { "1 = 1" } else { "1 = 0" };
        let find = move |database: &mut Database| {
            let open = format!("s.{UNFINISHED} AND s.job IS NULL");
            let runs = database.either(of_file, IS_LOCKED);
            let others = format!("(s.owner <> $1 AND {runs})");
            let free = format!("{open} AND {others} IS NOT TRUE ORDER BY s.id");
            let free = SubmissionRow::find(database, &free, [owner.into()])?;
            let owned = format!("SELECT 1 FROM submissions s WHERE {open} AND {others} LIMIT 1");
            let is_owned = database.finds(&owned, [owner.into()])?;
            Ok((free.into_iter().map(|row| row.record).collect(), is_owned))
        };
        self.transaction(find).await
    }
}
