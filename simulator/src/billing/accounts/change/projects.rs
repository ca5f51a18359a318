//! Changes to projects and their keys.

use std::sync::Arc;

use super::{AccountError, AccountErrorKind, Act, ChangeResult};
use crate::{
    billing::{
        accounts::{
            Accounts, Limits, Permission, ProjectKey, ProjectRecord, ProjectRef, is_sendable,
            key::Digest, start::id_of,
        },
        credits::Credits,
    },
    runtime::chance::{Chance, hex},
};

impl Act<'_> {
    /// Creates a project with access to all endpoints and no limits.
    pub(crate) fn create_project(self, organization: &str, name: &str) -> ChangeResult<Arc<str>> {
        let id = id_of(name).ok_or_else(|| {
            AccountError::new(AccountErrorKind::Invalid, "the name must contain a letter or digit")
        })?;
        let action = format!("create the project `{name}`");
        self.change(organization, None, Permission::ManageProjects, action, |accounts| {
            let organization = accounts.organization_mut(organization)?;
            if organization.projects.contains_key(&id) {
                return Err(AccountError::new(
                    AccountErrorKind::Conflict,
                    format!("the project `{id}` already exists"),
                ));
            }
            organization.projects.insert(Arc::clone(&id), ProjectRecord::new(name.to_owned()));
            Ok(id)
        })
    }

    /// Sets the spending limits of a project.
    pub(crate) fn set_limits(self, at: &ProjectRef, limits: Limits) -> ChangeResult {
        let shown =
            |limit: Option<Credits>| limit.map_or("none".to_owned(), |limit| limit.to_string());
        let action = format!(
            "set the limits of `{}`: daily {}, weekly {}, monthly {}",
            at.project,
            shown(limits.daily),
            shown(limits.weekly),
            shown(limits.monthly)
        );
        self.change_project(at, Permission::SetLimits, action, |project| project.limits = limits)
    }

    /// Sets the endpoints that a project has access to; `None` means all.
    pub(crate) fn set_endpoints(
        self,
        at: &ProjectRef,
        endpoints: Option<Vec<String>>,
    ) -> ChangeResult {
        let shown = endpoints.as_ref().map_or("all".to_owned(), |patterns| patterns.join(", "));
        let action = format!("set the endpoints of `{}`: {shown}", at.project);
        self.change_project(at, Permission::ManageProjects, action, |project| {
            project.endpoints = endpoints
        })
    }

    /// Sets the maximum number of active tasks of a project; `None` means the configured default.
    pub(crate) fn set_max_active_tasks(self, at: &ProjectRef, most: Option<usize>) -> ChangeResult {
        let shown = most.map_or("the default".to_owned(), |most| most.to_string());
        let action = format!("set the maximum of active tasks of `{}`: {shown}", at.project);
        self.change_project(at, Permission::ManageProjects, action, |project| {
            project.max_active_tasks = most
        })
    }

    /// Creates a key, which is `given` or random. Returns its id and the key.
    pub(crate) fn create_key(
        self,
        at: &ProjectRef,
        name: &str,
        given: Option<String>,
        chance: Chance,
    ) -> ChangeResult<(String, String)> {
        let number = self.accounts.keys_made;
        let secret = given
            .unwrap_or_else(|| format!("kiln-{}", hex(&chance.bytes("api key", number)[..16])));
        if !is_sendable(&secret) {
            let detail = "a key must consist of visible ASCII characters";
            return Err(AccountError::new(AccountErrorKind::Invalid, detail));
        }
        let action = format!("create the key `{name}` in `{}`", at.project);
        self.change(
            &at.organization,
            Some(&at.project),
            Permission::ManageKeys,
            action,
            |accounts| {
                accounts.project_mut(at)?;
                let key = ProjectKey { name: name.to_owned(), key: secret.clone().into() };
                let id = accounts.add_key(key, at.clone()).ok_or_else(|| {
                    AccountError::new(AccountErrorKind::Conflict, "the key already exists")
                })?;
                Ok((id, secret))
            },
        )
    }

    /// Returns the key itself.
    pub(crate) fn reveal_key(self, id: &str) -> ChangeResult<String> {
        self.change_key(id, format!("reveal the key `{id}`"), |accounts, digest| {
            let secret = accounts.secrets.get(&digest).map(|secret| secret.expose().clone());
            secret.ok_or_else(|| {
                let detail = format!("the simulator has only the digest of the key `{id}`");
                AccountError::new(AccountErrorKind::Conflict, detail)
            })
        })
    }

    /// Deletes a key, which is rejected from now on.
    pub(crate) fn revoke_key(self, id: &str) -> ChangeResult {
        self.change_key(id, format!("revoke the key `{id}`"), |accounts, digest| {
            accounts.keys.remove(&digest);
            accounts.secrets.remove(&digest);
            Ok(())
        })
    }

    fn change_project(
        self,
        at: &ProjectRef,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut ProjectRecord),
    ) -> ChangeResult {
        self.change(&at.organization, Some(&at.project), permission, action, |accounts| {
            change(accounts.project_mut(at)?);
            Ok(())
        })
    }

    fn change_key<T>(
        self,
        id: &str,
        action: String,
        change: impl FnOnce(&mut Accounts, Digest) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        let found = self.accounts.keys.iter().find(|(_, key)| key.id() == id);
        let (digest, key) = found.ok_or_else(|| AccountError::unknown("key", id))?;
        let (digest, at) = (*digest, key.project.clone());
        let permission = Permission::ManageKeys;
        self.change(&at.organization, Some(&at.project), permission, action, |accounts| {
            change(accounts, digest)
        })
    }
}
