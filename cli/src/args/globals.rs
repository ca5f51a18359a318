//! The options that every command accepts.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, ValueHint};

use super::completers;
use crate::text::parse::duration;

/// The global options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Use an in-process simulator instead of the service; needs no key and no network, and costs
    /// nothing
    #[arg(long, global = true)]
    pub simulate: bool,
    /// Write results to standard output, and events and errors to standard error, as JSON, one
    /// object per line
    #[arg(long, global = true)]
    pub json: bool,
    /// Use the key and the settings of this profile; KILN_PROFILE does the same
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    #[arg(add = completers::profiles())]
    pub profile: Option<String>,
    /// How long to wait for a task, such as 90, 90s, 2m or 1h; the task continues after that
    /// [default: 10m]
    #[arg(long, global = true, hide_short_help = true)]
    #[arg(value_name = "DURATION", value_parser = duration)]
    pub deadline: Option<Duration>,
    /// Also send the key to polling URLs at this host
    #[arg(long, global = true, hide_short_help = true)]
    #[arg(value_name = "HOST", action = ArgAction::Append)]
    pub allow_polling_host: Vec<String>,
    /// Fetch pictures from this host even if its address is private or unencrypted
    #[arg(long, global = true, hide_short_help = true)]
    #[arg(value_name = "HOST", action = ArgAction::Append)]
    pub allow_delivery_host: Vec<String>,
    /// Write a redacted copy of each exchange with the service to DIR
    #[arg(long, global = true, hide_short_help = true, value_name = "DIR")]
    #[arg(value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    /// Do not record anything in the history; KILN_NO_HISTORY=1 does the same
    #[arg(long, global = true, hide_short_help = true)]
    pub no_history: bool,
    /// Show only errors, no progress and no warnings
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Log requests and responses, without secrets; repeat for polls and retries
    #[arg(long, short, global = true, hide_short_help = true, action = ArgAction::Count)]
    pub verbose: u8,
}
