//! Who may do what.

use serde::{Deserialize, Serialize};

/// What a member is in an organization, or in one of its projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// May do everything but transfer credits, which is the owner's.
    Administrator,
    /// Works with keys and finetunes.
    Developer,
    /// Sees to credits and spending limits.
    BillingManager,
    /// Looks on.
    Viewer,
}

/// Something that not everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Permission {
    /// See projects and their usage.
    View,
    /// Make, reveal and revoke keys.
    ManageKeys,
    /// Add and remove finetunes.
    ManageFinetunes,
    /// Make projects, and set which endpoints they reach and how many active tasks they may have.
    ManageProjects,
    /// Set daily, weekly and monthly spending limits.
    SetLimits,
    /// See the ledger, and add credits.
    ManageCredits,
    /// Add and remove members, and give roles.
    ManageMembers,
    /// See the audit log.
    ViewAuditLog,
}

impl Permission {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 8] = [
        Self::View,
        Self::ManageKeys,
        Self::ManageFinetunes,
        Self::ManageProjects,
        Self::SetLimits,
        Self::ManageCredits,
        Self::ManageMembers,
        Self::ViewAuditLog,
    ];
}

impl Role {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 4] =
        [Self::Administrator, Self::Developer, Self::BillingManager, Self::Viewer];

    /// The permission table.
    pub fn permits(self, permission: Permission) -> bool {
        use Permission as P;
        match self {
            Self::Administrator => true,
            Self::Developer => matches!(permission, P::View | P::ManageKeys | P::ManageFinetunes),
            Self::BillingManager => {
                matches!(permission, P::View | P::SetLimits | P::ManageCredits | P::ViewAuditLog)
            }
            Self::Viewer => matches!(permission, P::View),
        }
    }
}
