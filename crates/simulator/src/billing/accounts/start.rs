//! Creates the accounts that a configuration describes, and their keys.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    Accounts, Finetune, Organization, OrganizationRecord, Project, ProjectKey, ProjectRecord,
    ProjectRef, Spending,
    finetunes::{StoredFinetune, is_finetune_name},
};
use crate::{
    billing::ledger::Account,
    contract::key_header,
    error::StartError,
    runtime::chance::hex,
    values::{MAX_COUNT, secret::Secret},
};

/// The name of the organization that owns the legacy keys, and of its project.
const DEFAULT: &str = "Default";

/// The finetune of the organization Default, unless the configuration defines that organization.
const EXAMPLE_FINETUNE: &str = "fox-style";

impl Accounts {
    /// Creates the organizations of the configuration, and the organization Default with the legacy
    /// keys.
    pub(crate) fn new(
        mut organizations: Vec<Organization>,
        legacy_keys: &[Secret<String>],
        unix: Duration,
    ) -> Result<Self, StartError> {
        let is_default = |name: &str| id_of(name) == id_of(DEFAULT);
        if !organizations.iter().any(|one| is_default(&one.name)) {
            organizations.push(Organization {
                finetunes: vec![Finetune { name: EXAMPLE_FINETUNE.to_owned(), shared: true }],
                ..Organization::new(DEFAULT)
            });
        }
        let legacy_keys = legacy_keys.iter().enumerate();
        let legacy_keys = legacy_keys.map(|(index, key)| ProjectKey {
            name: format!("key {}", index + 1),
            key: key.clone(),
        });
        let mut accounts = Self::default();
        for mut organization in organizations {
            if is_default(&organization.name) {
                let projects = &mut organization.projects;
                match projects.iter_mut().find(|project| is_default(&project.name)) {
                    Some(project) => project.keys.extend(legacy_keys.clone()),
                    None => projects.push(Project {
                        name: DEFAULT.to_owned(),
                        keys: legacy_keys.clone().collect(),
                        ..Project::default()
                    }),
                }
            }
            accounts.open(organization, unix)?;
        }
        Ok(accounts)
    }

    fn open(&mut self, settings: Organization, unix: Duration) -> Result<(), StartError> {
        let name = settings.name.clone();
        let wrong =
            |problem: String| StartError::setting("organizations", format!("`{name}`: {problem}"));
        let id = id_of(&settings.name)
            .ok_or_else(|| wrong("the name must contain a letter or digit".to_owned()))?;
        if self.organizations.contains_key(&id) {
            return Err(wrong(format!("the id `{id}` is already taken")));
        }
        let members = settings.members.into_iter().map(|member| (member.user.clone(), member));
        let finetunes = settings.finetunes.into_iter();
        let mut organization = OrganizationRecord {
            name: settings.name,
            owner: settings.owner,
            members: members.collect(),
            projects: BTreeMap::new(),
            finetunes: finetunes
                .map(|finetune| (finetune.name.clone(), StoredFinetune::usable(finetune)))
                .collect(),
        };
        for project in settings.projects {
            self.add_project(&mut organization, &id, project).map_err(wrong)?;
        }
        organization.check(&id).map_err(wrong)?;
        let account = Account::Organization(Arc::clone(&id));
        self.organizations.insert(id, organization);
        // This cannot fail, because the account of issued credits has no limit.
        let _ = self.ledger.transfer(unix, Account::Issued, account, settings.credits, None);
        Ok(())
    }

    fn add_project(
        &mut self,
        organization: &mut OrganizationRecord,
        organization_id: &Arc<str>,
        project: Project,
    ) -> Result<(), String> {
        let id = id_of(&project.name).ok_or_else(|| {
            format!("the project name `{}` must contain a letter or digit", project.name)
        })?;
        let here =
            ProjectRef { organization: Arc::clone(organization_id), project: Arc::clone(&id) };
        for key in project.keys {
            if !is_sendable(key.key.expose()) {
                let name = key.name;
                return Err(format!("the key `{name}` must consist of visible ASCII characters"));
            }
            if self.add_key(key, here.clone()).is_none() {
                return Err("a key occurs more than once".to_owned());
            }
        }
        let record = ProjectRecord {
            endpoints: project.endpoints,
            limits: project.limits,
            max_active_tasks: project.max_active_tasks,
            name: project.name,
            spending: Spending::default(),
        };
        match organization.projects.insert(Arc::clone(&id), record) {
            Some(_) => Err(format!("the project id `{id}` occurs more than once")),
            None => Ok(()),
        }
    }

    /// Adds a key and returns its id. Returns `None` if the key already exists.
    pub(crate) fn add_key(&mut self, key: ProjectKey, project: ProjectRef) -> Option<String> {
        let ProjectKey { name, key: secret } = key;
        let digest = digest(secret.expose());
        if self.keys.contains_key(&digest) {
            return None;
        }
        self.keys_made += 1;
        let masked = masked(secret.expose());
        let key = Key { number: self.keys_made, name, masked, project };
        let id = key.id();
        self.keys.insert(digest.clone(), key);
        self.secrets.insert(digest, secret);
        Some(id)
    }
}

impl OrganizationRecord {
    /// Checks an organization that somebody wrote, in the settings or in a snapshot.
    pub(super) fn check(&self, id: &str) -> Result<(), String> {
        let projects = self.projects.iter();
        let names = projects.map(|(id, project)| (&**id, &project.name)).chain([(id, &self.name)]);
        let has_id = |(id, name): (&str, &String)| id_of(name).is_some_and(|made| *made == *id);
        if !names.into_iter().all(has_id) {
            return Err("the id of the organization or of a project is not that of its name".into());
        }
        let mut finetunes = self.finetunes.iter();
        if !finetunes.all(|(name, one)| *name == one.finetune.name && is_finetune_name(name)) {
            return Err("a finetune name must not be empty or contain a slash".to_owned());
        }
        if self.projects.values().any(|project| project.spending.usage.submissions > MAX_COUNT) {
            return Err("the usage of a project is more than 2^53 submissions".to_owned());
        }
        for (user, member) in &self.members {
            let mut projects = member.projects.keys();
            if let Some(unknown) = projects.find(|id| !self.projects.contains_key(id.as_str())) {
                return Err(format!("`{user}` has a role in the unknown project `{unknown}`"));
            }
            if *user != member.user {
                return Err(format!("the member `{user}` has another name"));
            }
        }
        Ok(())
    }
}

/// Derives an id from a name: in lower case, with a dash in place of each run of characters that
/// are neither letters nor digits.
pub(crate) fn id_of(name: &str) -> Option<Arc<str>> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let id = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    (!id.is_empty()).then(|| id.into())
}

/// The SHA-256 digest of a key, by which the accounts find the key.
pub(super) fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

/// What the accounts store of a key, without the key itself.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) masked: String,
    pub(super) project: ProjectRef,
}

impl Key {
    pub(super) fn id(&self) -> String {
        format!("key-{}", self.number)
    }
}

/// The maximum number of characters of a key to show.
const MAX_SHOWN: usize = 4;

/// Masks a key: shows only its end, of at most four characters and at most a third of the key. That
/// is enough to tell the short keys of tests apart.
pub(super) fn masked(secret: &str) -> String {
    let hidden = secret.len() - MAX_SHOWN.min(secret.len() / 3);
    format!("…{}", secret.get(hidden..).unwrap_or_default())
}

/// Returns the masked key of a request, even if the key is not valid.
pub(crate) fn masked_key(headers: &HeaderMap) -> Option<String> {
    headers.get(key_header()).map(|key| masked(key.to_str().unwrap_or_default()))
}

/// Whether a key can be sent in a header, because it consists of visible ASCII characters.
pub(crate) fn is_sendable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
