//! Changes that hold at once for all workers: limits, pauses, priorities and cancelled jobs.

use std::collections::HashMap;

use imagekiln_label::checked_credits;
use serde::Serialize;

use super::{
    Ledger,
    active::{COUNTED, count_active},
    database::{Database, Value},
    jobs::matching,
    limits::Limits,
};
use crate::{Error, ErrorKind, Filter, Price, Scope, job::is_group, price::refused};
#[cfg(doc)]
use crate::{JobState, Prices};

/// The highest rate, in submissions per minute.
const MAX_RATE: i64 = 6000;

/// The limits of a scope, and what counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LimitStatus {
    /// What the limits are for.
    pub scope: Scope,
    /// The budget in credits; see [`Ledger::set_budget`].
    pub budget: Option<f64>,
    /// The maximum number of active tasks; see [`Ledger::set_max_active`].
    pub max_active: Option<u64>,
    /// The maximum number of submissions per minute; see [`Ledger::set_rate`].
    pub rate: Option<u64>,
    /// Whether the submissions are paused; see [`Ledger::pause`].
    pub is_paused: bool,
    /// The known costs of the submissions in credits. 0 for [`Scope::EachGroup`].
    pub credits: f64,
    /// The number of submissions that may be billed and whose cost is not known. Each counts with
    /// the [price](Ledger::prices) of its operation.
    pub without_cost: u64,
    /// The number of active tasks.
    pub active: u64,
}

impl Ledger {
    /// Sets how many credits the submissions of a scope may cost, or removes the budget.
    ///
    /// It holds for all workers at once, and also for submissions without a job, of clients whose
    /// journal is the ledger. A budget of the [whole ledger](Scope::Ledger) replaces that of a
    /// run; the others hold in addition. [`Batch::budget`](crate::Batch::budget) describes how
    /// costs are counted. Jobs that a budget of a group does not allow stay
    /// [`Queued`](JobState::Queued), with the reason, until the budget is raised or a later run
    /// looks at them again.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): the budget is negative, infinite or not a number, or the name
    ///   of a group is not 1 to 200 bytes long.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn set_budget(&self, scope: Scope, credits: Option<f64>) -> Result<(), Error> {
        let checked = credits.map(|credits| checked_credits("budget", credits)).transpose();
        let credits = checked.map_err(refused)?;
        self.set_limit(scope, "budget", credits.into()).await
    }

    /// Sets what the submissions of an operation cost, or removes the price. [`Prices`] says which
    /// prices known costs replace.
    ///
    /// Budgets use it, for jobs and for submissions without a job. Without a price, the first
    /// submission of an operation has to show the cost before a budget allows others.
    ///
    /// [`Price::of`] says which size counts.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): the price is negative, infinite or not a number.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn set_price(&self, operation: &str, price: Option<Price>) -> Result<(), Error> {
        let price = price.map(Price::checked).transpose().map_err(refused)?;
        let operation = operation.to_owned();
        self.exclusive(move |database| {
            let name = [(&operation).into()];
            database.execute("DELETE FROM prices WHERE operation = $1", name.clone())?;
            if let Some(Price { credits, per_megapixel }) = price {
                let set = "INSERT INTO prices (operation, credits, per_megapixel)
                    VALUES ($1, $2, $3)";
                let [credits, per_megapixel] = [credits, per_megapixel].map(Some);
                let values = [(&operation).into(), credits.into(), per_megapixel.into()];
                database.execute(set, values)?;
            }
            free_left(database, "AND operation = $1", name)
        })
        .await?;
        self.0.changes.send_replace(());
        Ok(())
    }

    /// Sets how many active tasks a scope may have, or removes this limit.
    ///
    /// Jobs are active from their submission until their pictures are saved. Submissions without a
    /// job are active until the journal knows how they ended. The limit holds for all workers at
    /// once, in addition to [`Batch::max_active`](crate::Batch::max_active).
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget).
    pub async fn set_max_active(&self, scope: Scope, tasks: Option<u64>) -> Result<(), Error> {
        let tasks = tasks.map(|tasks| i64::try_from(tasks).unwrap_or(i64::MAX));
        self.set_limit(scope, "max_active", tasks.into()).await
    }

    /// Sets how many submissions a scope may have in any minute, or removes the rate. It spreads
    /// them over the minute, and holds for all workers at once.
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget), and kind [`State`](ErrorKind::State) if
    /// the rate is not 1 to 6,000, or is for [each group](Scope::EachGroup).
    pub async fn set_rate(&self, scope: Scope, per_minute: Option<u64>) -> Result<(), Error> {
        let rate = per_minute.map(|rate| i64::try_from(rate).unwrap_or(i64::MAX));
        let is_rate = rate.is_none_or(|rate| (1..=MAX_RATE).contains(&rate));
        if !is_rate || scope == Scope::EachGroup {
            let message = "a rate is 1 to 6,000 submissions per minute, of the ledger, an \
                           operation or one group; nothing was changed";
            return Err(Error::new(ErrorKind::State, message));
        }
        self.set_limit(scope, "rate", rate.into()).await
    }

    /// Pauses the submissions of a scope. Tasks that the service has accepted continue, and their
    /// pictures are saved. A run stays open until it is [unpaused](Self::unpause).
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget).
    pub async fn pause(&self, scope: Scope) -> Result<(), Error> {
        let now = self.transaction(|database| Ok(database.now())).await?;
        self.set_limit(scope, "paused_at", now.into()).await
    }

    /// Resumes the submissions of a scope after [`pause`](Self::pause). Workers of other processes
    /// notice it within a second. One submission also finds out now whether an
    /// [outage](Self::outages) of the whole ledger or of the operation has ended.
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget).
    pub async fn unpause(&self, scope: Scope) -> Result<(), Error> {
        self.end_pause(&scope).await?;
        self.set_limit(scope, "paused_at", Value::Integer(None)).await
    }

    async fn set_limit(
        &self,
        scope: Scope,
        column: &'static str,
        value: Value,
    ) -> Result<(), Error> {
        if matches!(&scope, Scope::Group(name) if !is_group(name)) {
            let message = "the name of a group has 1 to 200 bytes; nothing was changed";
            return Err(Error::new(ErrorKind::State, message));
        }
        self.exclusive(move |database| {
            let (kind, name) = scope.columns();
            // The turns of another rate do not count.
            let turns = if column == "rate" { ", next_at = NULL" } else { "" };
            let set = format!(
                "INSERT INTO limits (scope, name, {column}) VALUES ($1, $2, $3)
                 ON CONFLICT (scope, name) DO UPDATE SET {column} = excluded.{column}{turns}"
            );
            database.execute(&set, [kind.into(), name.into(), value.clone()])?;
            let remove = "DELETE FROM limits
                WHERE budget IS NULL AND max_active IS NULL AND paused_at IS NULL
                    AND rate IS NULL";
            database.execute(remove, [])?;
            // Only a budget leaves jobs to later workers.
            if column != "budget" {
                return Ok(());
            }
            let (condition, values) = match &scope {
                Scope::Ledger => ("", vec![]),
                Scope::Operation(name) => ("AND operation = $1", vec![name.into()]),
                Scope::Group(name) => ("AND group_name = $1", vec![name.into()]),
                Scope::EachGroup => ("AND group_name IS NOT NULL", vec![]),
            };
            free_left(database, condition, values)
        })
        .await?;
        self.0.changes.send_replace(());
        Ok(())
    }

    /// Returns the scopes that have limits, with what counts for them.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn limits(&self) -> Result<Vec<LimitStatus>, Error> {
        self.transaction(|database| {
            let limits = Limits::read(database, "TRUE", [])?;
            let active = count_active(database, COUNTED)?;
            let spent = spent(database)?;
            let statuses = limits.0.into_iter().map(|(scope, limit)| {
                let (credits, without_cost) = spent.get(&scope).copied().unwrap_or_default();
                LimitStatus {
                    budget: limit.budget,
                    max_active: limit.max_active.map(i64::unsigned_abs),
                    rate: limit.rate.map(i64::unsigned_abs),
                    is_paused: limit.is_paused,
                    credits,
                    without_cost: without_cost.unsigned_abs(),
                    active: active.get(&scope).copied().unwrap_or_default().unsigned_abs(),
                    scope,
                }
            });
            Ok(statuses.collect())
        })
        .await
    }

    /// Cancels the jobs that match a filter and are not submitted: they become
    /// [`Cancelled`](JobState::Cancelled). Returns their number.
    ///
    /// What is submitted continues, because it is paid for. [`retry`](Self::retry) queues a job
    /// again.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn cancel(&self, filter: &Filter) -> Result<u64, Error> {
        let set = "state = 'cancelled', reason = NULL, worker = NULL, left_after = NULL,
            changed_at = $1";
        self.change_queued(filter, set, None).await
    }

    /// Sets the priority of the jobs that match a filter and are not submitted. Jobs with a higher
    /// priority are submitted first. Returns the number of jobs.
    ///
    /// A worker has up to 32 jobs that it is about to submit. They keep their turn.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn set_priority(&self, filter: &Filter, priority: i64) -> Result<u64, Error> {
        self.change_queued(filter, "priority = $1", Some(priority)).await
    }

    /// Changes the queued jobs that match a filter. The first value is the time if there is none.
    async fn change_queued(
        &self,
        filter: &Filter,
        set: &'static str,
        value: Option<i64>,
    ) -> Result<u64, Error> {
        let filter = filter.clone();
        self.transaction(move |database| {
            let first = match value {
                Some(value) => value,
                None => database.now(),
            };
            let mut values = vec![first.into()];
            let condition = matching(database, &filter, "jobs", &mut values);
            let change = format!("UPDATE jobs SET {set} WHERE state = 'queued' AND {condition}");
            database.execute(&change, values)
        })
        .await
    }

    /// Sets the reason of the queued jobs of an operation or a group that have none, and whose
    /// pictures have at least so many pixels: those that this worker or nobody has.
    pub(crate) async fn explain_held(
        &self,
        worker: i64,
        scope: Scope,
        pixels: u64,
        reason: String,
    ) -> Result<(), Error> {
        let column = if matches!(scope, Scope::Group(_)) { "group_name" } else { "operation" };
        self.transaction(move |database| {
            let explain = format!(
                "UPDATE jobs SET reason = $1 WHERE state = 'queued'
                    AND (worker IS NULL OR worker = $4)
                    AND reason IS NULL AND {column} = $2 AND pixels >= $3"
            );
            let pixels = pixels.cast_signed().into();
            let values = [(&reason).into(), scope.columns().1.into(), pixels, worker.into()];
            database.execute(&explain, values)?;
            Ok(())
        })
        .await
    }

    /// Leaves the queued jobs of a group to later workers, because this budget is used up, unless
    /// the group has another budget in the meantime. Only jobs whose pictures have at least so many
    /// pixels are left.
    pub(crate) async fn leave_group(
        &self,
        group: &str,
        credits: f64,
        pixels: u64,
        reason: String,
    ) -> Result<(), Error> {
        let scope = Scope::Group(group.to_owned());
        self.exclusive(move |database| {
            let (now, name) = (database.now(), scope.columns().1);
            let of_group = "scope = 'group' AND name IN ($1, '')";
            let limits = Limits::read(database, of_group, [name.into()])?;
            if limits.of(&scope).budget != Some(credits) {
                return Ok(());
            }
            let leave = "UPDATE jobs SET reason = $1, left_after = (SELECT MAX(id) FROM workers),
                    changed_at = $3
                WHERE group_name = $2 AND state = 'queued' AND worker IS NULL AND pixels >= $4";
            let pixels = pixels.cast_signed().into();
            database.execute(leave, [(&reason).into(), name.into(), now.into(), pixels])?;
            Ok(())
        })
        .await
    }
}

/// Lets the present workers look at queued jobs again that a budget left to later ones.
fn free_left(
    database: &mut Database,
    condition: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<(), Error> {
    let free = format!(
        "UPDATE jobs SET left_after = NULL, reason = NULL
         WHERE state = 'queued' AND worker IS NULL AND left_after IS NOT NULL {condition}"
    );
    database.execute(&free, values)?;
    Ok(())
}

/// Returns the known costs in credits, and the number of submissions without one, of the ledger,
/// the operations, and the groups that have limits.
fn spent(database: &mut Database) -> Result<HashMap<Scope, (f64, i64)>, Error> {
    let find = "SELECT group_name, operation, SUM(credits), CAST(SUM(without_cost) AS BIGINT)
        FROM spending
        WHERE group_name = '' OR group_name IN (SELECT name FROM limits WHERE scope = 'group')
        GROUP BY group_name, operation";
    let mut spent = HashMap::<_, (f64, i64)>::new();
    for (group, operation, credits, without_cost) in
        database.rows::<(String, String, f64, i64)>(find, [])?
    {
        let scopes = if group.is_empty() {
            vec![Scope::Ledger, Scope::Operation(operation)]
        } else {
            vec![Scope::Group(group)]
        };
        for scope in scopes {
            let counted = spent.entry(scope).or_default();
            *counted = (counted.0 + credits, counted.1 + without_cost);
        }
    }
    Ok(spent)
}

#[cfg(test)]
mod tests {
    use imagekiln::types::Gen2Pro;

    use super::*;
    use crate::Job;

    /// A person may raise a budget after it refused a submission, and before the worker has left
    /// the other jobs of the group.
    #[tokio::test]
    async fn a_group_is_left_only_because_of_its_present_budget() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)";
        let insert = |database: &mut Database| database.execute(worker, []);
        ledger.transaction(insert).await.unwrap();
        ledger.add([Job::new("a", "a.jpg", Gen2Pro::new("a fox")).group("anna")]).await.unwrap();
        let reason = async || ledger.job("a").await.unwrap().unwrap().reason;
        let anna = Scope::Group("anna".to_owned());
        ledger.set_budget(Scope::EachGroup, Some(3.0)).await.unwrap();
        ledger.set_budget(anna.clone(), Some(5.0)).await.unwrap();
        ledger.leave_group("anna", 3.0, 0, "an earlier budget".to_owned()).await.unwrap();
        assert_eq!(reason().await, None);
        ledger.set_budget(anna.clone(), None).await.unwrap();
        ledger.leave_group("anna", 3.0, 0, "used up".to_owned()).await.unwrap();
        assert_eq!(reason().await.as_deref(), Some("used up"));
        ledger.pause(anna.clone()).await.unwrap();
        ledger.unpause(anna.clone()).await.unwrap();
        assert_eq!(reason().await.as_deref(), Some("used up"));
        ledger.set_budget(anna, Some(4.0)).await.unwrap();
        assert_eq!(reason().await, None);
    }

    #[tokio::test]
    async fn a_job_that_a_run_has_at_its_end_gets_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let fox = imagekiln::types::Gen2Pro::new("a red fox");
        ledger.add([Job::new("fox", "fox.jpg", fox)]).await.unwrap();
        let claim = |database: &mut Database| {
            let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)
                RETURNING id";
            let worker: i64 = database.value(worker, [])?;
            database.execute("UPDATE jobs SET worker = $1", [worker.into()])?;
            Ok(worker)
        };
        let worker = ledger.transaction(claim).await.unwrap();
        let held = Scope::Operation("gen-2-pro".to_owned());
        for (by, expected) in [(worker + 1, None), (worker, Some("used up"))] {
            ledger.explain_held(by, held.clone(), 0, "used up".to_owned()).await.unwrap();
            let reason = ledger.job("fox").await.unwrap().unwrap().reason;
            assert_eq!(reason.as_deref(), expected);
        }
    }
}
