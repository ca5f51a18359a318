//! `--metrics`: the state of the ledger for Prometheus.

use std::net::SocketAddr;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use clap::{Arg, ArgMatches, value_parser};
use tokio::net::TcpListener;

use crate::{commands::webhook::bind, context::Context, failure::Failure};
use imagekiln_batch::Ledger;

pub const METRICS: &str = "metrics";

/// The text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn arg() -> Arg {
    Arg::new(METRICS)
        .long(METRICS)
        .value_name("ADDRESS")
        .value_parser(value_parser!(SocketAddr))
        .help_heading("Run")
        .help(
            "Serves the state of the ledger at http://ADDRESS/metrics for Prometheus while the run \
             is open; port 0 picks a free port",
        )
}

/// Listens, if the arguments ask for it.
pub async fn listen(
    context: &Context,
    matches: &ArgMatches,
) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = matches.get_one::<SocketAddr>(METRICS) else { return Ok(None) };
    let (listener, address) = bind("--metrics", *address).await?;
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
