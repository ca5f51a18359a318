//! The settings of organizations and everything in them, and the roles of their members.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{billing::credits::Credits, values::secret::Secret};

/// An organization, with its own credits and members.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Organization {
    /// The name, which is unique among organizations. The id of the organization is its name in
    /// lower case with dashes: `acme-labs` for `Acme Labs`.
    pub name: String,
    /// The user who owns the organization, and may do everything in it. Credits can be transferred
    /// between organizations of the same owner. Default: `owner`.
    #[serde(default = "owner")]
    pub owner: String,
    /// The initial credits. Default: 1,000,000.
    #[serde(default = "starting_credits")]
    pub credits: Credits,
    /// The users with a role in the organization. Default: only the owner.
    #[serde(default)]
    pub members: Vec<Member>,
    /// The projects. Default: none.
    #[serde(default)]
    pub projects: Vec<Project>,
    /// The fine-tuned models (LoRAs). Default: none.
    #[serde(default)]
    pub finetunes: Vec<Finetune>,
}

impl Organization {
    /// Creates an organization in which everything except the name has its default.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            owner: owner(),
            credits: starting_credits(),
            members: Vec::new(),
            projects: Vec::new(),
            finetunes: Vec::new(),
        }
    }
}

fn owner() -> String {
    "owner".to_owned()
}

fn starting_credits() -> Credits {
    Credits::from_hundredths(100_000_000)
}

/// A user with a role.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The user's name.
    pub user: String,
    /// The role in the organization, and in each project that is not listed in `projects`.
    pub role: Role,
    /// Roles in single projects, by project id.
    #[serde(default)]
    pub projects: BTreeMap<String, Role>,
}

/// A project, which owns keys and counts spending.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Project {
    /// The name, which is unique within the organization. The id is derived from it like that of an
    /// organization. Required.
    pub name: String,
    /// The keys. Default: none.
    pub keys: Vec<ProjectKey>,
    /// The endpoints to which the keys have access: names such as `gen-2-pro` or
    /// `gen-tools/erase-v1`, as in the contract but without `/v1/`, or prefixes such as `gen-2-*`.
    /// Polling is always allowed. Default: all.
    pub endpoints: Option<Vec<String>>,
    /// The spending limits. Default: none.
    pub limits: Limits,
    /// The maximum number of active tasks. Default:
    /// [`Config::max_active_tasks`](crate::Config::max_active_tasks).
    pub max_active_tasks: Option<usize>,
}

/// A key of a project.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectKey {
    /// A label.
    pub name: String,
    /// The value of `x-key`: visible ASCII characters.
    pub key: Secret<String>,
}

/// The spending limits of a project, in credits. Each limit is optional. A submission that would
/// exceed one of them is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Per day, from midnight UTC.
    pub daily: Option<Credits>,
    /// Per week, from Monday UTC.
    pub weekly: Option<Credits>,
    /// Per calendar month, UTC.
    pub monthly: Option<Credits>,
}

/// A fine-tuned model (LoRA), which a request names in `finetune_id`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Finetune {
    /// The name, which is unique within the organization, and contains no slash.
    pub name: String,
    /// Whether other organizations may use it, as `<org_id>/<name>`. Default: `false`.
    #[serde(default)]
    pub shared: bool,
}

/// The role of a member in an organization, or in one of its projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// May do everything except transfer credits, which only the owner and the operator may do.
    Administrator,
    /// Manages keys and finetunes.
    Developer,
    /// Manages credits and spending limits, and views the audit log.
    BillingManager,
    /// May only view projects and their usage.
    Viewer,
}

/// A kind of action, for which a user needs a role that permits it.
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
    /// All permissions, in the order of the table in the documentation.
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
    /// All roles, in the order of the table in the documentation.
    pub const ALL: [Self; 4] =
        [Self::Administrator, Self::Developer, Self::BillingManager, Self::Viewer];

    /// Whether the role permits this kind of action.
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
