//! Requests to their handlers, by the contract.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use http_body_util::BodyExt as _;
use tokio::net::TcpListener;
use tracing::debug;

use crate::answer::Refusal;
use crate::contract::{Found, Kind, Region, neutral_path};
use crate::error::StartError;
use crate::service::Service;
use crate::{delivery, poll, submit};

/// A service as it is reached at one of its addresses.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) service: Arc<Service>,
    pub(crate) region: Region,
}

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { address, source })
}

pub(crate) fn router(door: Door) -> Router {
    Router::new().fallback(handle).with_state(door)
}

async fn handle(State(door): State<Door>, request: Request) -> Response {
    let (head, mut body) = request.into_parts();
    match dispatch(&door, &head, &mut body).await {
        Ok(response) => response,
        Err(refusal) => {
            drain(body, door.service.config.max_body_bytes).await;
            let (method, path) = (&head.method, head.uri.path());
            let response = refusal.response();
            let status = response.status();
            debug!(%method, path, status = status.as_u16(), region = %door.region, "refused");
            if status.is_client_error() {
                *door.service.state().refused.entry(status.as_u16()).or_default() += 1;
            }
            response
        }
    }
}

/// Reads what is left of a body and throws it away, up to a bound, so that the client gets to read
/// the answer rather than a reset.
async fn drain(mut body: Body, bound: usize) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > bound {
            return;
        }
    }
}

async fn dispatch(door: &Door, head: &Parts, body: &mut Body) -> Result<Response, Refusal> {
    let service = &door.service;
    if let Some(file) = head.uri.path().strip_prefix("/delivery/") {
        return delivery::serve(service, &head.method, &head.uri, &head.headers, file).await;
    }
    let path =
        neutral_path(head.uri.path(), &service.config.model_prefix).ok_or(Refusal::NotFound)?;
    let operation = match service.contract.find(&head.method, &path) {
        Found::Operation(operation) => operation,
        Found::OtherMethods(allow) => return Err(Refusal::OtherMethods(allow)),
        Found::Nothing => return Err(Refusal::NotFound),
    };
    let project = service.state().accounts.caller(&head.headers).map_err(Refusal::Forbidden)?;
    match &operation.kind {
        Kind::Poll => poll::serve(door, &project, head.uri.query(), &head.headers).await,
        Kind::Submit(submission) => {
            let name = path.trim_start_matches("/v1/");
            if !service.state().accounts.admits(&project, name) {
                return Err(Refusal::Forbidden("The project has no access to this endpoint"));
            }
            let call = submit::Call {
                project,
                submission: Arc::clone(submission),
                operation: name.to_owned(),
                operation_id: operation.id.clone(),
            };
            submit::serve(door, call, &head.headers, body).await
        }
    }
}
