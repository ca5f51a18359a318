//! The limits that a person or a program sets. They hold for all workers at once.

use std::collections::HashMap;

use imagekiln::Request;
use imagekiln_label::{checked_credits, pixels};
use serde::Serialize;

use super::{
    StoredLimits, Subject,
    active::count_active,
    admission::refusal,
    held::free_left,
    outage::{self, Outage},
    spending::prices,
};
#[cfg(doc)]
use crate::JobState;
use crate::{
    Error, ErrorKind, Price, Prices, Scope,
    job::is_group,
    ledger::{
        Ledger,
        database::{Database, Value},
    },
    price::refused,
};

/// The highest rate, in submissions per minute.
const MAX_RATE: i64 = 6000;

/// The limits of a scope, and what counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LimitStatus {
    /// What the limits are for.
    pub scope: Scope,
    /// The budget in credits; see [`Limits::set_budget`].
    pub budget: Option<f64>,
    /// The maximum number of active tasks; see [`Limits::set_max_active`].
    pub max_active: Option<u64>,
    /// The maximum number of submissions per minute; see [`Limits::set_rate`].
    pub rate: Option<u64>,
    /// Whether the submissions are paused; see [`Limits::pause`].
    pub is_paused: bool,
    /// The known costs of the submissions in credits. 0 for [`Scope::EachGroup`].
    pub credits: f64,
    /// The number of submissions that may be billed and whose cost is not known. Budgets count each
    /// of them with the [price](Limits::set_price) of its operation.
    pub without_cost: u64,
    /// The number of active tasks.
    pub active: u64,
}

/// The limits of a ledger, from [`Ledger::limits`]: budgets, prices, active tasks, rates and
/// pauses. They hold for all workers at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'l> {
    ledger: &'l Ledger,
}

impl Ledger {
    /// Returns the limits of the ledger.
    pub fn limits(&self) -> Limits<'_> {
        Limits { ledger: self }
    }
}

impl Limits<'_> {
    /// Sets how many credits the submissions of a scope may cost, or removes the budget.
    ///
    /// The budget holds for all workers together, and also for submissions without a job by clients
    /// whose journal is the ledger. A budget of the [whole ledger](Scope::Ledger) replaces the
    /// budget of a run; all other budgets hold in addition. [`Batch::budget`](crate::Batch::budget)
    /// describes how costs are counted. Jobs that the budget of a group does not allow stay
    /// [`Queued`](JobState::Queued), with the reason, until somebody raises the budget or a later
    /// run tries them again.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): the budget is negative, infinite or not a number, or the name
    ///   of a group is not 1 to 200 bytes long.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn set_budget(self, scope: Scope, credits: Option<f64>) -> Result<(), Error> {
        let checked = credits.map(|credits| checked_credits("budget", credits)).transpose();
        let credits = checked.map_err(refused)?;
        self.set_limit(scope, "budget", credits.into()).await
    }

    /// Sets what the submissions of an operation cost, or removes the price.
    ///
    /// Budgets count jobs and submissions without a job with this price until their costs are
    /// known. When a cost of the operation is known, the highest known cost replaces the price, so
    /// that budgets reserve enough credits. A price with a part [per
    /// megapixel](Price::per_megapixel) is always used, because the cost of one size says nothing
    /// about the cost of another size. Without a price, a budget allows one submission of an
    /// operation, and no other until the response shows the cost: several submissions of unknown
    /// cost could exceed the budget.
    ///
    /// [`Price::of`] describes which size counts for a price per megapixel.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): the price is negative, infinite or not a number.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn set_price(self, operation: &str, price: Option<Price>) -> Result<(), Error> {
        let price = price.map(Price::checked).transpose().map_err(refused)?;
        let operation = operation.to_owned();
        self.ledger
            .exclusive(move |database| {
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
        self.ledger.announce();
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
    pub async fn set_max_active(self, scope: Scope, tasks: Option<u64>) -> Result<(), Error> {
        let tasks = tasks.map(|tasks| i64::try_from(tasks).unwrap_or(i64::MAX));
        self.set_limit(scope, "max_active", tasks.into()).await
    }

    /// Sets how many submissions a scope may have in any minute, or removes the rate. The ledger
    /// spreads the submissions over the minute. The rate holds for all workers together.
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget), and kind [`State`](ErrorKind::State) if
    /// the rate is not 1 to 6,000, or is for [each group](Scope::EachGroup).
    pub async fn set_rate(self, scope: Scope, per_minute: Option<u64>) -> Result<(), Error> {
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
    /// pictures are saved. A run with queued jobs of the scope waits until somebody
    /// [unpauses](Self::unpause) it.
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget).
    pub async fn pause(self, scope: Scope) -> Result<(), Error> {
        let now = self.ledger.transaction(|database| Ok(database.now())).await?;
        self.set_limit(scope, "paused_at", now.into()).await
    }

    /// Resumes the submissions of a scope after [`pause`](Self::pause). Workers of other processes
    /// notice it within a second. Unpausing the whole ledger or an operation also ends the pause of
    /// its [outages](Self::outages): the next submission tests whether the outage is over.
    ///
    /// # Errors
    ///
    /// The same errors as [`set_budget`](Self::set_budget).
    pub async fn unpause(self, scope: Scope) -> Result<(), Error> {
        if let Scope::Ledger | Scope::Operation(_) = scope {
            self.ledger.end_pause("$2 IN ('', operation)", scope.columns().1).await?;
        }
        self.set_limit(scope, "paused_at", Value::Integer(None)).await
    }

    async fn set_limit(
        self,
        scope: Scope,
        column: &'static str,
        value: Value,
    ) -> Result<(), Error> {
        if matches!(&scope, Scope::Group(name) if !is_group(name)) {
            let message = "the name of a group has 1 to 200 bytes; nothing was changed";
            return Err(Error::new(ErrorKind::State, message));
        }
        self.ledger
            .exclusive(move |database| {
                let (kind, name) = scope.columns();
                // The next turn was computed for the previous rate.
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
        self.ledger.announce();
        Ok(())
    }

    /// Returns the scopes that have limits, with what counts for them.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn list(self) -> Result<Vec<LimitStatus>, Error> {
        self.ledger
            .transaction(|database| {
                let limits = StoredLimits::read(database, "TRUE", [])?;
                let active = count_active(database, false)?;
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

    /// Returns what submissions cost: the prices that were [set](Self::set_price), and the known
    /// costs.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    #[doc(hidden)]
    pub async fn prices(self) -> Result<Prices, Error> {
        self.ledger.transaction(prices).await
    }

    /// Returns the outages: why the ledger submits nothing now, or nothing of some operations,
    /// although no limit forbids it. The service refuses submissions, or does not say whether it
    /// accepts them.
    ///
    /// An outage begins
    ///
    /// - when the service refuses a submission for a reason that concerns all of them: no credits
    ///   or an unknown key (402, 401), 429 after the retries of the client, or no connection;
    /// - when the service refuses an operation (403, 404 and other status codes), for this
    ///   operation only;
    /// - after [three submissions in a row](imagekiln::Outcomes) whose responses were lost, because
    ///   each of them may be billed.
    ///
    /// During an outage, no process of the ledger submits anything of the scope. After a pause, one
    /// submission tests whether the outage has ended. The pauses grow from one second to ten
    /// minutes, or last as long as the service asks for, at most a day. [`unpause`](Self::unpause)
    /// ends a pause. Polls and downloads continue. An outage of lost responses also ends if a
    /// webhook brings the task of one of them.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](crate::ErrorKind::Ledger): the ledger cannot be read.
    pub async fn outages(self) -> Result<Vec<Outage>, Error> {
        let all = "until IS NOT NULL ORDER BY operation";
        self.ledger.transaction(|database| outage::find(database, all, [])).await
    }

    /// Returns why the limits of the ledger do not allow a job with this request and group now, or
    /// `None` if they do. Does not check the limits of a run.
    ///
    /// The error has the kind `Paused`, `ActiveTasks`, `Rate` or `Budget`.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](crate::ErrorKind::Ledger): the ledger cannot be read.
    #[doc(hidden)]
    pub async fn refusal(
        self,
        request: &Request,
        group: Option<&str>,
    ) -> Result<Option<Error>, Error> {
        let (operation, pixels) = (request.operation().name, pixels(request));
        let group = group.map(str::to_owned);
        let refused = self
            .ledger
            .transaction(move |database| {
                refusal(database, Subject { operation, group: group.as_deref() }, pixels)
            })
            .await?;
        Ok(refused.map(Into::into))
    }
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
