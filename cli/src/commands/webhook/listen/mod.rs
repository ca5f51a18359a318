//! `kiln webhook listen`: prints webhooks as they arrive, until Ctrl-C.

mod delivery;
mod server;

use std::net::SocketAddr;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use self::server::Server;
use super::{
    bind,
    scheme::{Reading, SchemeOptions},
};
use crate::{
    context::Context, failure::Failure, output::write_failed, process::interrupt::Interrupts,
};
use imagekiln::WEBHOOK_SECRET_VARIABLE;

pub const NAME: &str = "listen";

#[derive(Args)]
struct Options {
    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The path of the webhook URL; requests to other paths get a 404
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = path)]
    path: String,
    #[command(flatten)]
    scheme: SchemeOptions,
}

pub fn command() -> Command {
    Options::augment_args(Command::new(NAME))
        .about("Print webhooks as they arrive, until Ctrl-C")
        .after_help(
            "Without a secret nothing is verified, and the names of all headers are printed. Use \
             this to find out what a service sends.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let options =
        Options::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let reading = options.scheme.reading(context.process())?;
    let interrupts = Interrupts::listen(context.process())?;
    let (listener, address) = bind("--listen", options.listen).await?;
    if matches!(reading, Reading::Unverified(_)) {
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
    let (server, mut failures) = Server::new(reading, options.path, context.output.clone());
    tokio::select! {
        biased;
        () = interrupts.first() => Ok(()),
        Some(error) = failures.recv() => write_failed(error),
        Err(error) = server.serve(listener) => Err(Failure::other("the server stopped", &error)),
        else => Ok(()),
    }
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
