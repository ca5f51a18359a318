//! Requests and responses of the control interface: JSON, with errors as `{"detail": "..."}`.

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::http::{
    body::{self, BodyError, ReadBody},
    response,
};

/// The maximum size of a request body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Why a request to the control interface is rejected.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
}

pub(super) type ControlResult = Result<Response, Problem>;

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// `what` does not exist.
    pub(super) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("Unknown {what}"))
    }

    /// The request can be parsed but is invalid.
    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// The request cannot be parsed.
    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "The simulator failed")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        response::detail(self.status, self.detail)
    }
}

pub(super) fn json(value: &impl Serialize) -> ControlResult {
    Ok(response::json(StatusCode::OK, value))
}

/// Reads a body. Returns `None` if it is larger than `limit` bytes.
pub(super) async fn body(request: Request, limit: usize) -> Result<Option<ReadBody>, Problem> {
    let (head, mut body) = request.into_parts();
    match body::read(&head, &mut body, limit, None).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(BodyError::TooLarge) => Ok(None),
        Err(BodyError::NoRoom | BodyError::TooSlow | BodyError::Broken) => {
            Err(Problem::malformed("The request body could not be read"))
        }
    }
}

/// The parameters in the query of a request.
pub(super) struct Parameters<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        let Query(values) = query.map_err(|error| Problem::malformed(error.body_text()))?;
        Ok(Self(values))
    }
}

/// The values in the path of a request. If one has another form, nothing can have it.
pub(super) struct At<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let values = Path::from_request_parts(parts, state).await;
        let Path(values) = values.map_err(|_| Problem::not_found("resource"))?;
        Ok(Self(values))
    }
}

/// The body of a change.
pub(super) struct Change<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Change<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = body(request, MAX_BODY_BYTES).await?.ok_or_else(|| {
            Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("The request body is larger than {MAX_BODY_BYTES} bytes"),
            )
        })?;
        let value = serde_json::from_slice(&bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => Problem::invalid(error.to_string()),
            _ => Problem::malformed(format!("Could not parse the body: {error}")),
        })?;
        Ok(Self(value))
    }
}
