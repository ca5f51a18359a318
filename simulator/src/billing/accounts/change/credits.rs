//! Grants and transfers of credits.

use std::time::Duration;

use super::{AccountError, AccountErrorKind, Act, ChangeResult};
use crate::billing::{
    accounts::{Accounts, Permission, audit::Actor},
    credits::Credits,
    ledger::Account,
};

impl Act<'_> {
    /// Adds credits to an organization, as if it had bought them.
    pub(crate) fn grant(self, organization: &str, amount: Credits) -> ChangeResult {
        let (unix, action) = (self.unix, format!("add {amount} credits"));
        self.change(organization, None, Permission::ManageCredits, action, |accounts| {
            accounts.move_credits(
                unix,
                Account::Issued,
                Account::Organization(organization.into()),
                amount,
            )
        })
    }

    /// Moves credits between two organizations of the same owner. Only that owner and the operator
    /// may do it. It is recorded in the audit logs of both.
    pub(crate) fn transfer(self, from: &str, to: &str, amount: Credits) -> ChangeResult {
        let Self { accounts, actor, unix } = self;
        let owners = (
            accounts.organization_mut(from)?.owner.clone(),
            accounts.organization_mut(to)?.owner.clone(),
        );
        let allowed = owners.0 == owners.1
            && match &actor {
                Actor::Operator => true,
                Actor::User(user) => *user == owners.0,
            };
        let moved = if !allowed {
            let detail = "only the owner of both organizations can transfer credits between them";
            Err(AccountError::new(AccountErrorKind::Forbidden, detail))
        } else if amount == Credits::ZERO {
            let detail = "the amount of a transfer must be above zero";
            Err(AccountError::new(AccountErrorKind::Invalid, detail))
        } else if from == to {
            Err(AccountError::new(
                AccountErrorKind::Invalid,
                "source and destination are the same organization",
            ))
        } else {
            let [from, to] = [from, to].map(|id| Account::Organization(id.into()));
            accounts.move_credits(unix, from, to, amount)
        };
        let done = moved.is_ok();
        for (organization, action) in [
            (from, format!("transfer {amount} credits to `{to}`")),
            (to, format!("receive {amount} credits from `{from}`")),
        ] {
            accounts.audit.write(unix, actor.name(), Some(organization), action, done);
        }
        moved
    }
}

impl Accounts {
    fn move_credits(
        &mut self,
        unix: Duration,
        from: Account,
        to: Account,
        amount: Credits,
    ) -> ChangeResult {
        let short = |_| {
            AccountError::new(
                AccountErrorKind::Conflict,
                format!("the balance is less than {amount} credits"),
            )
        };
        self.ledger.transfer(unix, from, to, amount, None).map_err(short)
    }
}
