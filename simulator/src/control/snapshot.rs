//! Saves and restores the whole state, for example to prepare it once for many tests.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::json;

use super::response::{self, ControlResult, Problem};
use crate::{
    runtime::workers::JobSize,
    snapshot::{self, RestoreError, Snapshot},
    state::AppState,
};

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        Self::invalid(format!("{error}. The simulator is unchanged"))
    }
}

pub(super) async fn take(State(state): State<Arc<AppState>>) -> ControlResult {
    let snapshot = Snapshot::of(&state);
    let json = state.readers.run(JobSize::Large, move || snapshot.to_json()).await;
    let mut response = Response::new(Body::from(json.map_err(|_| Problem::internal())?));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

pub(super) async fn restore(State(state): State<Arc<AppState>>, request: Request) -> ControlResult {
    let limit = snapshot::max_bytes(state.config.max_kept_bytes);
    let body = response::body(request, limit).await?.ok_or_else(|| {
        let detail = format!(
            "The snapshot is larger than {limit} bytes: raise `max_kept_bytes` of this simulator, \
             or take a snapshot of fewer tasks"
        );
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    })?;
    let job = move || match serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
        Ok(_) => Ok(Snapshot::from_json(&body)?),
        Err(error) => Err(Problem::malformed(format!("Could not parse the body: {error}"))),
    };
    let read = state.readers.run(JobSize::Large, job).await;
    let snapshot = read.map_err(|_| Problem::internal())??;
    snapshot::restore(&state, &snapshot).await?;
    response::json(&json!({ "restored": true }))
}
