//! Accounts in a snapshot. Keys are saved as digests, and nothing else is secret.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    Accounts, Finetune, Limits, Member, OrganizationRecord, ProjectRecord, ProjectRef,
    audit::{AuditEntry, AuditLog},
    finetunes::{StoredFinetune, is_finetune_name},
    key::{Digest, Key, is_masked},
    spending::Spending,
    start::id_of,
};
use crate::{
    billing::ledger::SavedLedger,
    contract::Contract,
    values::saved::{
        RestoreError, Restored, ahead, check_count, check_name, check_text, ensure, moment,
    },
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedAccounts {
    organizations: Vec<SavedOrganization>,
    keys: Vec<SavedKey>,
    keys_made: u64,
    ledger: SavedLedger,
    /// Oldest first.
    audit: Vec<AuditEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedOrganization {
    name: String,
    owner: String,
    members: Vec<Member>,
    projects: Vec<SavedProject>,
    finetunes: Vec<SavedFinetune>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedProject {
    name: String,
    endpoints: Option<Vec<String>>,
    limits: Limits,
    max_active_tasks: Option<usize>,
    spending: Spending,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedFinetune {
    name: String,
    shared: bool,
    /// The task that trains it, or has trained it.
    training: Option<SavedTraining>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedTraining {
    task: String,
    /// When it ends, in nanoseconds from the moment of the snapshot.
    ends_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedKey {
    id: String,
    name: String,
    organization: Arc<str>,
    project: Arc<str>,
    sha256: Digest,
    masked: String,
}

impl SavedAccounts {
    pub(crate) fn of(accounts: &Accounts, now: Duration) -> Self {
        let organizations = accounts.organizations.values();
        let mut audit: Vec<_> = accounts.audit.newest().cloned().collect();
        audit.reverse();
        Self {
            organizations: organizations.map(|one| SavedOrganization::of(one, now)).collect(),
            keys: accounts.keys.iter().map(|(id, key)| SavedKey::of(id, key)).collect(),
            keys_made: accounts.keys_made,
            ledger: SavedLedger::of(&accounts.ledger),
            audit,
        }
    }

    pub(crate) fn restore(&self, contract: &Contract, now: Duration) -> Restored<Accounts> {
        let mut accounts = Accounts::empty();
        for (index, saved) in self.organizations.iter().enumerate() {
            let place = |error: RestoreError| error.within(format!("organizations[{index}]"));
            let id = id_of_name(&saved.name).map_err(place)?;
            let organization = saved.restore(contract, now).map_err(place)?;
            let former = accounts.organizations.insert(id, organization);
            ensure(former.is_none(), "name", "another organization has the same id")
                .map_err(place)?;
        }
        check_count(self.keys_made, "keys_made")?;
        accounts.keys_made = self.keys_made;
        for (index, saved) in self.keys.iter().enumerate() {
            let place = |error: RestoreError| error.within(format!("keys[{index}]"));
            let key = saved.restore(&accounts).map_err(place)?;
            let is_new = accounts.key_ids.insert(key.digest, saved.id.clone()).is_none();
            ensure(is_new, "sha256", "another key has the same digest").map_err(place)?;
            let former = accounts.keys.insert(saved.id.clone(), key);
            ensure(former.is_none(), "id", "another key has the same id").map_err(place)?;
        }
        let organizations = &accounts.organizations;
        accounts.ledger = self
            .ledger
            .restore(
                |id| organizations.contains_key(id),
                |id, project| {
                    let organization = organizations.get(id);
                    organization.is_some_and(|one| one.projects.contains_key(project))
                },
            )
            .map_err(|error| error.within("ledger"))?;
        accounts.audit = AuditLog::restore(&self.audit).map_err(|error| error.within("audit"))?;
        Ok(accounts)
    }
}

impl SavedOrganization {
    fn of(organization: &OrganizationRecord, now: Duration) -> Self {
        let OrganizationRecord { name, owner, members, projects, finetunes } = organization;
        Self {
            name: name.clone(),
            owner: owner.clone(),
            members: members.values().cloned().collect(),
            projects: projects.values().map(SavedProject::of).collect(),
            finetunes: finetunes.values().map(|stored| SavedFinetune::of(stored, now)).collect(),
        }
    }

    fn restore(&self, contract: &Contract, now: Duration) -> Restored<OrganizationRecord> {
        check_text(&self.owner, "owner")?;
        let mut organization = OrganizationRecord::new(self.name.clone(), self.owner.clone());
        for (index, saved) in self.projects.iter().enumerate() {
            let place = |error: RestoreError| error.within(format!("projects[{index}]"));
            let id = id_of_name(&saved.name).map_err(place)?;
            let project = saved.restore(contract).map_err(place)?;
            let former = organization.projects.insert(id, project);
            ensure(former.is_none(), "name", "another project has the same id").map_err(place)?;
        }
        for member in &self.members {
            check_text(&member.user, "members")?;
            let former = organization.members.insert(member.user.clone(), member.clone());
            ensure(former.is_none(), "members", "a user occurs twice")?;
        }
        organization.check_members().map_err(|problem| RestoreError::new("members", problem))?;
        for (index, saved) in self.finetunes.iter().enumerate() {
            let place = |error: RestoreError| error.within(format!("finetunes[{index}]"));
            let finetune = saved.restore(now).map_err(place)?;
            let former = organization.finetunes.insert(saved.name.clone(), finetune);
            ensure(former.is_none(), "name", "another finetune has the same name")
                .map_err(place)?;
        }
        Ok(organization)
    }
}

impl SavedProject {
    fn of(project: &ProjectRecord) -> Self {
        let ProjectRecord { name, endpoints, limits, max_active_tasks, spending } = project;
        Self {
            name: name.clone(),
            endpoints: endpoints.clone(),
            limits: *limits,
            max_active_tasks: *max_active_tasks,
            spending: spending.clone(),
        }
    }

    fn restore(&self, contract: &Contract) -> Restored<ProjectRecord> {
        let mut checked = BTreeSet::new();
        for pattern in self.endpoints.iter().flatten() {
            if checked.insert(pattern) {
                check_name(pattern, "endpoints")?;
                contract
                    .check_pattern(pattern)
                    .map_err(|problem| RestoreError::new("endpoints", problem))?;
            }
        }
        check_count(self.spending.usage.submissions, "spending.usage.submissions")?;
        Ok(ProjectRecord {
            name: self.name.clone(),
            endpoints: self.endpoints.clone(),
            limits: self.limits,
            max_active_tasks: self.max_active_tasks,
            spending: self.spending.clone(),
        })
    }
}

impl SavedFinetune {
    fn of(stored: &StoredFinetune, now: Duration) -> Self {
        let StoredFinetune { finetune: Finetune { name, shared }, usable_at, trained_by } = stored;
        let training = SavedTraining { task: trained_by.clone(), ends_at: ahead(now, *usable_at) };
        let training = (!trained_by.is_empty()).then_some(training);
        Self { name: name.clone(), shared: *shared, training }
    }

    fn restore(&self, now: Duration) -> Restored<StoredFinetune> {
        check_text(&self.name, "name")?;
        let problem = "a finetune name must not be empty or contain a slash";
        ensure(is_finetune_name(&self.name), "name", problem)?;
        let finetune = Finetune { name: self.name.clone(), shared: self.shared };
        let Some(training) = &self.training else { return Ok(StoredFinetune::usable(finetune)) };
        check_text(&training.task, "training.task")?;
        let usable_at = moment(now, training.ends_at);
        Ok(StoredFinetune { finetune, usable_at, trained_by: training.task.clone() })
    }
}

impl SavedKey {
    fn of(id: &str, key: &Key) -> Self {
        Self {
            id: id.to_owned(),
            name: key.name.clone(),
            organization: Arc::clone(&key.project.organization),
            project: Arc::clone(&key.project.project),
            sha256: key.digest,
            masked: key.masked.clone(),
        }
    }

    fn restore(&self, accounts: &Accounts) -> Restored<Key> {
        let number = self.id.strip_prefix("key-").and_then(|number| number.parse::<u64>().ok());
        let is_made = |number: &u64| {
            (1..=accounts.keys_made).contains(number) && self.id == format!("key-{number}")
        };
        let problem = "expected `key-` and a number, at most `keys_made`";
        ensure(number.is_some_and(|number| is_made(&number)), "id", problem)?;
        check_text(&self.name, "name")?;
        let project = ProjectRef {
            organization: Arc::clone(&self.organization),
            project: Arc::clone(&self.project),
        };
        let problem = "the organization has no project of this id";
        ensure(accounts.has_project(&project), "project", problem)?;
        let problem = "expected an ellipsis and at most the last four characters of the key";
        ensure(is_masked(&self.masked), "masked", problem)?;
        let (name, masked) = (self.name.clone(), self.masked.clone());
        Ok(Key { name, digest: self.sha256, masked, secret: None, project })
    }
}

/// The id of an organization or a project.
fn id_of_name(name: &str) -> Restored<Arc<str>> {
    check_text(name, "name")?;
    id_of(name).ok_or_else(|| RestoreError::new("name", "the name must contain a letter or digit"))
}
