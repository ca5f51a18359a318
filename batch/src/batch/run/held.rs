//! Jobs that a limit or an outage of the service holds back: when a worker tries them again, and
//! when it gives up.

use std::{cmp::Reverse, time::Duration};

use super::Run;
use crate::{
    Error, ErrorKind, Scope,
    ledger::{Claim, Limit, LimitReached},
};

/// How long a run waits for a service that accepts no submission.
const LONGEST_OUTAGE: Duration = Duration::from_secs(3 * 3600);

impl Run {
    /// Returns why the run no longer waits for a service that accepts no submission.
    pub(super) async fn gives_up(&mut self) -> Result<Option<Error>, Error> {
        let Some(outage) = self.worker.ledger.outage().await? else { return Ok(None) };
        // A key that was wrong from the beginning does not become right.
        let is_permanent = self.refusal.as_ref().is_some_and(|error| !error.is_transient());
        let is_hopeless = is_permanent && !self.has_accepted;
        // Somebody may have set the clock of the ledger.
        let lasted = outage.lasted.min(self.started.elapsed());
        if !is_hopeless && lasted < LONGEST_OUTAGE {
            return Ok(None);
        }
        let message = "the service accepts no submissions";
        Ok(Some(match self.refusal.take() {
            Some(refusal) => Error::new(ErrorKind::Outage, message).with_source(refusal),
            None => Error::new(ErrorKind::Outage, format!("{message}: {}", outage.reason)),
        }))
    }

    /// Returns a job to its place: those that are refused together come back in any order.
    pub(super) fn put_back(&mut self, job: Claim) {
        let turn = |job: &Claim| (Reverse(job.status.priority), job.id);
        let place = self.queue.iter().position(|other| turn(other) > turn(&job));
        self.queue.insert(place.unwrap_or(self.queue.len()), job);
    }

    /// Decides when a job is tried again that a limit does not allow.
    pub(super) async fn after_limit(
        &mut self,
        job: Claim,
        reached: LimitReached,
        started_after: u64,
    ) -> Result<(), Error> {
        match (&reached.limit, &reached.scope) {
            (Limit::Outage { .. }, _) => self.room.outage(),
            (Limit::ActiveTasks { .. }, Scope::Ledger) => {
                self.room.refused(self.active.len());
                self.put_back(job);
                return Ok(());
            }
            // The next claim leaves out the jobs of its scope, until it may have more again.
            (Limit::Paused | Limit::ActiveTasks { .. } | Limit::Rate { .. }, _) => {}
            (Limit::Budget { is_spent: true, credits, .. }, Scope::Group(group)) => {
                self.worker.ledger.release(&job).await?;
                self.worker.ledger.leave_group(group, *credits, reached.to_string()).await?;
                self.look();
                return Ok(());
            }
            // If a job ended in between, the budget may allow this one now.
            (Limit::UnknownPrice | Limit::Budget { .. }, scope) => {
                if started_after == self.ended {
                    let operation = Scope::Operation(job.status.operation.clone());
                    let is_of_group = matches!(scope, Scope::Group(_));
                    let blocked = if is_of_group { scope.clone() } else { operation };
                    self.held.insert(blocked.clone(), reached.to_string());
                    self.blocked.insert(blocked);
                }
            }
        }
        self.worker.ledger.release(&job).await?;
        self.look();
        Ok(())
    }

    /// A budget may allow jobs that it did not allow before.
    pub(super) fn unblock(&mut self) {
        if !self.blocked.is_empty() {
            self.blocked.clear();
            self.look();
        }
    }
}

/// Returns the scopes that may be blocked for a job.
pub(super) fn scopes(job: &Claim) -> Vec<Scope> {
    let group = job.status.group.clone().map(Scope::Group);
    [Scope::Operation(job.status.operation.clone())].into_iter().chain(group).collect()
}
