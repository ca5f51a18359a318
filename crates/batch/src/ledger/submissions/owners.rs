//! The processes that use a ledger in PostgreSQL as the journal of a client. None of them resumes
//! the submissions of another one that still runs: a submission in flight would look like one whose
//! response was lost. In a file, only one process can resume submissions.

use std::time::Duration;

use imagekiln::journal::Record;

use crate::{
    Error,
    ledger::{Ledger, database::Database, records::SubmissionRow},
};

/// The lock ends with the connection. A process that has lost its connection, and has submitted
/// nothing since, looks as if it had ended. Does not wait: until the server notices that the old
/// connection of this process is broken, that connection holds the lock.
const LOCK: &str = "SELECT pg_try_advisory_lock($1)";

const IS_LOCKED: &str = "EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory'
    AND l.objsubid = 1 AND (l.classid::BIGINT << 32 | l.objid::BIGINT) = s.owner
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))";

/// How often, and how long between, the locks are read again. The server notices only after a
/// moment that a process has ended.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Records which process waits for a submission without a job.
pub(super) fn own(database: &mut Database, submission: i64, owner: i64) -> Result<(), Error> {
    let own = "UPDATE submissions SET owner = $1 WHERE id = $2";
    let Some(own) = database.either(None, Some(own)) else { return Ok(()) };
    database.execute(LOCK, [owner.into()])?;
    database.execute(own, [owner.into(), submission.into()]).map(drop)
}

impl Ledger {
    /// Returns the open records of submissions without a job, except those of other processes that
    /// still run.
    pub(super) async fn unowned_records(&self) -> Result<Vec<Record>, Error> {
        for _ in 1..ATTEMPTS {
            if let (records, false) = self.records_and_owners().await? {
                return Ok(records);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(self.records_and_owners().await?.0)
    }

    /// Returns the same records, and whether other processes own some more.
    async fn records_and_owners(&self) -> Result<(Vec<Record>, bool), Error> {
        const OPEN: &str = "s.state IN ('open', 'accepted') AND s.job IS NULL";
        let owner = self.0.owner;
        let find = move |database: &mut Database| {
            let locked = format!("(s.owner <> $1 AND {IS_LOCKED})");
            let others = database.either("(1 = 0)", &locked);
            let free = format!("{OPEN} AND {others} IS NOT TRUE ORDER BY s.id");
            let free = SubmissionRow::find(database, &free, [owner.into()])?;
            let owned = format!("SELECT 1 FROM submissions s WHERE {OPEN} AND {others} LIMIT 1");
            let is_owned = database.finds(&owned, [owner.into()])?;
            Ok((free.into_iter().map(|row| row.record).collect(), is_owned))
        };
        self.transaction(find).await
    }
}
