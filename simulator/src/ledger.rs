//! Credits as they move: every amount leaves one account and reaches another, so that all accounts
//! together are always at zero.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::credits::Credits;

/// More entries are let go of, the oldest first; the balances keep what they did.
const MAX_KEPT: usize = 10_000;

/// Where credits are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Account {
    /// Where credits come from when they are bought or given; its balance is below zero by what was
    /// issued.
    Issued,
    /// Where credits go when a submission is charged.
    Charged,
    /// An organization's, by its id.
    Organization(Arc<str>),
}

impl Serialize for Account {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Issued => serializer.serialize_str("issued"),
            Self::Charged => serializer.serialize_str("charged"),
            Self::Organization(id) => serializer.collect_str(&format_args!("organization:{id}")),
        }
    }
}

/// A movement of credits.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// Counted from 1.
    pub number: u64,
    /// Seconds since 1970-01-01 00:00 UTC, by the simulator's clock.
    pub unix_seconds: u64,
    /// Where the credits came from.
    pub from: Account,
    /// Where they went.
    pub to: Account,
    /// How many.
    pub amount: Credits,
    /// For a charge, the id of the project.
    pub project: Option<Arc<str>>,
    /// For a charge, the id of the task.
    pub task: Option<String>,
}

/// An account has too little.
#[derive(Debug)]
pub(crate) struct Short;

/// What a charge is for.
pub(crate) struct Purpose {
    pub(crate) project: Arc<str>,
    pub(crate) task: String,
}

#[derive(Default)]
pub(crate) struct Ledger {
    /// In hundredths of a credit; below zero for [`Account::Issued`] alone.
    balances: BTreeMap<Account, i128>,
    entries: VecDeque<LedgerEntry>,
    written: u64,
}

impl Ledger {
    /// Moves credits. Nothing moves where an account other than [`Account::Issued`] has too little.
    pub(crate) fn transfer(
        &mut self,
        unix: Duration,
        from: Account,
        to: Account,
        amount: Credits,
        purpose: Option<Purpose>,
    ) -> Result<(), Short> {
        let hundredths = i128::from(amount.hundredths());
        if from != Account::Issued && self.hundredths(&from) < hundredths {
            return Err(Short);
        }
        *self.balances.entry(from.clone()).or_default() -= hundredths;
        *self.balances.entry(to.clone()).or_default() += hundredths;
        self.written += 1;
        let (project, task) = purpose.map(|purpose| (purpose.project, purpose.task)).unzip();
        self.entries.push_back(LedgerEntry {
            number: self.written,
            unix_seconds: unix.as_secs(),
            from,
            to,
            amount,
            project,
            task,
        });
        if self.entries.len() > MAX_KEPT {
            self.entries.pop_front();
        }
        Ok(())
    }

    /// What an account other than [`Account::Issued`] holds.
    pub(crate) fn balance(&self, account: &Account) -> Credits {
        Credits::from_hundredths(u64::try_from(self.hundredths(account)).unwrap_or(u64::MAX))
    }

    /// All accounts with their balances in hundredths of a credit, which add up to zero.
    pub(crate) fn balances(&self) -> impl Iterator<Item = (&Account, i128)> {
        self.balances.iter().map(|(account, balance)| (account, *balance))
    }

    /// The newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.iter().rev()
    }

    fn hundredths(&self, account: &Account) -> i128 {
        self.balances.get(account).copied().unwrap_or(0)
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
        fn it_always_balances_and_nobody_owes(moves in prop::collection::vec((0u8..5, 0u8..5, 0u64..1000), 0..60)) {
            let mut ledger = Ledger::default();
            let mut replayed = BTreeMap::<Account, i128>::new();
            for (from, to, amount) in moves {
                let (from, to) = (account(from), account(to));
                let had = ledger.hundredths(&from);
                let moved = ledger.transfer(Duration::ZERO, from.clone(), to, Credits::from_hundredths(amount), None);
                prop_assert_eq!(moved.is_err(), from != Account::Issued && had < i128::from(amount));
                prop_assert_eq!(ledger.balances().map(|(_, balance)| balance).sum::<i128>(), 0);
                for (account, balance) in ledger.balances() {
                    prop_assert!(balance >= 0 || *account == Account::Issued);
                }
            }
            for entry in ledger.newest() {
                *replayed.entry(entry.from.clone()).or_default() -= i128::from(entry.amount.hundredths());
                *replayed.entry(entry.to.clone()).or_default() += i128::from(entry.amount.hundredths());
            }
            prop_assert_eq!(replayed, ledger.balances);
        }
    }

    #[test]
    fn old_entries_go_and_balances_stay() {
        let mut ledger = Ledger::default();
        for _ in 0..MAX_KEPT + 5 {
            ledger
                .transfer(
                    Duration::ZERO,
                    Account::Issued,
                    account(2),
                    Credits::from_hundredths(1),
                    None,
                )
                .unwrap();
        }
        assert_eq!(ledger.newest().count(), MAX_KEPT);
        assert_eq!(ledger.newest().next().unwrap().number, MAX_KEPT as u64 + 5);
        assert_eq!(ledger.balance(&account(2)).hundredths(), MAX_KEPT as u64 + 5);
    }
}
