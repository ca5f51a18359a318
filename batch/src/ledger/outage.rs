//! Outages of the service. All processes of a ledger stop submitting at once, and one submission
//! after a pause finds out for all of them whether the service accepts submissions again.
//!
//! A refusal of all submissions, for example because no credits are left, is an outage, too.

use std::time::{Duration, SystemTime};

use imagekiln::{Billing, ErrorKind as Kind, Outcomes, journal::Intent};
use serde::Serialize;

use super::{
    Ledger,
    clocks::time_of,
    database::Database,
    limits::{Limit, LimitReached},
};
use crate::{Error, Scope, time};

/// The longest pause that a service may ask for, in milliseconds. A later time means that the clock
/// was set back.
const LONGEST_PAUSE: i64 = 24 * 3_600_000;

/// When another submission takes the place of one whose process may have ended, in milliseconds.
const LONGEST_PROBE: i64 = 600_000;

/// How long after lost responses the pauses continue to grow when more are lost, in milliseconds.
const RELAPSE: i64 = 3_600_000;

/// The kind of an outage in which responses are lost.
const LOST: Kind = Kind::Outage;

/// Why a ledger submits nothing, from [`Ledger::outage`]. In JSON, times are text in RFC 3339, in
/// UTC, and `lasted` is left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outage {
    /// When it began.
    #[serde(serialize_with = "time::serialize")]
    pub since: SystemTime,
    /// How long it has lasted.
    #[serde(skip)]
    pub lasted: Duration,
    /// When one submission finds out whether it has ended.
    #[serde(serialize_with = "time::serialize")]
    pub next_at: SystemTime,
    /// The number of pauses so far.
    pub pauses: u64,
    /// The name of the [kind](imagekiln::ErrorKind::as_str) of the refusal, such as `payment`, or
    /// `outage` if the service does not say whether it accepts submissions.
    pub kind: String,
    /// What the service did.
    pub reason: String,
}

/// What a process knows about outages.
#[derive(Default)]
pub(super) struct Known {
    /// The outcomes of its submissions.
    outcomes: Outcomes,
    /// The intent of its probe.
    probe: Option<String>,
}

/// A row of the table.
struct Stored {
    since: i64,
    until: Option<i64>,
    ended_at: Option<i64>,
    pauses: i64,
    probe: Option<String>,
    kind: String,
    reason: String,
}

/// Whether a submission may start.
pub(super) enum Entry {
    Open,
    /// It finds out whether the outage has ended.
    Probe,
    Refused(LimitReached),
}

impl Stored {
    async fn read(database: &mut Database) -> Result<Option<Self>, Error> {
        let find = "SELECT since, until, ended_at, pauses, probe, kind, reason FROM outage";
        let found = database.row(find, []).await?;
        Ok(found.map(|(since, until, ended_at, pauses, probe, kind, reason)| Self {
            since,
            until,
            ended_at,
            pauses,
            probe,
            kind,
            reason,
        }))
    }

    /// Returns how long no submission may start, in milliseconds: 0 if it is time for the probe.
    /// `None` if there is no outage.
    fn wait(&self, now: i64) -> Option<i64> {
        let wait = self.until?.saturating_sub(now);
        Some(if wait > LONGEST_PAUSE { 0 } else { wait.max(0) })
    }
}

/// Returns how long no submission may start, in milliseconds: 0 if it is time for the probe. `None`
/// if there is no outage.
pub(super) async fn wait(database: &mut Database) -> Result<Option<i64>, Error> {
    let now = database.now();
    Ok(Stored::read(database).await?.and_then(|stored| stored.wait(now)))
}

/// Returns why no submission may start now.
pub(super) async fn refusal(database: &mut Database) -> Result<Option<LimitReached>, Error> {
    let now = database.now();
    let stored = Stored::read(database).await?;
    Ok(stored.and_then(|stored| Some((stored.wait(now)?, stored))).map(|(wait, stored)| {
        let limit = Limit::Outage { wait: wait.unsigned_abs(), reason: stored.reason };
        LimitReached { scope: Scope::Ledger, limit }
    }))
}

/// Decides whether a submission may start.
pub(super) async fn enter(database: &mut Database, intent: &str) -> Result<Entry, Error> {
    let now = database.now();
    let Some(stored) = Stored::read(database).await? else { return Ok(Entry::Open) };
    match stored.wait(now) {
        None => Ok(Entry::Open),
        Some(wait) if wait > 0 && stored.probe.as_deref() != Some(intent) => {
            let limit = Limit::Outage { wait: wait.unsigned_abs(), reason: stored.reason };
            Ok(Entry::Refused(LimitReached { scope: Scope::Ledger, limit }))
        }
        Some(_) => {
            let probe = "UPDATE outage SET probe = $1, until = $2";
            database.execute(probe, [intent.into(), (now + LONGEST_PROBE).into()]).await?;
            Ok(Entry::Probe)
        }
    }
}

/// Lets another submission take the place of a probe whose worker has ended.
pub(super) async fn replace_probe(database: &mut Database, worker: i64) -> Result<(), Error> {
    let replace = "UPDATE outage SET until = $1, probe = NULL WHERE until IS NOT NULL
        AND probe IN (SELECT intent_id FROM submissions WHERE worker = $2)";
    let now = database.now();
    database.execute(replace, [now.into(), worker.into()]).await?;
    Ok(())
}

/// Ends an outage because the task of a lost submission was found: the service accepts submissions,
/// although its responses do not arrive.
pub(super) async fn found(database: &mut Database) -> Result<(), Error> {
    let lost = [LOST.as_str().into()];
    database.execute("DELETE FROM outage WHERE kind = $1", lost).await?;
    Ok(())
}

impl Ledger {
    /// Returns why no job is submitted now, although no limit forbids it: the service refuses all
    /// submissions, or does not say whether it accepts them.
    ///
    /// A ledger notices the latter after [three submissions in a row](imagekiln::Outcomes), and a
    /// refusal at once: 401, 402, 403, 404, 429 after the retries of the client, or no connection.
    /// Then no process of the ledger submits anything. After a pause, one submission finds out
    /// whether the outage has ended. The pauses grow from one second to ten minutes, or last as
    /// long as the service asks for, at most a day. [`Ledger::resume`] ends a pause. Polls and
    /// downloads continue. A webhook of a lost submission ends an outage.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](crate::ErrorKind::Ledger): the ledger cannot be read.
    pub async fn outage(&self) -> Result<Option<Outage>, Error> {
        self.transaction(async |database| {
            let now = database.now();
            let stored = Stored::read(database).await?;
            Ok(stored.filter(|stored| stored.until.is_some()).map(|stored| Outage {
                since: time_of(stored.since),
                lasted: Duration::from_millis(
                    now.saturating_sub(stored.since).max(0).unsigned_abs(),
                ),
                next_at: time_of(now + stored.wait(now).unwrap_or_default()),
                pauses: stored.pauses.unsigned_abs(),
                kind: stored.kind,
                reason: stored.reason,
            }))
        })
        .await
    }

    /// Lets one submission find out now whether the outage has ended. The next pauses are short.
    pub(super) async fn end_pause(&self) -> Result<(), Error> {
        self.end_pause_if("TRUE").await
    }

    /// Does the same after a refusal, because a new run may have another key.
    pub(crate) async fn end_pause_of_refusal(&self) -> Result<(), Error> {
        self.end_pause_if("kind <> 'outage'").await
    }

    async fn end_pause_if(&self, condition: &'static str) -> Result<(), Error> {
        self.exclusive(async move |database| {
            let end = format!(
                "UPDATE outage SET until = $1, pauses = 0, probe = NULL
                 WHERE until IS NOT NULL AND {condition}"
            );
            let now = database.now();
            database.execute(&end, [now.into()]).await?;
            Ok(())
        })
        .await
    }

    /// Notes that the submission is the probe of the outage.
    pub(super) fn probes(&self, intent: &Intent) {
        self.outages().probe = Some(intent.id().to_owned());
    }

    /// Notes how a submission ended.
    pub(super) async fn note_end(
        &self,
        intent: &Intent,
        failure: Option<&imagekiln::Error>,
    ) -> Result<(), Error> {
        let is_lost = failure.is_some_and(|error| error.billing() == Billing::Unknown);
        let is_accepted = match failure {
            None => true,
            Some(error) => matches!(error.billing(), Billing::Accepted(_)),
        };
        let (is_probe, is_outage) = {
            let mut known = self.outages();
            let is_probe = known.probe.take_if(|probe| probe == intent.id()).is_some();
            let counts = !is_probe && (is_lost || is_accepted);
            (is_probe, counts && known.outcomes.add(is_lost))
        };
        match failure {
            Some(error) if is_outage || is_lost && is_probe => {
                let message = error.message();
                let reason =
                    format!("{message}; the service may have accepted the last submissions");
                self.hold(intent, LOST, reason, error.retry_after()).await
            }
            Some(error) if refuses_all(error) => {
                self.hold(intent, error.kind(), error.message(), error.retry_after()).await
            }
            _ if is_probe => self.end_probe(intent, is_accepted).await,
            _ => Ok(()),
        }
    }

    /// Begins an outage, or the next pause of one.
    async fn hold(
        &self,
        intent: &Intent,
        kind: Kind,
        reason: String,
        asked: Option<Duration>,
    ) -> Result<(), Error> {
        let intent = intent.id().to_owned();
        let asked = asked.and_then(|asked| i64::try_from(asked.as_millis()).ok());
        let pause = self
            .exclusive(async move |database| {
                let now = database.now();
                let known = Stored::read(database).await?;
                let open = known.as_ref().filter(|known| known.until.is_some());
                if open.is_some_and(|open| open.probe.as_ref() != Some(&intent)) {
                    // It was in flight when the outage began.
                    return Ok(None);
                }
                let relapse = known.as_ref().filter(|known| {
                    let has_relapsed = known.ended_at.is_some_and(|at| now < at + RELAPSE);
                    has_relapsed && kind == LOST && known.kind == LOST.as_str()
                });
                let before = open.or(relapse).map_or(0, |known| known.pauses);
                let pause = pause_after(before).max(asked.unwrap_or_default()).min(LONGEST_PAUSE);
                let write = "INSERT INTO outage (id, since, until, pauses, kind, reason)
                     VALUES (1, $1, $2, $3, $4, $5)
                     ON CONFLICT (id) DO UPDATE SET since = excluded.since, until = excluded.until,
                        ended_at = NULL, pauses = excluded.pauses, probe = NULL,
                        kind = excluded.kind, reason = excluded.reason";
                let since = open.map_or(now, |open| open.since);
                let (pauses, kind) = (before + 1, kind.as_str());
                let values = [
                    since.into(),
                    (now + pause).into(),
                    pauses.into(),
                    kind.into(),
                    (&reason).into(),
                ];
                database.execute(write, values).await?;
                Ok(Some((pause, reason.clone())))
            })
            .await?;
        if let Some((pause, reason)) = pause {
            tracing::warn!(seconds = pause / 1000, reason, "submissions pause");
        }
        Ok(())
    }

    /// Ends the outage if the service accepted the probe. Otherwise, another submission may take
    /// its place.
    async fn end_probe(&self, intent: &Intent, is_accepted: bool) -> Result<(), Error> {
        let intent = intent.id().to_owned();
        let ended = self
            .exclusive(async move |database| {
                let now = database.now();
                let until = (!is_accepted).then_some(now);
                let end = "UPDATE outage SET until = $1, ended_at = $2, probe = NULL
                    WHERE probe = $3 AND until IS NOT NULL";
                database.execute(end, [until.into(), now.into(), (&intent).into()]).await
            })
            .await?;
        if is_accepted && ended == 1 {
            tracing::info!("the service accepts submissions again");
            self.0.changes.send_replace(());
        }
        Ok(())
    }

    fn outages(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.outages.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Whether the service would refuse other submissions for the same reason.
pub(crate) fn refuses_all(error: &imagekiln::Error) -> bool {
    let is_refusal = match error.kind() {
        Kind::Auth | Kind::Payment | Kind::RateLimited | Kind::Network => true,
        // Other status codes, such as 404 or 407, are more likely about the settings.
        Kind::Service => !matches!(error.status(), Some(400 | 413)),
        _ => false,
    };
    is_refusal && error.billing() == Billing::NotBilled
}

/// Returns the pause after so many others, in milliseconds.
fn pause_after(pauses: i64) -> i64 {
    let mut backoff = Outcomes::pauses();
    let last = (0..=pauses.clamp(0, 32)).map(|_| backoff.pause()).last().unwrap_or_default();
    i64::try_from(last.as_millis()).unwrap_or(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The process of a probe may have been killed.
    #[tokio::test]
    async fn another_submission_takes_the_place_of_a_probe_whose_worker_ended() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let probe = async |database: &mut Database| {
            let outage = "INSERT INTO outage (id, since, until, pauses, kind, reason)
                VALUES (1, 0, 0, 5, 'outage', 'lost')";
            database.execute(outage, []).await?;
            let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)
                RETURNING id";
            let worker: i64 = database.value(worker, []).await?;
            let submission = "INSERT INTO submissions
                (intent_id, operation, record, state, sent_at, worker)
                VALUES ('one', 'gen-2-pro', '', 'open', 0, $1)";
            database.execute(submission, [worker.into()]).await?;
            assert!(matches!(enter(database, "one").await?, Entry::Probe));
            assert!(matches!(enter(database, "two").await?, Entry::Refused(_)));
            Ok(worker)
        };
        let worker = ledger.transaction(probe).await.unwrap();
        ledger.retire(worker).await.unwrap();
        let next = async |database: &mut Database| enter(database, "two").await;
        assert!(matches!(ledger.transaction(next).await.unwrap(), Entry::Probe));
    }
}
