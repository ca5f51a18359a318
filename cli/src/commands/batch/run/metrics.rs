//! `--metrics`: the state of the ledger for Prometheus.

use std::net::SocketAddr;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::net::TcpListener;

use crate::{commands::webhook::bind, context::Context, failure::Failure};
use imagekiln_batch::Ledger;

/// The text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Listens, if an address is given.
pub async fn listen(
    context: &Context,
    address: Option<SocketAddr>,
) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    let (listener, address) = bind("--metrics", address).await?;
    context.output.note(&format!("metrics: http://{address}/metrics"));
    Ok(Some(listener))
}

/// Serves the metrics of the ledger until the process ends.
pub fn serve(listener: TcpListener, ledger: Ledger) {
    let app = Router::new().route("/metrics", get(respond)).with_state(ledger);
    tokio::spawn(axum::serve(listener, app).into_future());
}

async fn respond(State(ledger): State<Ledger>) -> Response {
    match ledger.metrics().await {
        Ok(text) => ([(CONTENT_TYPE, TEXT)], text).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}
