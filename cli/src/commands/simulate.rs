//! `kiln simulate`: runs a simulator of the service on this machine until Ctrl-C.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use crate::{
    args::value::seconds, context::Context, failure::Failure, interrupt::Interrupts,
    output::line_on_stderr, session,
};
use imagekiln::{
    API_KEY_VARIABLE, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE, REGIONAL_BASE_URL_VARIABLE,
};
use imagekiln_simulator::{Config, Simulator};

pub const NAME: &str = "simulate";

#[derive(Args)]
struct Options {
    /// A TOML file with settings: accounts, prices, times, moderation, webhooks, faults; the
    /// options below override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address to listen on; port 0 picks a free port [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The address to listen on for regional models [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    regional_listen: Option<SocketAddr>,
    /// The address of the page and the control interface, which must be on this machine [default:
    /// 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    control_listen: Option<SocketAddr>,
    /// The base URL at which clients reach the simulator, for example behind a proxy [default: the
    /// host that each client names]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The base URL at which clients reach regional models [default: the host that each client
    /// names]
    #[arg(long, value_name = "URL")]
    regional_public_url: Option<String>,
    /// Allow connections from other machines
    #[arg(long)]
    allow_remote: bool,
    /// How long a task takes [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    ready_after: Option<Duration>,
    /// The statuses of a task in progress, separated by commas; each lasts equally long [default:
    /// Pending]
    #[arg(long, value_name = "STATUSES", value_delimiter = ',')]
    in_progress: Vec<String>,
    /// The API key that the simulator accepts
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The prefix of model names, instead of `gen` [default: gen]
    #[arg(long, value_name = "PREFIX")]
    model_prefix: Option<String>,
    /// Seed for task ids, and for pictures whose request sets no seed [default: a new one for each
    /// run]
    #[arg(long, value_name = "INTEGER")]
    seed: Option<u64>,
}

pub fn command() -> Command {
    Options::augment_args(Command::new(NAME)).about("Run a simulator of the service until Ctrl-C")
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let options =
        Options::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let config = config(options)?;
    let prefix = config.model_prefix.clone();
    let interrupts = Interrupts::listen()?;
    let simulator = session::simulator(config).await?;
    context.output.result(
        || greeting(&simulator, &prefix),
        || {
            json!({
                "base_url": simulator.base_url(),
                "regional_base_url": simulator.regional_base_url(),
                "control_url": simulator.control_url(),
                "api_key": simulator.api_key(),
                "model_prefix": prefix,
            })
        },
    )?;
    interrupts.first().await;
    let counts = simulator.counts();
    simulator.shutdown().await;
    if !context.output.json && !context.globals.quiet {
        line_on_stderr(&format!(
            "{} tasks, {} credits charged, {} pictures delivered",
            counts.accepted, counts.charged, counts.delivered
        ));
    }
    Ok(())
}

fn config(options: Options) -> Result<Config, Failure> {
    let mut config = match &options.config {
        Some(path) => from_file(path)?,
        None => Config::default(),
    };
    config.allow_remote |= options.allow_remote;
    if let Some(address) = options.listen {
        config.listen = address;
    }
    if let Some(address) = options.regional_listen {
        config.regional_listen = address;
    }
    if let Some(address) = options.control_listen {
        config.control_listen = address;
    }
    if options.public_url.is_some() {
        config.public_url = options.public_url;
    }
    if options.regional_public_url.is_some() {
        config.regional_public_url = options.regional_public_url;
    }
    if !options.in_progress.is_empty() {
        config.in_progress = options.in_progress;
    }
    if let Some(time) = options.ready_after {
        config.ready_after = time;
    }
    if let Some(key) = options.key {
        config.api_keys = vec![key.into()];
    }
    if let Some(prefix) = options.model_prefix {
        config.model_prefix = prefix;
    }
    if let Some(seed) = options.seed {
        config.seed = Some(seed.into());
    }
    Ok(config)
}

fn from_file(path: &Path) -> Result<Config, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::file(format!("could not read {}", path.display()), error))?;
    Config::from_toml(&text).map_err(|error| {
        let what = format!("{}, line {}: {}", path.display(), error.line, error.problem);
        Failure::settings(what).advise("docs/simulator.md lists the settings")
    })
}

fn greeting(simulator: &Simulator, prefix: &str) -> String {
    let (base, regional, key) =
        (simulator.base_url(), simulator.regional_base_url(), simulator.api_key());
    let page = simulator.control_url();
    let mut exports = vec![
        format!("export {API_KEY_VARIABLE}={key}"),
        format!("export {BASE_URL_VARIABLE}={base}"),
        format!("export {REGIONAL_BASE_URL_VARIABLE}={regional}"),
    ];
    if prefix != "gen" {
        exports.push(format!("export {MODEL_PREFIX_VARIABLE}={prefix}"));
    }
    format!(
        "the simulator is running; press Ctrl-C to stop it\n\n  \
         service   {base}\n  \
         regional  {regional}\n  \
         key       {key}\n  \
         page      {page}/\n\n\
         in another terminal:\n\n  {exports}\n  \
         kiln generate \"a red fox in the snow\" --output fox.png\n\n\
         or with curl:\n\n  curl --json '{{\"prompt\":\"a red fox in the snow\"}}' \
         --header 'x-key: {key}' {base}/v1/{prefix}-2-pro\n",
        exports = exports.join("\n  ")
    )
}
