//! Resets the simulator or a project, for example between two tests.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::json;

use super::response::{self, Change, ControlResult, Problem};
use crate::{billing::accounts::ProjectRef, state::AppState};

/// What to reset: everything, or one project.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scope {
    organization: Option<Arc<str>>,
    project: Option<Arc<str>>,
}

pub(super) async fn reset(
    State(state): State<Arc<AppState>>,
    Change(scope): Change<Scope>,
) -> ControlResult {
    match (scope.organization, scope.project) {
        (None, None) => state.reset().map_err(|_| Problem::internal())?,
        (Some(organization), Some(project)) => {
            if !state.reset_project(&ProjectRef { organization, project }) {
                return Err(Problem::not_found("project"));
            }
        }
        _ => return Err(Problem::invalid("`organization` and `project` belong together")),
    }
    response::json(&json!({ "reset": true }))
}
