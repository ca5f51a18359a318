//! Outages of the service. During an outage, all processes of a ledger stop submitting. After a
//! pause, one submission, the probe, tests for all of them whether the service accepts submissions
//! again. If responses are lost, the service may bill every submission, so the ledger risks one
//! submission per pause instead of one per job.
//!
//! A refusal of all submissions, for example because no credits are left, is an outage, too. A
//! refusal that may be about the model is an outage of its operation only.

mod ends;

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use imagekiln::{ErrorKind as Kind, Outcomes, journal::Intent};

pub(in crate::ledger) use self::ends::Known;
pub(crate) use self::ends::refuses_others;

use crate::{
    Error, Scope,
    ledger::{
        Ledger, LimitReached,
        database::{
            Database, Value,
            clocks::{milliseconds, time_of},
        },
    },
};

/// The longest pause that a service may ask for, in milliseconds. A later time means that the clock
/// was set back.
const LONGEST_PAUSE: i64 = 24 * 3_600_000;

/// After this time in milliseconds, another submission becomes the probe, because the process of
/// the first one may have ended.
const LONGEST_PROBE: i64 = milliseconds(Outcomes::LONGEST_PAUSE);

/// The kind of an outage in which responses are lost.
const LOST: Kind = Kind::Outage;

/// Why a ledger submits nothing, or nothing of an operation, from
/// [`Limits::outages`](crate::Limits::outages). `Display` describes the outage in one line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outage {
    /// What is not submitted: everything, or an operation.
    pub scope: Scope,
    /// When it began.
    pub since: SystemTime,
    /// How long it has lasted.
    pub lasted: Duration,
    /// How long it is until a submission tests whether the outage has ended. 0 if the next
    /// submission is the test, or if the test is in flight.
    pub wait: Duration,
    /// The number of pauses so far.
    pub pauses: u64,
    /// The name of the [kind](imagekiln::ErrorKind::as_str) of the refusal, such as `payment`, or
    /// `outage` if the service does not say whether it accepts submissions.
    pub kind: String,
    /// What the service did.
    pub reason: String,
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("submissions ")?;
        if let Scope::Operation(name) = &self.scope {
            write!(f, "to {name} ")?;
        }
        match self.wait.as_secs_f64().ceil() {
            0.0 => f.write_str("wait until the service accepts one")?,
            seconds => write!(f, "pause for {seconds} s")?,
        }
        write!(f, ": {}", self.reason)
    }
}

/// An outage, with what only the ledger needs.
struct Stored {
    outage: Outage,
    /// How long no submission may start, in milliseconds: 0 if it is time for the probe.
    wait: i64,
    /// Whether it holds back submissions.
    is_open: bool,
    ended_at: Option<i64>,
    probe: Option<String>,
}

impl Stored {
    fn read(
        database: &mut Database,
        condition: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Self>, Error> {
        type Columns = (String, i64, Option<i64>, Option<i64>, i64, Option<String>, String, String);
        let find = format!(
            "SELECT operation, since, until, ended_at, pauses, probe, kind, reason
             FROM outages WHERE {condition}"
        );
        let now = database.now();
        let rows = database.rows::<Columns>(&find, values)?.into_iter();
        let stored =
            rows.map(|(operation, since, until, ended_at, pauses, probe, kind, reason)| {
                let wait = until.unwrap_or(now).saturating_sub(now);
                let wait = if wait > LONGEST_PAUSE { 0 } else { wait.max(0) };
                let duration =
                    |milliseconds: i64| Duration::from_millis(milliseconds.max(0).unsigned_abs());
                let outage = Outage {
                    // The empty name stands for all operations.
                    scope: if operation.is_empty() {
                        Scope::Ledger
                    } else {
                        Scope::Operation(operation)
                    },
                    since: time_of(since),
                    lasted: duration(now.saturating_sub(since)),
                    wait: duration(if probe.is_some() { 0 } else { wait }),
                    pauses: pauses.unsigned_abs(),
                    kind,
                    reason,
                };
                Self { outage, wait, is_open: until.is_some(), ended_at, probe }
            });
        Ok(stored.collect())
    }
}

/// Returns the scopes that an outage holds back. The value is `true` if the pause is over and one
/// job may be submitted as a probe, and `false` if no job may be submitted.
pub(super) fn held_scopes(database: &mut Database) -> Result<Vec<(Scope, bool)>, Error> {
    let open = Stored::read(database, "until IS NOT NULL", [])?.into_iter();
    Ok(open.map(|stored| (stored.outage.scope, stored.wait == 0)).collect())
}

/// Returns the outages that meet a condition.
pub(super) fn find(
    database: &mut Database,
    condition: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<Outage>, Error> {
    let found = Stored::read(database, condition, values)?;
    Ok(found.into_iter().map(|stored| stored.outage).collect())
}

/// The condition for the outages that hold back the operation in `$1`.
pub(super) const OF_OPERATION: &str = "until IS NOT NULL AND operation IN ('', $1)";

/// Decides whether a submission may start. Returns whether the submission is a probe, or the outage
/// that holds it back.
pub(in crate::ledger) fn enter(
    database: &mut Database,
    intent: &Intent,
) -> Result<Result<bool, LimitReached>, Error> {
    let (now, operation) = (database.now(), intent.operation());
    let open = Stored::read(database, OF_OPERATION, [operation.into()])?;
    if open.is_empty() {
        return Ok(Ok(false));
    }
    let holds = |stored: &Stored| stored.wait > 0 && stored.probe.as_deref() != Some(intent.id());
    if let Some(stored) = open.into_iter().find(holds) {
        return Ok(Err(Box::new(stored.outage).into()));
    }
    let probe = "UPDATE outages SET probe = $1, until = $2
        WHERE until IS NOT NULL AND operation IN ('', $3)";
    let values = [intent.id().into(), (now + LONGEST_PROBE).into(), operation.into()];
    database.execute(probe, values)?;
    Ok(Ok(true))
}

/// Returns whether a submission that has [entered](enter) is a probe.
pub(in crate::ledger) fn is_probe(database: &mut Database, intent: &Intent) -> Result<bool, Error> {
    let probe = "SELECT 1 FROM outages WHERE until IS NOT NULL AND probe = $1";
    database.finds(probe, [intent.id().into()])
}

/// Lets another submission become the probe, if the worker of the first one has ended.
pub(in crate::ledger) fn replace_probe(database: &mut Database, worker: i64) -> Result<(), Error> {
    let replace = "UPDATE outages SET until = $1, probe = NULL WHERE until IS NOT NULL
        AND probe IN (SELECT intent_id FROM submissions WHERE worker = $2)";
    let now = database.now();
    database.execute(replace, [now.into(), worker.into()])?;
    Ok(())
}

/// Ends an outage because the task of a lost submission was found: the service accepts submissions,
/// although its responses do not arrive.
pub(in crate::ledger) fn found(database: &mut Database) -> Result<(), Error> {
    let lost = [LOST.as_str().into()];
    database.execute("DELETE FROM outages WHERE kind = $1", lost)?;
    Ok(())
}

impl Ledger {
    /// Returns the outages that hold back queued jobs that this worker could claim. Outages whose
    /// pause is over are left out: the worker can send the probe, unless a limit forbids it.
    pub(crate) async fn outages_of_jobs(&self, worker: i64) -> Result<Vec<Outage>, Error> {
        self.transaction(move |database| {
            let holds_jobs = "until IS NOT NULL AND EXISTS (SELECT 1 FROM jobs
                WHERE state = 'queued' AND worker IS NULL
                    AND (left_after IS NULL OR left_after < $1)
                    AND outages.operation IN ('', jobs.operation))";
            let found = Stored::read(database, holds_jobs, [worker.into()])?;
            let holding = found.into_iter().filter(|stored| stored.wait > 0);
            Ok(holding.map(|stored| stored.outage).collect())
        })
        .await
    }

    /// Ends the pauses after refusals, because a new run may have another key.
    pub(crate) async fn end_pause_of_refusals(&self) -> Result<(), Error> {
        self.end_pause("kind <> $2", LOST.as_str()).await
    }

    /// Ends the pauses of the outages that meet a condition with the value `$2`: the next
    /// submission tests whether they have ended. If they have not, the pauses start short again.
    pub(super) async fn end_pause(&self, condition: &str, value: &str) -> Result<(), Error> {
        let value = Value::from(value);
        let end = format!(
            "UPDATE outages SET until = $1, pauses = 0, probe = NULL
             WHERE until IS NOT NULL AND {condition}"
        );
        self.exclusive(move |database| {
            let now = database.now();
            database.execute(&end, [now.into(), value.clone()]).map(drop)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn intent(id: &str) -> Intent {
        let intent = json!({"id": id, "operation": "gen-2-pro", "at": 1_795_673_076});
        serde_json::from_value(intent).unwrap()
    }

    /// The process of a probe may have been killed.
    #[tokio::test]
    async fn another_submission_takes_the_place_of_a_probe_whose_worker_ended() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let probe = |database: &mut Database| {
            let outage = "INSERT INTO outages (operation, since, until, pauses, kind, reason)
                VALUES ('', 0, 0, 5, 'outage', 'lost')";
            database.execute(outage, [])?;
            let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)
                RETURNING id";
            let worker: i64 = database.value(worker, [])?;
            let submission = "INSERT INTO submissions
                (intent_id, operation, record, pixels, state, sent_at, worker)
                VALUES ('one', 'gen-2-pro', '', 0, 'open', 0, $1)";
            database.execute(submission, [worker.into()])?;
            assert_eq!(enter(database, &intent("one"))?, Ok(true));
            assert!(enter(database, &intent("two"))?.is_err());
            Ok(worker)
        };
        let worker = ledger.transaction(probe).await.unwrap();
        ledger.retire(worker).await.unwrap();
        let next = |database: &mut Database| enter(database, &intent("two"));
        assert_eq!(ledger.transaction(next).await.unwrap(), Ok(true));
    }
}
