//! Organizations and what belongs to them, as a configuration names them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::role::Role;
use crate::credits::Credits;

/// An organization, with its own credits and members.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Organization {
    /// Its name, unique among organizations. Its id is the name in lower case with dashes:
    /// `acme-labs` for `Acme Labs`.
    pub name: String,
    /// The user it belongs to, who may do everything in it. Between organizations of one owner
    /// credits can be transferred. Default: `owner`.
    #[serde(default = "owner")]
    pub owner: String,
    /// The credits it starts with. Default: 1,000,000.
    #[serde(default = "starting_credits")]
    pub credits: Credits,
    /// Users with a role in it. Default: none but the owner.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Its projects. Default: none.
    #[serde(default)]
    pub projects: Vec<Project>,
    /// Its fine-tuned models (LoRAs). Default: none.
    #[serde(default)]
    pub finetunes: Vec<Finetune>,
}

impl Organization {
    /// An organization with everything but the name at its default.
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
    /// The role in the organization, and in each project for which `projects` names no other.
    pub role: Role,
    /// Roles in single projects, by the project's id.
    #[serde(default)]
    pub projects: BTreeMap<String, Role>,
}

/// A project: what keys belong to and spending is counted for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Project {
    /// Its name, unique within the organization; its id is made from it as an organization's is.
    /// Required.
    pub name: String,
    /// Its keys. Default: none.
    pub keys: Vec<ProjectKey>,
    /// The endpoints that its keys reach: names such as `gen-2-pro` or `gen-tools/erase-v1`, as in
    /// the contract and without `/v1/`, or beginnings such as `gen-2-*`. Polling is always allowed.
    /// Default: all.
    pub endpoints: Option<Vec<String>>,
    /// What it may spend. Default: no limits.
    pub limits: Limits,
    /// How many of its tasks may be active at once. Default:
    /// [`Config::max_active_tasks`](crate::Config::max_active_tasks).
    pub max_active_tasks: Option<usize>,
}

/// A key of a project.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectKey {
    /// What it is for.
    pub name: String,
    /// The key, as `x-key` carries it: visible ASCII characters.
    pub key: String,
}

impl fmt::Debug for ProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectKey")
            .field("name", &self.name)
            .field("key", &format_args!("[redacted]"))
            .finish()
    }
}

/// Spending limits of a project in credits, each optional: a submission that would lead over one is
/// refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// From midnight to midnight, UTC.
    pub daily: Option<Credits>,
    /// From Monday to Monday, UTC.
    pub weekly: Option<Credits>,
    /// The calendar month, UTC.
    pub monthly: Option<Credits>,
}

/// A fine-tuned model (LoRA), which a request names in `finetune_id`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Finetune {
    /// Its name, unique within the organization, and without a slash.
    pub name: String,
    /// Whether other organizations may use it, as `<org_id>/<name>`. Default: `false`.
    #[serde(default)]
    pub shared: bool,
}
