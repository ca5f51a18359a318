//! What a model may spend. Only the person who starts the server can change it.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    path::PathBuf,
    sync::Mutex,
    time::Duration,
};

use clap::Args;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex as Queue, MutexGuard},
    time::{Instant, sleep},
};

use super::keys;
use crate::{
    failure::Failure,
    history::{self, Entry, Prices},
    making::costs::{Expected, exceeds},
    process::{Process, lock},
    text::{Clock, now, parse::credits},
};
use imagekiln::{journal::State, text::Credits};

/// How long to wait for the submission of another server, and how often to check whether it has
/// ended.
const LONGEST_TURN: Duration = Duration::from_secs(120);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// The limits in credits that the person has set.
#[derive(Debug, Clone, Copy, Args)]
pub struct Limits {
    /// The credits that this server may spend until it ends
    #[arg(long = "budget", value_name = "CREDITS", value_parser = credits)]
    pub start: Option<f64>,
    /// What all servers may spend in a day: those with this history, in a day of UTC
    #[arg(long = "budget-per-day", value_name = "CREDITS", value_parser = credits)]
    pub day: Option<f64>,
    /// The maximum cost of one picture, also if its price is not known
    #[arg(long = "most-per-picture", value_name = "CREDITS", value_parser = credits)]
    pub picture: Option<f64>,
}

pub struct Budget {
    limits: Limits,
    /// What the submissions of this server have cost or may have cost, in credits.
    spent: Mutex<f64>,
    /// Only one submission is in progress at a time, here and in other servers that use the lock
    /// file: the budget cannot decide about the next one before the response shows the cost.
    queue: Queue<()>,
    lock: PathBuf,
}

/// The turn of a submission.
pub struct Turn<'b> {
    budget: &'b Budget,
    reserved: f64,
    _here: MutexGuard<'b, ()>,
    _everywhere: File,
}

impl Budget {
    /// The servers that share a lock file share the budget of a day.
    pub fn new(limits: Limits, lock: PathBuf) -> Self {
        Self { limits, spent: Mutex::default(), queue: Queue::default(), lock }
    }

    /// Waits until no other submission is in progress, in this server or in another one.
    pub async fn turn(&self) -> Result<Turn<'_>, Failure> {
        let here = self.queue.lock().await;
        let what = || format!("could not lock {}", self.lock.display());
        let failed = |error| Failure::file(what(), error);
        let everywhere =
            File::options().create(true).append(true).open(&self.lock).map_err(failed)?;
        let started = Instant::now();
        // The holder of the lock may be suspended, and must not block this server for ever.
        while let Err(error) = everywhere.try_lock() {
            match error {
                TryLockError::Error(error) => return Err(failed(error)),
                TryLockError::WouldBlock if started.elapsed() > LONGEST_TURN => {
                    return Err(failed(io::ErrorKind::TimedOut.into()).advise(
                        "nothing was sent: another `kiln mcp` is submitting, or it hangs",
                    ));
                }
                TryLockError::WouldBlock => sleep(BETWEEN_TRIES).await,
            }
        }
        Ok(Turn { budget: self, reserved: 0.0, _here: here, _everywhere: everywhere })
    }

    /// Returns what is left of each budget in credits, by name.
    fn left(&self, process: &Process) -> Vec<(&'static str, f64)> {
        let start = self.limits.start.map(|limit| ("this_start", limit - *lock(&self.spent)));
        let day =
            self.limits.day.map(|limit| ("today", limit - Today::read(process).spent(self.limits)));
        start.into_iter().chain(day).collect()
    }

    /// Returns what is left, for a result of a call. If more was spent than a budget allows, also
    /// returns the excess.
    pub fn to_json(&self, process: &Process) -> Value {
        let picture = self.limits.picture.map(|most| ("most_per_picture".to_owned(), most));
        let left = self.left(process).into_iter().flat_map(|(name, left)| {
            let over = (left < 0.0).then(|| (format!("over_{name}"), rounded(-left)));
            [(format!("left_{name}"), rounded(left.max(0.0)))].into_iter().chain(over)
        });
        json!(picture.into_iter().chain(left).collect::<BTreeMap<_, _>>())
    }

    /// Returns what was spent, and the limits.
    pub fn spending(&self, process: &Process) -> Value {
        let today = rounded(Today::read(process).spent(self.limits));
        json!({
            "this_start": { "spent": rounded(*lock(&self.spent)), "limit": self.limits.start },
            "today": { "spent": today, "limit": self.limits.day },
            "budget": self.to_json(process),
        })
    }

    /// Returns the credits that a picture counts as. A picture without a known price counts as the
    /// most that the person allows for one picture.
    pub fn cost(&self, expected: Option<Expected>) -> f64 {
        expected.map(|expected| expected.credits).or(self.limits.picture).unwrap_or_default()
    }

    /// Refuses a picture that costs more than is left.
    pub fn check(&self, process: &Process, expected: Option<Expected>) -> Result<(), Failure> {
        let Limits { picture, .. } = self.limits;
        let known = expected.map(|expected| expected.credits);
        let price = match (known, picture) {
            (Some(cost), _) => format!("the picture costs about {:.2} credits", Credits(cost)),
            (None, Some(most)) => format!("the picture may cost {:.2} credits", Credits(most)),
            (None, None) => "the price of the picture is not known".to_owned(),
        };
        let refused = |left: f64, of: &str| {
            let left = Credits(left.max(0.0));
            Err(Failure::over_budget(format!("{price}, and {left:.2} are left of {of}")))
        };
        if let (Some(cost), Some(most)) = (known, picture)
            && exceeds(cost, most)
        {
            return refused(most, "what one picture may cost");
        }
        if known.is_none() && picture.is_none() && Today::read(process).has_unpriced() {
            return Err(Failure::over_budget(format!(
                "{price}, and neither is that of an earlier one that may have been billed"
            ))
            .advise("start the server with --most-per-picture, or find out what it cost"));
        }
        let cost = self.cost(expected);
        for (name, left) in self.left(process) {
            // A picture of unknown price may count as 0 credits. It still needs a budget that is
            // not used up.
            if left <= 0.0 && cost == 0.0 && known.is_none() || exceeds(cost, left) {
                return refused(left, &format!("the budget of {}", name.replace('_', " ")));
            }
        }
        Ok(())
    }
}

impl Turn<'_> {
    /// Reserves the cost of a picture. Refuses a picture that costs more than is left, unless the
    /// person was asked and has `allowed` as much for it.
    pub fn reserve(
        &mut self,
        process: &Process,
        expected: Option<Expected>,
        allowed: Option<f64>,
    ) -> Result<(), Failure> {
        let cost = self.budget.cost(expected);
        if allowed.is_none_or(|most| exceeds(cost, most)) {
            self.budget.check(process, expected)?;
        }
        self.reserved = cost;
        Ok(())
    }

    /// Counts a submission that was accepted, or may have been. If its cost is not known, it counts
    /// with the credits that were reserved.
    pub fn spent(self, cost: Option<f64>) {
        *lock(&self.budget.spent) += cost.unwrap_or(self.reserved);
    }
}

/// Rounds credits to four decimals, to hide the rounding errors of sums.
fn rounded(credits: f64) -> f64 {
    (credits * 1e4).round() / 1e4
}

/// Whether there is no response, because it was lost, or because the submission is in flight.
fn is_unknown(entry: &Entry) -> bool {
    *entry.record.state() == State::Unknown
}

/// The submissions of all calls of this day (UTC), including those of other servers.
struct Today {
    entries: Vec<Entry>,
    prices: Prices,
}

impl Today {
    fn read(process: &Process) -> Self {
        let clock = Clock::utc();
        let today = clock.day(now());
        let day = |entry: &Entry| clock.day(entry.at());
        let entries = history::read(process).into_iter().flatten().flatten();
        let entries: Vec<Entry> = entries
            .take_while(|entry| day(entry) >= today)
            .filter(|entry| keys::is_of_call(&entry.record))
            .collect();
        let prices = if entries.iter().any(is_unknown) {
            Prices::of(history::read(process).into_iter().flatten().flatten())
        } else {
            Prices::default()
        };
        Self { entries, prices }
    }

    /// Returns what the submissions have cost or may have cost, in credits.
    fn spent(&self, limits: Limits) -> f64 {
        let costs = self.entries.iter().map(|entry| {
            let expected = || self.prices.highest(entry).or(limits.picture);
            let cost = entry.cost();
            cost.or_else(|| if is_unknown(entry) { expected() } else { None }).unwrap_or_default()
        });
        costs.sum()
    }

    /// Whether one of the submissions was or may have been billed, and nobody knows for how much.
    /// It counts as 0 credits, so there must not be a second one: the budget would no longer limit
    /// anything. A submission in flight does not count yet: its server has the turn, so a call that
    /// passes here is checked again after the response.
    fn has_unpriced(&self) -> bool {
        self.entries.iter().any(|entry| match entry.record.task() {
            Some(task) => task.cost().is_none(),
            None => {
                let is_lost = is_unknown(entry) && !entry.is_in_use;
                is_lost && self.prices.highest(entry).is_none()
            }
        })
    }
}
