//! Finetunes: those that users have added, and those that tasks train.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Accounts, ProjectRef, settings::Finetune};
use crate::runtime::clock::Shift;

/// The maximum length of the name of a trained finetune, in characters.
pub(crate) const MAX_NAME: usize = 100;

/// A stored finetune.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredFinetune {
    pub(crate) finetune: Finetune,
    /// The Unix time from which on the finetune can be used, because its training has ended.
    pub(super) usable_at: Duration,
    /// The id of the task that trains the finetune, or has trained it. Empty if there is no such
    /// task.
    pub(super) trained_by: String,
}

impl StoredFinetune {
    /// Creates a finetune that can be used at once.
    pub(crate) fn usable(finetune: Finetune) -> Self {
        Self { finetune, usable_at: Duration::ZERO, trained_by: String::new() }
    }

    pub(super) fn is_usable(&self, unix: Duration) -> bool {
        unix >= self.usable_at
    }
}

/// Whether a finetune name is valid.
pub(crate) fn is_finetune_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/')
}

impl Accounts {
    /// Whether a project may use the finetune that `finetune_id` names. A finetune of the project's
    /// own organization can be named with or without the id of the organization. A shared finetune
    /// of another organization must be named with that id.
    pub(crate) fn knows_finetune(
        &self,
        project: &ProjectRef,
        finetune_id: &str,
        unix: Duration,
    ) -> bool {
        let (organization, name) =
            finetune_id.split_once('/').unwrap_or((&project.organization, finetune_id));
        let stored = self.organizations.get(organization).and_then(|of| of.finetunes.get(name));
        stored.is_some_and(|stored| {
            let may_use = stored.finetune.shared || *organization == *project.organization;
            may_use && stored.is_usable(unix)
        })
    }

    /// Whether the project's organization has a finetune with this name, or is training one.
    pub(crate) fn has_finetune(&self, project: &ProjectRef, name: &str) -> bool {
        let organization = self.organizations.get(&project.organization);
        organization.is_some_and(|organization| organization.finetunes.contains_key(name))
    }

    /// Adds a private finetune to the project's organization. It can be used when the task that
    /// trains it has ended.
    pub(crate) fn train(
        &mut self,
        project: &ProjectRef,
        name: String,
        (task, ends_at): (&str, Duration),
        unix: Duration,
    ) {
        let Some(organization) = self.organizations.get_mut(&project.organization) else { return };
        let action = format!("train the finetune `{name}` with the task {task}");
        let finetune = Finetune { name: name.clone(), shared: false };
        let stored = StoredFinetune { finetune, usable_at: ends_at, trained_by: task.to_owned() };
        organization.finetunes.entry(name).or_insert(stored);
        let actor = format!("a key of the project {}", project.project);
        self.record(unix, &actor, Some(&*project.organization), action, true);
    }

    /// Makes the finetune that a task trains usable now, because the task has ended early.
    pub(crate) fn finish_training(&mut self, task: &str, unix: Duration) {
        for stored in self.trained().filter(|stored| stored.trained_by == task) {
            stored.usable_at = stored.usable_at.min(unix);
        }
    }

    /// Shifts the ends of all trainings, because the accounts come from another clock.
    pub(crate) fn move_times(&mut self, times: Shift) {
        self.trained().for_each(|stored| times.apply(&mut stored.usable_at));
    }

    /// Yields the finetunes that a task trains or has trained.
    fn trained(&mut self) -> impl Iterator<Item = &mut StoredFinetune> {
        let all = self.organizations.values_mut().flat_map(|of| of.finetunes.values_mut());
        all.filter(|stored| !stored.trained_by.is_empty())
    }

    /// The number of finetunes that can be used.
    pub(crate) fn usable_finetunes(&self, unix: Duration) -> usize {
        let all = self.organizations.values().flat_map(|of| of.finetunes.values());
        all.filter(|stored| stored.is_usable(unix)).count()
    }
}
