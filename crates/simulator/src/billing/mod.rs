//! Billing: what submissions cost, and who pays. Contains credits and prices, the ledger, and the
//! accounts.

pub(crate) mod accounts;
pub(crate) mod credits;
pub(crate) mod ledger;
