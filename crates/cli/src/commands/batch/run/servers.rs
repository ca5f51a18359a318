//! The servers of a run. `--listen` receives the webhooks of the jobs, which also find the tasks of
//! submissions whose responses were lost. `--metrics` serves the state of the ledger for
//! Prometheus.

use std::net::SocketAddr;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use clap::Args;
use reqwest::Url;
use tokio::net::TcpListener;

use crate::{
    commands::webhook::{bind, scheme::SchemeOptions},
    context::Context,
    failure::Failure,
    process::Process,
};
use imagekiln::{ClientBuilder, Secret, WEBHOOK_SECRET_VARIABLE, webhook::Verifier};
use imagekiln_batch::{Batch, Ledger};

/// The media type of the text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Args)]
#[command(next_help_heading = "Webhooks")]
pub struct WebhookOptions {
    /// Receives webhooks at this address; port 0 picks a free port. A webhook ends the wait for its
    /// task, and finds the task of a submission whose response was lost
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The public URL of --listen, if a proxy is in front of it; the proxy may remove its path
    /// [default: `http://` and the address]
    #[arg(long, value_name = "URL", requires = "listen", value_parser = callback_url)]
    callback_url: Option<Url>,
    #[command(flatten)]
    scheme: SchemeOptions,
}

/// A server that listens for the webhooks of a batch, and does not accept them before
/// [`serve`](Self::serve).
pub struct Webhooks {
    listener: TcpListener,
    url: Url,
    verifier: Verifier,
    secret: Secret,
}

impl Webhooks {
    /// Starts to listen, if `--listen` is set. Fails without a secret, with which the webhooks are
    /// verified.
    pub async fn listen(
        process: &Process,
        options: &WebhookOptions,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = options.listen else { return Ok(None) };
        let (verifier, Some(secret)) = options.scheme.verifier(process)? else {
            return Err(Failure::settings("no webhook secret is set").advise(format!(
                "nothing was sent; set {WEBHOOK_SECRET_VARIABLE}, or pass --secret-file"
            )));
        };
        let (listener, address) = bind("--listen", address).await?;
        let default = || Url::parse(&format!("http://{address}")).ok();
        let default = || default().filter(|_| !address.ip().is_unspecified());
        let url = options.callback_url.clone().or_else(default).ok_or_else(|| {
            Failure::usage(format!("{} means every address of this machine", address.ip()))
                .advise("nothing was sent; pass a URL that the service can reach to --callback-url")
        })?;
        Ok(Some(Self { listener, url, verifier, secret }))
    }

    /// Makes the client send the secret with submissions, so that the service signs the webhooks.
    pub fn sign(&self, client: ClientBuilder) -> ClientBuilder {
        client.webhook_secret(self.secret.clone())
    }

    /// Receives the webhooks of the batch until the process ends.
    pub fn serve(self, batch: Batch) -> Batch {
        let receiver = batch.callbacks().router(self.verifier);
        let app = match self.url.path().trim_end_matches('/') {
            "" => receiver,
            path => Router::new().nest(path, receiver.clone()).merge(receiver),
        };
        // The server ends only with the process: errors of single connections do not end it.
        tokio::spawn(axum::serve(self.listener, app).into_future());
        batch.callback_url(self.url)
    }
}

/// Parses a URL to whose path the batch can append a token for each submission.
fn callback_url(text: &str) -> Result<Url, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._~%".contains(c);
    let is_usable = |url: &Url| {
        let is_web = ["http", "https"].contains(&url.scheme());
        let has_more = url.query().is_some() || url.fragment().is_some();
        is_web && !has_more && url.path().chars().all(is_plain)
    };
    let wrong = "use an http or https URL with a plain path and without a query";
    Url::parse(text).ok().filter(is_usable).ok_or_else(|| wrong.to_owned())
}

/// Starts to listen, if an address is given.
pub async fn listen_for_metrics(
    context: &Context,
    address: Option<SocketAddr>,
) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    let (listener, address) = bind("--metrics", address).await?;
    context.output.note(&format!("metrics: http://{address}/metrics"));
    Ok(Some(listener))
}

/// Serves the metrics of the ledger until the process ends.
pub fn serve_metrics(listener: TcpListener, ledger: Ledger) {
    let app = Router::new().route("/metrics", get(metrics)).with_state(ledger);
    tokio::spawn(axum::serve(listener, app).into_future());
}

async fn metrics(State(ledger): State<Ledger>) -> Response {
    match ledger.reports().metrics().await {
        Ok(text) => ([(CONTENT_TYPE, TEXT)], text).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}
