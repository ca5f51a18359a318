//! The accounts that a configuration asks for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::audit::AuditLog;
use super::key::{Key, is_sendable};
use super::settings::{Finetune, Organization, Project, ProjectKey};
use super::spending::Spending;
use super::{Accounts, OrganizationRecord, ProjectRecord, ProjectRef};
use crate::config::Config;
use crate::error::StartError;
use crate::ledger::{Account, Ledger};

/// The name of the organization, and of the project in it, to which keys from before there were
/// projects belong.
const DEFAULT: &str = "Default";

/// The finetune that the organization Default has where the configuration does not name that
/// organization.
const EXAMPLE_FINETUNE: &str = "fox-style";

impl Accounts {
    /// The configured organizations, and Default with the keys from before there were projects.
    pub(crate) fn new(config: &Config, unix: Duration) -> Result<Self, StartError> {
        let mut accounts = Self {
            organizations: BTreeMap::new(),
            keys: BTreeMap::new(),
            key_ids: HashMap::new(),
            keys_made: 0,
            ledger: Ledger::default(),
            audit: AuditLog::default(),
        };
        let mut organizations = config.organizations.clone();
        let default = position_or_push(
            &mut organizations,
            |organization| &organization.name,
            || Organization {
                finetunes: vec![Finetune { name: EXAMPLE_FINETUNE.to_owned(), shared: true }],
                ..Organization::new(DEFAULT)
            },
        );
        if let Some(organization) = organizations.get_mut(default) {
            let project = position_or_push(
                &mut organization.projects,
                |project| &project.name,
                || Project { name: DEFAULT.to_owned(), ..Project::default() },
            );
            let keys = config.api_keys.iter().enumerate();
            let keys = keys.map(|(index, key)| ProjectKey {
                name: format!("key {}", index + 1),
                key: key.clone(),
            });
            if let Some(project) = organization.projects.get_mut(project) {
                project.keys.extend(keys);
            }
        }
        for organization in organizations {
            accounts.open(organization, unix)?;
        }
        Ok(accounts)
    }

    fn open(&mut self, settings: Organization, unix: Duration) -> Result<(), StartError> {
        let name = settings.name.clone();
        let wrong =
            |problem: String| StartError::setting("organizations", format!("`{name}`: {problem}"));
        let id = id_of(&settings.name)
            .ok_or_else(|| wrong("the name has no letter or digit".to_owned()))?;
        if self.organizations.contains_key(&id) {
            return Err(wrong(format!("the id `{id}` is taken")));
        }
        let mut organization = OrganizationRecord::new(settings.name, settings.owner);
        for member in settings.members {
            organization.members.insert(member.user.clone(), member);
        }
        for finetune in settings.finetunes {
            if !is_finetune_name(&finetune.name) {
                return Err(wrong("a finetune's name is empty or has a slash".to_owned()));
            }
            organization.finetunes.insert(finetune.name.clone(), finetune);
        }
        for project in settings.projects {
            let project_id = id_of(&project.name).ok_or_else(|| {
                wrong(format!("the project `{}` has no letter or digit", project.name))
            })?;
            let here =
                ProjectRef { organization: Arc::clone(&id), project: Arc::clone(&project_id) };
            for key in project.keys {
                if !is_sendable(&key.key) {
                    return Err(wrong(format!(
                        "the key `{}` has other than visible ASCII characters",
                        key.name
                    )));
                }
                if self.add_key(key, here.clone()).is_none() {
                    return Err(wrong("a key is there twice".to_owned()));
                }
            }
            let record = ProjectRecord {
                endpoints: project.endpoints,
                limits: project.limits,
                max_active_tasks: project.max_active_tasks,
                ..ProjectRecord::new(project.name)
            };
            if organization.projects.insert(Arc::clone(&project_id), record).is_some() {
                return Err(wrong(format!("the project id `{project_id}` is there twice")));
            }
        }
        for member in organization.members.values() {
            if let Some(unknown) =
                member.projects.keys().find(|id| !organization.projects.contains_key(id.as_str()))
            {
                return Err(wrong(format!(
                    "`{}` has a role in `{unknown}`, which is no project's id",
                    member.user
                )));
            }
        }
        let account = Account::Organization(Arc::clone(&id));
        self.organizations.insert(id, organization);
        // What is issued is never short.
        let _ = self.ledger.transfer(unix, Account::Issued, account, settings.credits, None);
        Ok(())
    }

    /// The new key's id; nothing where the key is known already.
    pub(super) fn add_key(&mut self, key: ProjectKey, project: ProjectRef) -> Option<String> {
        if self.key_ids.contains_key(&key.key) {
            return None;
        }
        self.keys_made += 1;
        let id = format!("key-{}", self.keys_made);
        self.key_ids.insert(key.key.clone(), id.clone());
        self.keys.insert(id.clone(), Key { name: key.name, secret: key.key, project });
        Some(id)
    }
}

impl OrganizationRecord {
    pub(super) fn new(name: String, owner: String) -> Self {
        Self {
            name,
            owner,
            members: BTreeMap::new(),
            projects: BTreeMap::new(),
            finetunes: BTreeMap::new(),
        }
    }
}

impl ProjectRecord {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            endpoints: None,
            limits: super::Limits::default(),
            max_active_tasks: None,
            spending: Spending::default(),
        }
    }
}

/// Where the one named Default is, which is added where there is none.
fn position_or_push<T>(
    list: &mut Vec<T>,
    name: impl Fn(&T) -> &String,
    new: impl FnOnce() -> T,
) -> usize {
    let place = list.iter().position(|item| id_of(name(item)) == id_of(DEFAULT));
    place.unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    })
}

/// The id made from a name: lower case, with a dash for each run of other characters than letters
/// and digits.
pub(super) fn id_of(name: &str) -> Option<Arc<str>> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let id = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    (!id.is_empty()).then(|| id.into())
}

/// Whether a finetune can be addressed by this name.
pub(super) fn is_finetune_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/')
}
