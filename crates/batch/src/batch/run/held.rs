//! Jobs that a limit or an outage of the service holds back: when a worker tries them again, and
//! when it gives up.

use std::{cmp::Reverse, collections::VecDeque, time::Duration};

use super::Run;
use crate::{
    Error, ErrorKind, Outage, Scope,
    ledger::{Claim, Limit, LimitReached},
};

/// How long a run waits for a service that accepts no submissions.
const LONGEST_OUTAGE: Duration = Duration::from_secs(3 * 3600);

impl Run {
    /// Whether queued jobs are left that only outages of the service hold back. If the run has
    /// waited long enough, stops it with an error.
    pub(super) async fn waits_for_service(&mut self) -> Result<bool, Error> {
        let outages = self.worker.ledger.outages_of_jobs(self.number).await?;
        let Some(outage) = outages.first() else { return Ok(false) };
        if !outages.iter().all(|outage| self.gives_up(outage)) {
            return Ok(true);
        }
        let message = "the service accepts no submissions";
        let refusal = match &outage.scope {
            Scope::Operation(name) => self.refusals.remove(name),
            _ => self.refusals.drain().next().map(|(_, refusal)| refusal),
        };
        self.stop_by(match refusal {
            Some(refusal) => Error::new(ErrorKind::Outage, message).with_source(refusal),
            None => Error::new(ErrorKind::Outage, format!("{message}: {}", outage.reason)),
        });
        Ok(false)
    }

    fn gives_up(&self, outage: &Outage) -> bool {
        let is_permanent = |error: &imagekiln::Error| !error.is_transient();
        // A key that was refused from the beginning will not be accepted later.
        let is_hopeless = match &outage.scope {
            Scope::Operation(name) => {
                self.refusals.get(name).is_some_and(is_permanent) && !self.accepted.contains(name)
            }
            _ => self.refusals.values().any(is_permanent) && self.accepted.is_empty(),
        };
        // The outage may seem longer than it is, if somebody has set the clock of the ledger.
        is_hopeless || outage.lasted.min(self.started.elapsed()) >= LONGEST_OUTAGE
    }

    /// Returns a job to its place in the queue, because jobs that are refused together come back in
    /// any order.
    pub(super) fn put_back(&mut self, job: Claim) {
        insert_by(&mut self.queue, job, |job| (Reverse(job.status.priority), job.id));
    }

    /// Decides when the worker tries a job again that a limit did not allow.
    pub(super) async fn after_limit(
        &mut self,
        job: Claim,
        reached: LimitReached,
        started_after: u64,
    ) -> Result<(), Error> {
        match (&reached.limit, &reached.scope) {
            (Limit::Outage(_), _) => self.room.outage(),
            (Limit::ActiveTasks { .. }, Scope::Ledger) => {
                self.room.refused(self.active.len());
                self.put_back(job);
                return Ok(());
            }
            // The next claim leaves out the jobs of this scope until the limit allows more.
            (Limit::Paused | Limit::ActiveTasks { .. } | Limit::Rate { .. }, _) => {}
            (Limit::Budget { is_spent: true, credits, pixels, .. }, Scope::Group(group)) => {
                self.worker.ledger.release(&job).await?;
                let (pixels, reason) = (pixels.unwrap_or_default(), reached.to_string());
                self.worker.ledger.leave_group(group, *credits, pixels, reason).await?;
                self.look();
                return Ok(());
            }
            // Block the scope only if no other job has ended since this one started. Otherwise, the
            // budget may allow the job now.
            (limit @ (Limit::UnknownPrice | Limit::Budget { .. }), scope) => {
                if started_after == self.ended {
                    // If the price depends on the size, the budget may allow smaller pictures.
                    let pixels = match limit {
                        Limit::Budget { pixels, .. } => pixels.unwrap_or_default(),
                        _ => 0,
                    };
                    let operation = Scope::Operation(job.status.operation.clone());
                    let is_of_group = matches!(scope, Scope::Group(_));
                    let blocked = if is_of_group { scope.clone() } else { operation };
                    let least = self.blocked.get(&blocked).map_or(u64::MAX, |known| known.0);
                    if pixels <= least {
                        self.blocked.insert(blocked, (pixels, reached.to_string()));
                    }
                }
            }
        }
        self.worker.ledger.release(&job).await?;
        self.look();
        Ok(())
    }

    /// Makes the worker try jobs again that a budget did not allow, because the budget may allow
    /// them now.
    pub(super) fn unblock(&mut self) {
        if !self.blocked.is_empty() {
            self.blocked.clear();
            self.look();
        }
    }
}

fn insert_by<T, K: Ord>(queue: &mut VecDeque<T>, item: T, key: impl Fn(&T) -> K) {
    let place = queue.iter().position(|other| key(other) > key(&item));
    queue.insert(place.unwrap_or(queue.len()), item);
}

/// Returns the scopes that may be blocked for a job.
pub(super) fn scopes(job: &Claim) -> Vec<Scope> {
    let group = job.status.group.clone().map(Scope::Group);
    [Scope::Operation(job.status.operation.clone())].into_iter().chain(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_come_back_in_any_order_keep_their_turns() {
        let mut queue = VecDeque::from([(0, 4), (0, 6)]);
        for job in [(0, 5), (0, 7), (9, 8), (0, 3)] {
            insert_by(&mut queue, job, |(priority, id)| (Reverse(*priority), *id));
        }
        assert_eq!(queue, [(9, 8), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7)]);
    }
}
