//! `kiln webhook listen`: prints webhooks as they arrive, until Ctrl-C.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, Request, State},
    http::{HeaderMap, Method, StatusCode, header::ALLOW},
    response::{IntoResponse, Response},
};
use clap::Args;
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, mpsc},
    task::spawn_blocking,
    time::timeout,
};

use super::{MAX_BODY, bind, members, reason, scheme::SchemeOptions, to_people};
use crate::{
    context::Context,
    failure::Failure,
    output::{Output, write_failed},
    process::Interrupts,
    text::{
        json::{self, json_line},
        one_line,
    },
};
use imagekiln::{
    WEBHOOK_SECRET_VARIABLE,
    webhook::{Event, Verifier},
};

/// The time limit for the body of a delivery.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bodies in memory. Other deliveries wait before their bodies are read.
const MAX_BODIES: usize = 64;

#[derive(Args)]
#[command(
    about = "Print webhooks as they arrive, until Ctrl-C",
    after_help = "Without a secret nothing is verified, and the names of all headers are printed. \
                  Use this to find out what a service sends."
)]
pub struct Options {
    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The path of the webhook URL; requests to other paths get a 404
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = path)]
    path: String,
    #[command(flatten)]
    scheme: SchemeOptions,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let (verifier, secret) = options.scheme.verifier(context.process())?;
    let verifies = secret.is_some();
    let interrupts = Interrupts::listen(context.process())?;
    let (listener, address) = bind("--listen", options.listen).await?;
    if !verifies {
        context.output.warning(&format!(
            "webhooks are not verified: no webhook secret is set; set {WEBHOOK_SECRET_VARIABLE}, \
             or pass --secret-file"
        ));
    }
    if address.ip().is_unspecified() {
        context.output.warning(&format!(
            "{} means every address of this machine: replace it with one that the service can \
             reach",
            address.ip()
        ));
    }
    let url = format!("http://{address}{}", options.path);
    context.output.result(
        || format!("listening; press Ctrl-C to stop\n\n  webhook_url  {url}\n"),
        || json!({ "event": "listening", "url": url }),
    )?;
    let (failures, mut failed) = mpsc::channel(1);
    let bodies = Semaphore::new(MAX_BODIES);
    let (output, path) = (context.output.clone(), options.path);
    let server = Arc::new(Server { verifier, verifies, path, output, bodies, failures });
    // A route would treat braces in the path as parameters, and panic on some of them.
    let router = Router::new().fallback(receive);
    let router = router.layer(DefaultBodyLimit::max(MAX_BODY)).with_state(server);
    tokio::select! {
        biased;
        () = interrupts.first() => Ok(()),
        Some(error) = failed.recv() => write_failed(error),
        Err(error) = async { axum::serve(listener, router).await } => {
            Err(Failure::other("the server stopped", &error))
        }
        else => Ok(()),
    }
}

struct Server {
    verifier: Verifier,
    /// Whether a secret is set.
    verifies: bool,
    path: String,
    output: Output,
    bodies: Semaphore,
    /// Receives the errors of standard output.
    failures: mpsc::Sender<io::Error>,
}

/// The status code of the response to a delivery, and the line that is printed.
type Outcome = (StatusCode, String);

async fn receive(State(server): State<Arc<Server>>, request: Request) -> Response {
    if request.uri().path() != server.path {
        return StatusCode::NOT_FOUND.into_response();
    }
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")]).into_response();
    }
    let headers = request.headers().clone();
    let _permit = server.bodies.acquire().await;
    let (status, line) = match timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => server.read(&headers, &body),
        Ok(Err(rejection)) => server.unread(rejection.status(), &headers),
        Err(_) => server.unread(StatusCode::REQUEST_TIMEOUT, &headers),
    };
    // The line is printed before the response is sent, so that the service delivers the webhook
    // again if printing fails. Writing to a full pipe blocks, so another thread writes, and Ctrl-C
    // still works.
    let process = Arc::clone(&server.output.process);
    let status = match spawn_blocking(move || process.line_on_stdout(&line)).await {
        Ok(Ok(())) => status,
        Ok(Err(error)) => {
            // Fails if the channel has an error already, and then the command is about to end.
            let _ = server.failures.try_send(error);
            StatusCode::INTERNAL_SERVER_ERROR
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    status.into_response()
}

impl Server {
    fn read(&self, headers: &HeaderMap, body: &[u8]) -> Outcome {
        let event = if self.verifies {
            self.verifier.verify(headers, body)
        } else {
            self.verifier.read_unverified(body)
        };
        let unverified = (!self.verifies).then_some(headers);
        let line = event.map(|event| self.received(&event, unverified));
        line.map_or_else(
            |rejection| {
                let status = rejection.status();
                let why = (reason(&rejection), rejection.to_string());
                (status, self.rejected(why, Some(body.len()), headers))
            },
            |line| (StatusCode::NO_CONTENT, line),
        )
    }

    /// Returns the outcome of a delivery whose body could not be read. `status` says why, and is
    /// the status code of the response.
    fn unread(&self, status: StatusCode, headers: &HeaderMap) -> Outcome {
        let why = match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ("too_large", format!("the body is larger than {MAX_BODY} bytes"))
            }
            StatusCode::REQUEST_TIMEOUT => {
                ("too_slow", "the body did not arrive in time".to_owned())
            }
            _ => ("broken_off", "the connection closed before the end of the body".to_owned()),
        };
        (status, self.rejected(why, None, headers))
    }

    /// Returns the line about an event. `headers` is `None` if the event was verified.
    fn received(&self, event: &Event, headers: Option<&HeaderMap>) -> String {
        let is_verified = headers.is_none();
        let object = json!({ "event": "received", "verified": is_verified });
        let state = if is_verified { "verified" } else { "unverified" };
        let people = format!("{state}: {}", to_people(event));
        self.line(people, json::with(object, members(event)), headers)
    }

    fn rejected(
        &self,
        (reason, message): (&str, String),
        bytes: Option<usize>,
        headers: &HeaderMap,
    ) -> String {
        let shown = bytes.map_or(String::new(), |bytes| format!("; {bytes} bytes"));
        let people = format!("rejected: {message}{shown}");
        let object = json!({
            "event": "refused",
            "verified": false,
            "reason": reason,
            "message": message,
            "bytes": bytes,
        });
        self.line(people, object, Some(headers))
    }

    fn line(&self, people: String, object: Value, headers: Option<&HeaderMap>) -> String {
        match (headers.map(names), self.output.json) {
            (Some(names), true) => json_line(&json::with(object, [("headers", json!(names))])),
            (None, true) => json_line(&object),
            (Some(names), false) => format!("{people}; headers: {}", names.join(", ")),
            (None, false) => people,
        }
    }
}

/// Returns the names of the headers in alphabetical order, never their values, which may be secret.
/// There are at most a hundred, because the HTTP server rejects requests with more.
fn names(headers: &HeaderMap) -> Vec<String> {
    let mut names: Vec<String> = headers.keys().map(|name| one_line(name.as_str())).collect();
    names.sort();
    names
}

/// Parses a URL path in the form in which clients send it.
fn path(text: &str) -> Result<String, String> {
    let is_sent_unchanged =
        |c: char| c.is_ascii_alphanumeric() || "/-._~!$&'()*+,;=:@%".contains(c);
    if text.starts_with('/') && text.chars().all(is_sent_unchanged) {
        Ok(text.to_owned())
    } else {
        Err("use a URL path, such as /webhooks".to_owned())
    }
}
