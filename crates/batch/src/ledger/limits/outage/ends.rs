//! How the outcomes of submissions begin, prolong and end outages.

use std::{collections::HashSet, time::Duration};

use imagekiln::{Billing, ErrorKind as Kind, Outcomes, journal::Intent};

use super::{LONGEST_PAUSE, LOST, Stored};
use crate::{
    Error, Ledger,
    ledger::database::clocks::{milliseconds, of_time},
    lock,
};

/// If responses are lost again within this time after an outage, in milliseconds, the pauses do not
/// start small again but continue to grow.
const RELAPSE: i64 = milliseconds(Outcomes::RELAPSE);

/// What a process knows about outages.
#[derive(Default)]
pub(in crate::ledger) struct Known {
    /// The outcomes of its submissions.
    outcomes: Outcomes,
    /// The intents of its probes.
    probes: HashSet<String>,
}

impl Ledger {
    /// Notes that the submission is a probe: it tests whether an outage has ended.
    pub(in crate::ledger) fn probes(&self, intent: &Intent) {
        lock(&self.0.outages).probes.insert(intent.id().to_owned());
    }

    /// Notes how a submission ended, which may begin, prolong or end an outage.
    pub(in crate::ledger) async fn note_end(
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
            let mut known = lock(&self.0.outages);
            let is_probe = known.probes.remove(intent.id());
            let counts = !is_probe && (is_lost || is_accepted);
            (is_probe, counts && known.outcomes.add(is_lost))
        };
        match failure {
            Some(error) if is_outage || is_lost && is_probe => {
                let message = error.message();
                let reason =
                    format!("{message}; the service may have accepted the last submissions");
                self.hold(intent, String::new(), (LOST, reason, error.retry_after())).await?;
            }
            Some(error) if refuses_others(error) => {
                let operation = if is_of_operation(error) { intent.operation() } else { "" };
                let why = (error.kind(), error.message(), error.retry_after());
                self.hold(intent, operation.to_owned(), why).await?;
            }
            _ => {}
        }
        if is_probe { self.end_probe(intent, is_accepted).await } else { Ok(()) }
    }

    /// Begins an outage of an operation, or the next pause of a known outage. The empty name stands
    /// for all operations.
    async fn hold(
        &self,
        intent: &Intent,
        operation: String,
        (kind, reason, asked): (Kind, String, Option<Duration>),
    ) -> Result<(), Error> {
        let intent = intent.id().to_owned();
        let asked = asked.map_or(0, milliseconds);
        let (shown, known_as) = (reason.clone(), operation.clone());
        let pause = self
            .exclusive(move |database| {
                let now = database.now();
                let known = Stored::read(database, "operation = $1", [(&operation).into()]);
                let known = known?.pop();
                let open = known.as_ref().filter(|known| known.is_open);
                if open.is_some_and(|open| open.probe.as_ref() != Some(&intent)) {
                    // The submission was in flight when the outage began, so its failure is nothing
                    // new.
                    return Ok(None);
                }
                let relapse = known.as_ref().filter(|known| {
                    let has_relapsed = known.ended_at.is_some_and(|at| now < at + RELAPSE);
                    has_relapsed && kind == LOST && known.outage.kind == LOST.as_str()
                });
                let before = open.or(relapse).map_or(0, |known| known.outage.pauses.cast_signed());
                let pause = pause_after(before).max(asked).min(LONGEST_PAUSE);
                let write = "INSERT INTO outages (operation, since, until, pauses, kind, reason)
                     VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (operation) DO UPDATE SET since = excluded.since,
                        until = excluded.until, ended_at = NULL, pauses = excluded.pauses,
                        probe = NULL, kind = excluded.kind, reason = excluded.reason";
                let values = [
                    (&operation).into(),
                    open.map_or(now, |open| of_time(open.outage.since)).into(),
                    (now + pause).into(),
                    (before + 1).into(),
                    kind.as_str().into(),
                    (&reason).into(),
                ];
                database.execute(write, values)?;
                Ok(Some(pause))
            })
            .await?;
        if let Some(pause) = pause {
            let seconds = pause / 1000;
            tracing::warn!(seconds, operation = known_as, reason = shown, "submissions pause");
        }
        Ok(())
    }

    /// Ends the outages that the probe tested, if the service accepted it. Otherwise, another
    /// submission becomes the probe, unless the failure of this one has begun the next pause.
    async fn end_probe(&self, intent: &Intent, is_accepted: bool) -> Result<(), Error> {
        let intent = intent.id().to_owned();
        let ended = self
            .exclusive(move |database| {
                let now = database.now();
                let until = (!is_accepted).then_some(now);
                let end = "UPDATE outages SET until = $1, ended_at = $2, probe = NULL
                    WHERE probe = $3 AND until IS NOT NULL";
                database.execute(end, [until.into(), now.into(), (&intent).into()])
            })
            .await?;
        if is_accepted && ended > 0 {
            tracing::info!("the service accepts submissions again");
            self.announce();
        }
        Ok(())
    }
}

/// Whether the service would refuse other submissions for the same reason.
pub(crate) fn refuses_others(error: &imagekiln::Error) -> bool {
    let is_refusal = match error.kind() {
        Kind::Auth | Kind::Payment | Kind::RateLimited | Kind::Network => true,
        // 400 and 413 are about the request. Other status codes, such as 404 or 407, are more
        // likely about the settings, which all requests share.
        Kind::Service => !matches!(error.status(), Some(400 | 413)),
        _ => false,
    };
    is_refusal && error.billing() == Billing::NotBilled
}

/// Whether a refusal may be about the operation: a project may have access to only some operations
/// (403), and a service may not offer all of them (404).
fn is_of_operation(error: &imagekiln::Error) -> bool {
    error.status() == Some(403) || error.kind() == Kind::Service && !error.is_transient()
}

/// Returns the pause that follows this many others, in milliseconds.
fn pause_after(pauses: i64) -> i64 {
    let mut backoff = Outcomes::pauses();
    let last = (0..=pauses.clamp(0, 32)).map(|_| backoff.pause()).last().unwrap_or_default();
    milliseconds(last)
}
