//! The ledger in a snapshot.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Account, Ledger, LedgerEntry, MAX_KEPT};
use crate::values::{
    log::NumberedLog,
    saved::{RestoreError, Restored, check_text, ensure},
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedLedger {
    balances: BTreeMap<Account, Hundredths>,
    /// Oldest first.
    entries: Vec<LedgerEntry>,
}

/// A balance in hundredths of a credit, as text, because JSON parsers round large numbers.
#[derive(Clone, Copy)]
struct Hundredths(i128);

impl Serialize for Hundredths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Hundredths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| de::Error::custom("the text is not an integer"))
    }
}

impl<'de> Deserialize<'de> for Account {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match (text.as_str(), text.strip_prefix("organization:")) {
            ("issued", _) => Ok(Self::Issued),
            ("charged", _) => Ok(Self::Charged),
            (_, Some(id)) => Ok(Self::Organization(id.into())),
            _ => {
                Err(de::Error::custom("expected `issued`, `charged`, or `organization:` and an id"))
            }
        }
    }
}

impl SavedLedger {
    pub(crate) fn of(ledger: &Ledger) -> Self {
        let balances = ledger.balances().map(|(account, sum)| (account.clone(), Hundredths(sum)));
        let mut entries: Vec<_> = ledger.newest().cloned().collect();
        entries.reverse();
        Self { balances: balances.collect(), entries }
    }

    /// `has_account` and `has_project` are whether an organization, or its project, exists.
    pub(crate) fn restore(
        &self,
        has_account: impl Fn(&str) -> bool,
        has_project: impl Fn(&str, &str) -> bool,
    ) -> Restored<Ledger> {
        let is_known = |account: &Account| match account {
            Account::Issued | Account::Charged => true,
            Account::Organization(id) => has_account(id),
        };
        let unknown = "an account is that of an unknown organization";
        ensure(self.balances.keys().all(is_known), "balances", unknown)?;
        let most = i128::from(u64::MAX);
        let is_valid = |(account, Hundredths(sum)): (&Account, &Hundredths)| {
            let least = if *account == Account::Issued { -most } else { 0 };
            (least..=most).contains(sum)
        };
        let problem = "only the balance of `issued` may be negative, and none may exceed 2^64";
        ensure(self.balances.iter().all(is_valid), "balances", problem)?;
        let sum: i128 = self.balances.values().map(|Hundredths(sum)| sum).sum();
        ensure(sum == 0, "balances", "the balances do not add up to zero")?;
        for (index, entry) in self.entries.iter().enumerate() {
            let check = || {
                let accounts = [&entry.from, &entry.to];
                ensure(accounts.into_iter().all(is_known), "", unknown)?;
                let project = entry.project.as_deref().is_none_or(|project| match &entry.from {
                    Account::Organization(id) => has_project(id, project),
                    _ => false,
                });
                ensure(project, "project", "the organization has no project of this id")?;
                entry.task.iter().try_for_each(|task| check_text(task, "task"))
            };
            check().map_err(|error: RestoreError| error.within(format!("entries[{index}]")))?;
        }
        Ok(Ledger {
            balances: self.balances.iter().map(|(id, sum)| (id.clone(), sum.0)).collect(),
            entries: NumberedLog::restore(MAX_KEPT, &self.entries, |entry| entry.number)
                .map_err(|error| error.within("entries"))?,
        })
    }
}
