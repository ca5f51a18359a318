//! Roles and their permissions.

use serde::{Deserialize, Serialize};

/// The role of a member in an organization, or in one of its projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// May do everything except transfer credits, which only the owner can.
    Administrator,
    /// Manages keys and finetunes.
    Developer,
    /// Manages credits and spending limits.
    BillingManager,
    /// Can only view.
    Viewer,
}

/// An action that requires a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Permission {
    /// View projects and their usage.
    View,
    /// Create, reveal and revoke keys.
    ManageKeys,
    /// Add and remove finetunes.
    ManageFinetunes,
    /// Create projects, and set their endpoints and their maximum of active tasks.
    ManageProjects,
    /// Set daily, weekly and monthly spending limits.
    SetLimits,
    /// View the ledger, and add credits.
    ManageCredits,
    /// Add and remove members, and assign roles.
    ManageMembers,
    /// View the audit log.
    ViewAuditLog,
}

impl Permission {
    /// All permissions, in the order of the table.
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
    /// All roles, in the order of the table.
    pub const ALL: [Self; 4] =
        [Self::Administrator, Self::Developer, Self::BillingManager, Self::Viewer];

    /// Whether the role has a permission.
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
