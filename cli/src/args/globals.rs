//! The options of every command.

use std::time::Duration;

use clap::{ArgAction, Args};

use super::value::seconds;

/// The options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Globals {
    /// Use a simulator inside this process instead of the service; no key, no network, nothing is
    /// paid
    #[arg(long, global = true)]
    pub simulate: bool,
    /// Write results to standard output, and events and errors to standard error, as JSON, one
    /// object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// How long to wait for a task; the task goes on after that [default: 600]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
    pub deadline: Option<Duration>,
    /// Send the key to polling addresses at this host too
    #[arg(long, global = true, value_name = "HOST", action = ArgAction::Append)]
    pub allow_polling_host: Vec<String>,
    /// Fetch pictures from this host too, although its address is private or unencrypted
    #[arg(long, global = true, value_name = "HOST", action = ArgAction::Append)]
    pub allow_delivery_host: Vec<String>,
    /// Show errors only, no progress and no warnings
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Show what is sent and answered, without secrets; twice for polls and retries
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}
