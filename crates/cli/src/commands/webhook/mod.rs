//! `kiln webhook listen|verify`: receives webhooks, or verifies a recorded one. These commands
//! neither poll nor use the API key, so they print the status that a webhook claims for its task.
//! Only a poll can confirm that status.

mod listen;
pub mod scheme;
mod verify;

use std::net::SocketAddr;

use clap::Subcommand;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{context::Context, failure::Failure, text::one_line};
use imagekiln::{
    TaskStatus,
    webhook::{Event, Rejection},
};

pub const NAME: &str = "webhook";

/// The largest body that is accepted, in bytes.
const MAX_BODY: usize = 1024 * 1024;

#[derive(Subcommand)]
pub enum Action {
    Listen(listen::Options),
    Verify(verify::Options),
}

pub async fn run(context: &Context, action: Action) -> Result<(), Failure> {
    match action {
        Action::Listen(options) => listen::run(context, options).await,
        Action::Verify(options) => verify::run(context, &options),
    }
}

/// Listens on the address that the option with this name sets. Returns the listener, and its
/// address with the port.
pub async fn bind(option: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|error| {
        Failure::file(format!("could not listen on {address}"), error)
            .advise(format!("choose another address with {option}; port 0 picks a free port"))
    })
}

/// Describes an event on one line for people.
fn to_people(event: &Event) -> String {
    let task = event.task_id();
    let task = task.map_or("no task id found".to_owned(), |id| format!("task {}", one_line(id)));
    let status = event.claimed_status();
    let status = status.map_or("no status".to_owned(), |status| format!("claims {status}"));
    let message = event.message_id();
    let message = message.map_or(String::new(), |id| format!(", message {}", one_line(id)));
    format!("{task}, {status}{message}")
}

/// Returns the members of a JSON object that describes an event to programs.
fn members(event: &Event) -> [(&'static str, Value); 4] {
    // JSON that is nested too deeply to parse is shown as text.
    let body = event.json().unwrap_or_else(|_| String::from_utf8_lossy(event.body()).into());
    [
        ("task_id", json!(event.task_id())),
        ("claimed_status", json!(event.claimed_status().map(TaskStatus::as_str))),
        ("message_id", json!(event.message_id())),
        ("body", body),
    ]
}

fn reason(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Missing { .. } => "missing",
        Rejection::Malformed { .. } => "malformed",
        Rejection::Wrong { .. } => "wrong",
        Rejection::TooOld { .. } => "too_old",
        Rejection::FromFuture { .. } => "from_future",
        Rejection::TooLarge { .. } => "too_large",
        Rejection::NotJson => "not_json",
        _ => "other",
    }
}
