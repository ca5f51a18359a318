//! Changes to projects and their keys.

use std::sync::Arc;

use super::{ChangeResult, Editor, new_id, unknown};
use crate::{
    billing::{
        accounts::{
            Accounts, Limits, Permission, ProjectKey, ProjectRecord, ProjectRef, is_sendable,
        },
        credits::Credits,
    },
    http::response::Problem,
    runtime::chance::{Chance, hex},
};

impl Editor<'_> {
    /// Creates a project with access to all endpoints and no limits.
    pub(crate) fn create_project(self, organization: &str, name: &str) -> ChangeResult<Arc<str>> {
        let id = new_id(name)?;
        let action = format!("create the project `{name}`");
        self.change(organization, None, Permission::ManageProjects, action, |accounts| {
            let organization = accounts.organization_mut(organization)?;
            if organization.projects.contains_key(&id) {
                return Err(Problem::conflict(format!("the project `{id}` already exists")));
            }
            let project = ProjectRecord { name: name.to_owned(), ..Default::default() };
            organization.projects.insert(Arc::clone(&id), project);
            Ok(id)
        })
    }

    /// Sets the spending limits of a project.
    pub(crate) fn set_limits(self, at: &ProjectRef, limits: Limits) -> ChangeResult {
        let shown = |limit: Option<Credits>| {
            limit.map_or_else(|| "none".to_owned(), |credits| credits.to_string())
        };
        let [daily, weekly, monthly] = [limits.daily, limits.weekly, limits.monthly].map(shown);
        let action = format!(
            "set the limits of `{}`: daily {daily}, weekly {weekly}, monthly {monthly}",
            at.project
        );
        self.change_project(at, Permission::SetLimits, action, |project| project.limits = limits)
    }

    /// Sets the endpoints to which a project has access. `None` stands for all endpoints.
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

    /// Sets the maximum number of active tasks of a project. `None` stands for the configured
    /// default.
    pub(crate) fn set_max_active_tasks(self, at: &ProjectRef, most: Option<usize>) -> ChangeResult {
        let shown = most.map_or("the default".to_owned(), |most| most.to_string());
        let action = format!("set the maximum of active tasks of `{}`: {shown}", at.project);
        self.change_project(at, Permission::ManageProjects, action, |project| {
            project.max_active_tasks = most
        })
    }

    /// Creates a key, which is `given` or random. Returns the id of the key, and the key itself.
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
            return Err(Problem::invalid(detail));
        }
        let action = format!("create the key `{name}` in `{}`", at.project);
        self.change_in(at, Permission::ManageKeys, action, |accounts| {
            accounts.project_to_change(at)?;
            let key = ProjectKey { name: name.to_owned(), key: secret.clone().into() };
            let id = accounts.add_key(key, at.clone());
            let id = id.ok_or_else(|| Problem::conflict("the key already exists"));
            Ok((id?, secret))
        })
    }

    /// Returns the key with this id.
    pub(crate) fn reveal_key(self, id: &str) -> ChangeResult<String> {
        self.change_key(id, format!("reveal the key `{id}`"), |accounts, digest| {
            let secret = accounts.secrets.get(digest).map(|secret| secret.expose().clone());
            secret.ok_or_else(|| {
                let detail = format!("the simulator has only the digest of the key `{id}`");
                Problem::conflict(detail)
            })
        })
    }

    /// Deletes a key. From now on, requests with it are rejected.
    pub(crate) fn revoke_key(self, id: &str) -> ChangeResult {
        self.change_key(id, format!("revoke the key `{id}`"), |accounts, digest| {
            accounts.keys.remove(digest);
            Ok(())
        })
    }

    fn change_key<T>(
        self,
        id: &str,
        action: String,
        change: impl FnOnce(&mut Accounts, &str) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        let found = self.accounts.keys.iter().find(|(_, key)| key.id() == id);
        let (digest, key) = found.ok_or_else(|| unknown("key", id))?;
        let (digest, at) = (digest.clone(), key.project.clone());
        self.change_in(&at, Permission::ManageKeys, action, |accounts| change(accounts, &digest))
    }

    fn change_project(
        self,
        at: &ProjectRef,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut ProjectRecord),
    ) -> ChangeResult {
        self.change_in(at, permission, action, |accounts| {
            change(accounts.project_to_change(at)?);
            Ok(())
        })
    }

    fn change_in<T>(
        self,
        at: &ProjectRef,
        permission: Permission,
        action: String,
        change: impl FnOnce(&mut Accounts) -> ChangeResult<T>,
    ) -> ChangeResult<T> {
        self.change(&at.organization, Some(&at.project), permission, action, change)
    }
}
