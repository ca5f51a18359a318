//! `kiln webhook listen|verify`: receives webhooks, or verifies a recorded one. It neither polls
//! nor uses the API key.

mod listen;
pub mod scheme;
mod verdict;
mod verify;

use std::net::SocketAddr;

use clap::{ArgMatches, Command};
use tokio::net::TcpListener;

use crate::{context::Context, failure::Failure};

pub const NAME: &str = "webhook";

/// The largest body that is accepted, in bytes.
const MAX_BODY: usize = 1024 * 1024;

pub fn command() -> Command {
    Command::new(NAME)
        .about("Receive webhooks, or verify a recorded one")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([listen::command(), verify::command()])
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (action, matches) = matches
        .subcommand()
        .ok_or_else(|| Failure::usage("use `kiln webhook listen` or `verify`"))?;
    match action {
        listen::NAME => listen::execute(context, matches).await,
        _ => verify::execute(context, matches),
    }
}

/// Listens at the address of an option.
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
