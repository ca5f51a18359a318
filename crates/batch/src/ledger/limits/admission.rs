//! The decision whether the limits allow a submission.

use std::collections::HashMap;

use super::{
    Limit, LimitReached, RunLimits, StoredLimits, Subject,
    active::{count_active, count_active_jobs},
    outage::{self, OF_OPERATION},
    spending::{SPENDING, Spending, prices},
};
use crate::{
    Error, JobState, JobStatus, Scope,
    ledger::{Ledger, database::Database},
    report::sum,
};

/// Sums of prices such as 0.1 are inexact, and must not exceed a budget only because of rounding.
const TOLERANCE: f64 = 1e-6;

/// Whether a submission may start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Admission {
    Allowed,
    /// The budget allows the submission although its price is not known, because no other
    /// submission of its operation is open. The worker submits no other job until the response
    /// shows the cost: several submissions of unknown cost could exceed the budget.
    Alone,
    /// The submission has to wait for other jobs, or for a higher limit.
    Refused(LimitReached),
}

impl Ledger {
    /// Returns what the limits allow now. Other workers may submit in the meantime, so the
    /// transaction that records the intent decides again.
    pub(crate) async fn admission(
        &self,
        job: &JobStatus,
        limits: RunLimits,
    ) -> Result<Admission, Error> {
        let job = job.clone();
        self.transaction(move |database| {
            let stored = StoredLimits::of_submission(database, Subject::of(&job))?;
            admission(database, Subject::of(&job), job.pixels, &stored, Some(limits))
        })
        .await
    }
}

/// Sets the reason of queued jobs that have none to the limit of the ledger that holds them back
/// now. This does not need a worker that has tried to submit the jobs.
pub(in crate::ledger) fn explain<'j>(
    database: &mut Database,
    jobs: impl Iterator<Item = &'j mut JobStatus>,
) -> Result<(), Error> {
    let limits = "SELECT 1 FROM limits UNION ALL SELECT 1 FROM outages LIMIT 1";
    if !database.finds(limits, [])? {
        return Ok(());
    }
    let mut reasons: HashMap<_, Option<String>> = HashMap::new();
    for status in jobs {
        if status.state != JobState::Queued || status.reason.is_some() {
            continue;
        }
        let kind = (status.operation.clone(), status.group.clone(), status.pixels);
        if !reasons.contains_key(&kind) {
            let refused = refusal(database, Subject::of(status), status.pixels)?;
            reasons.insert(kind.clone(), refused.map(|limit| limit.to_string()));
        }
        status.reason = reasons.get(&kind).cloned().flatten();
    }
    Ok(())
}

/// Returns the limit of the ledger that does not allow a submission now.
pub(in crate::ledger) fn refusal(
    database: &mut Database,
    subject: Subject<'_>,
    pixels: u64,
) -> Result<Option<LimitReached>, Error> {
    let mut outages = outage::find(database, OF_OPERATION, [subject.operation.into()])?;
    if let Some(outage) = outages.pop() {
        return Ok(Some(Box::new(outage).into()));
    }
    let stored = StoredLimits::of_submission(database, subject)?;
    Ok(match admission(database, subject, pixels, &stored, None)? {
        Admission::Refused(limit) => Some(limit),
        Admission::Allowed | Admission::Alone => None,
    })
}

/// Returns whether the limits allow the submission of a picture with this many pixels: the `stored`
/// limits of the ledger and, for a job, those of its run. A budget also counts submissions whose
/// cost is not known, with their price, because the service may bill all of them.
pub(in crate::ledger) fn admission(
    database: &mut Database,
    subject: Subject<'_>,
    pixels: u64,
    stored: &StoredLimits,
    run: Option<RunLimits>,
) -> Result<Admission, Error> {
    let refused =
        |scope: &Scope, limit| Admission::Refused(LimitReached { scope: scope.clone(), limit });
    let scopes = subject.scopes().into_iter().map(|scope| (stored.of(&scope), scope));
    let mut limits: Vec<_> = scopes.collect();
    if let Some((_, scope)) = limits.iter().find(|(limit, _)| limit.is_paused) {
        return Ok(refused(scope, Limit::Paused));
    }
    let now = database.now();
    let mut rates = limits.iter();
    let reached = rates.find_map(|(limit, scope)| Some((scope, limit.reached_rate(now)?)));
    if let Some((scope, limit)) = reached {
        return Ok(refused(scope, limit));
    }
    if let Some(RunLimits { max_active, .. }) = run
        && count_active_jobs(database)? >= max_active as u64
    {
        return Ok(refused(&Scope::Ledger, Limit::ActiveTasks { most: max_active as u64 }));
    }
    if limits.iter().any(|(limit, _)| limit.max_active.is_some()) {
        let active = count_active(database, false)?;
        for (limit, scope) in &limits {
            let active = active.get(scope).copied().unwrap_or_default();
            if let Some(most) = limit.max_active.filter(|most| active >= *most) {
                let limit = Limit::ActiveTasks { most: most.unsigned_abs() };
                return Ok(refused(scope, limit));
            }
        }
    }
    let run = run.unwrap_or_default();
    for (limit, scope) in &mut limits {
        // A budget of the ledger replaces the budget of the run.
        if *scope == Scope::Ledger {
            limit.budget = limit.budget.or(run.budget);
        }
    }
    limits.retain(|(limit, _)| limit.budget.is_some());
    if limits.is_empty() {
        return Ok(Admission::Allowed);
    }
    let spending: Vec<Spending> = database.rows(SPENDING, ["".into()])?;
    let prices = prices(database)?;
    let price_of = |operation: &str| prices.of_or(operation, run.price);
    let price = price_of(subject.operation);
    let cost = price.map(|price| price.of_all(1, pixels));
    let mut admitted = Admission::Allowed;
    for (limit, scope) in &limits {
        let (Some(credits), counted) = (limit.budget, counted(database, scope, &spending)?) else {
            continue;
        };
        let known = sum(counted.iter().map(|of| of.credits));
        let reserved = sum(counted.iter().map(|of| of.reserved(price_of(&of.operation))));
        let committed = known + reserved;
        let is_first_open =
            spending.iter().all(|of| of.operation != subject.operation || of.open == 0);
        // If the cost is not known, the budget allows a submission as long as anything is left, but
        // only one of the operation at a time: its response shows what the next ones cost.
        match cost {
            Some(cost) if committed + cost <= credits + TOLERANCE => {}
            None if committed < credits && is_first_open => admitted = Admission::Alone,
            None if committed < credits => return Ok(refused(scope, Limit::UnknownPrice)),
            _ => {
                let is_spent = known + cost.unwrap_or_default() > credits + TOLERANCE;
                let by_size = price.is_some_and(|price| price.per_megapixel > 0.0);
                let pixels = by_size.then_some(pixels);
                let limit = Limit::Budget { credits, committed, cost, pixels, is_spent };
                return Ok(refused(scope, limit));
            }
        }
    }
    Ok(admitted)
}

/// Returns the spending that counts for a scope.
fn counted(
    database: &mut Database,
    scope: &Scope,
    spending: &[Spending],
) -> Result<Vec<Spending>, Error> {
    match scope {
        Scope::Group(name) => database.rows(SPENDING, [name.into()]),
        Scope::Operation(name) => {
            Ok(spending.iter().filter(|of| of.operation == *name).cloned().collect())
        }
        _ => Ok(spending.to_vec()),
    }
}
