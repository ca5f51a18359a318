//! The ledger: movements of credits between accounts. The sum of all balances is always zero.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use imagekiln_painter::paint::integer;
use serde::{Deserialize, Serialize};

use super::credits::Credits;
use crate::{http::response::Problem, values::log::NumberedLog};

/// The maximum number of entries to keep. Above it, the oldest are dropped, which does not change
/// the balances.
const MAX_KEPT: usize = 10_000;

/// What the account of an organization starts with in JSON, before the id.
const ORGANIZATION: &str = "organization:";

/// An account of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Account {
    /// The source of credits that organizations buy or get. Its balance is minus the sum of these
    /// credits.
    Issued,
    /// The destination of the credits that submissions cost.
    Charged,
    /// The account of the organization with this id.
    Organization(Arc<str>),
}

impl From<Account> for String {
    fn from(account: Account) -> Self {
        match account {
            Account::Issued => "issued".to_owned(),
            Account::Charged => "charged".to_owned(),
            Account::Organization(id) => format!("{ORGANIZATION}{id}"),
        }
    }
}

impl TryFrom<String> for Account {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match (text.as_str(), text.strip_prefix(ORGANIZATION)) {
            ("issued", _) => Ok(Self::Issued),
            ("charged", _) => Ok(Self::Charged),
            (_, Some(id)) => Ok(Self::Organization(id.into())),
            _ => Err("expected `issued`, `charged`, or `organization:` and an id"),
        }
    }
}

/// A movement of credits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The number of the entry, counted from 1.
    pub number: u64,
    /// The time of the movement: seconds since 1970-01-01 00:00 UTC, on the simulator's clock.
    pub unix_seconds: u64,
    /// The account from which the credits were taken.
    pub from: Account,
    /// The account to which the credits were added.
    pub to: Account,
    /// The number of credits.
    pub amount: Credits,
    /// For a charge, the id of the project.
    pub project: Option<Arc<str>>,
    /// For a charge, the id of the task.
    pub task: Option<String>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ledger {
    /// The balances. Only the balance of [`Account::Issued`] can be negative.
    balances: BTreeMap<Account, Balance>,
    entries: NumberedLog<LedgerEntry>,
}

/// A balance in hundredths of a credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Balance(#[serde(with = "integer")] i128);

impl Ledger {
    /// Moves credits from one account to another. If the balance of `from` is too low, fails and
    /// moves nothing. [`Account::Issued`] has no limit. `purpose` is the project and the task for
    /// which credits are charged.
    pub(crate) fn transfer(
        &mut self,
        unix: Duration,
        from: Account,
        to: Account,
        amount: Credits,
        purpose: Option<(Arc<str>, String)>,
    ) -> Result<(), Problem> {
        let hundredths = i128::from(amount.hundredths());
        if from != Account::Issued && self.hundredths(&from) < hundredths {
            let detail = format!("the balance is less than {amount} credits");
            return Err(Problem::conflict(detail));
        }
        self.balances.entry(from.clone()).or_default().0 -= hundredths;
        self.balances.entry(to.clone()).or_default().0 += hundredths;
        let (project, task) = purpose.unzip();
        self.entries.write(MAX_KEPT, |number| LedgerEntry {
            number,
            unix_seconds: unix.as_secs(),
            from,
            to,
            amount,
            project,
            task,
        });
        Ok(())
    }

    /// Returns the balance of an account other than [`Account::Issued`].
    pub(crate) fn balance(&self, account: &Account) -> Credits {
        Credits::from_hundredths(u64::try_from(self.hundredths(account)).unwrap_or(u64::MAX))
    }

    /// Yields all accounts with their balances in hundredths of a credit, which add up to zero.
    pub(crate) fn balances(&self) -> impl Iterator<Item = (&Account, i128)> {
        self.balances.iter().map(|(account, Balance(hundredths))| (account, *hundredths))
    }

    /// Yields the entries, newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.newest()
    }

    fn hundredths(&self, account: &Account) -> i128 {
        self.balances.get(account).map_or(0, |Balance(hundredths)| *hundredths)
    }

    /// Checks a ledger that was read from a snapshot. `exists` returns whether there is an
    /// organization with this id.
    pub(crate) fn check(&self, exists: impl Fn(&str) -> bool) -> Result<(), &'static str> {
        let is_known = |account: &Account| match account {
            Account::Issued | Account::Charged => true,
            Account::Organization(id) => exists(id),
        };
        let most = i128::from(u64::MAX);
        let is_valid = |(account, balance): (&Account, i128)| match account {
            Account::Issued => (-most..=0).contains(&balance),
            _ => (0..=most).contains(&balance),
        };
        let moved = self.newest().flat_map(|entry| [&entry.from, &entry.to]);
        if !self.balances.keys().chain(moved).all(is_known) {
            Err("an account is that of an unknown organization")
        } else if !self.balances().all(is_valid) {
            Err("only the balance of `issued` may be negative, and none may exceed 2^64")
        } else if self.balances().map(|(_, balance)| balance).sum::<i128>() != 0 {
            Err("the balances do not add up to zero")
        } else if !self.entries.is_in_order(|entry| entry.number) {
            Err("the numbers of the ledger's entries do not ascend")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn account(number: u8) -> Account {
        match number {
            0 => Account::Issued,
            1 => Account::Charged,
            other => Account::Organization(other.to_string().into()),
        }
    }

    proptest! {
        #[test]
        fn balances_add_up_to_zero_and_are_never_negative(
            moves in prop::collection::vec((0u8..5, 0u8..5, 0u64..1000), 0..60)
        ) {
            let mut ledger = Ledger::default();
            let mut replayed = BTreeMap::<Account, i128>::new();
            for (from, to, amount) in moves {
                let (from, to) = (account(from), account(to));
                let had = ledger.hundredths(&from);
                let fails = from != Account::Issued && had < i128::from(amount);
                let amount = Credits::from_hundredths(amount);
                let moved = ledger.transfer(Duration::ZERO, from, to, amount, None);
                prop_assert_eq!(moved.is_err(), fails);
                prop_assert_eq!(ledger.balances().map(|(_, balance)| balance).sum::<i128>(), 0);
                for (account, balance) in ledger.balances() {
                    prop_assert!(balance >= 0 || *account == Account::Issued);
                }
            }
            for entry in ledger.newest() {
                let amount = i128::from(entry.amount.hundredths());
                *replayed.entry(entry.from.clone()).or_default() -= amount;
                *replayed.entry(entry.to.clone()).or_default() += amount;
            }
            let balances = ledger.balances().map(|(account, balance)| (account.clone(), balance));
            prop_assert_eq!(replayed, balances.collect());
            prop_assert_eq!(ledger.check(|_| true), Ok(()));
        }
    }
}
