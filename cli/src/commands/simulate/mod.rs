//! `kiln simulate`: runs a simulator of the service on this machine, until Ctrl-C or while a
//! command runs.

mod child;

use std::{
    ffi::OsString,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use crate::{
    context::Context,
    failure::{Failure, exit::Exit},
    process::interrupt::Interrupts,
    service::session,
    text::parse::duration,
};
use imagekiln::{
    API_KEY_VARIABLE, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE, REGIONAL_BASE_URL_VARIABLE,
};
use imagekiln_simulator::{Config, FetchImages, Secret, Simulator, TlsFiles};

pub const NAME: &str = "simulate";

/// The port of the base URL, unless the options or the settings say otherwise. The regional base
/// URL and the page have the next two.
const PORT: u16 = 8314;

/// The variables with the URL and the token of the control interface, for a command.
const CONTROL_URL_VARIABLE: &str = "IMAGEKILN_CONTROL_URL";
const CONTROL_TOKEN_VARIABLE: &str = "IMAGEKILN_CONTROL_TOKEN";

#[derive(Args)]
struct Options {
    /// A TOML file with settings: accounts, prices, times, moderation, webhooks, faults; the
    /// options below override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The port to listen on; regional models and the page have the next two; 0 picks free ports
    /// [default: 8314, or free ports with a COMMAND]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The address to listen on, instead of a port of 127.0.0.1
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The address to listen on for regional models
    #[arg(long, value_name = "ADDRESS")]
    regional_listen: Option<SocketAddr>,
    /// The address of the page and the control interface, which must be on this machine
    #[arg(long, value_name = "ADDRESS")]
    control_listen: Option<SocketAddr>,
    /// The token that the page and the control interface require; they may then be reachable from
    /// other machines
    #[arg(long, value_name = "TOKEN")]
    control_token: Option<String>,
    /// The origin of a web page that may call the service, or `*` for all; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Serve over TLS with the certificate in this PEM file. Without --tls-key the file also has
    /// the key; if it does not exist, it is created with a self-signed certificate
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
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
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
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
    /// Fetch images that requests give by their URLs, on this machine or anywhere [default: never]
    /// [possible values: never, loopback, any]
    #[arg(long, value_name = "WHICH")]
    fetch_images: Option<FetchImages>,
    /// Require the fields that an operation needs, and reject those that it does not have
    #[arg(long)]
    strict: bool,
    /// Seed for task ids, and for pictures whose request sets no seed [default: a new one for each
    /// run]
    #[arg(long, value_name = "INTEGER")]
    seed: Option<u64>,
    /// A command to run, with the settings in its environment; the simulator ends with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn command() -> Command {
    Options::augment_args(Command::new(NAME))
        .about("Run a simulator of the service until Ctrl-C, or while a command runs")
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<u8, Failure> {
    let mut options =
        Options::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let command = std::mem::take(&mut options.command);
    let any_port = if command.is_empty() { PORT } else { 0 };
    let config = config(options, any_port)?;
    let prefix = config.model_prefix.clone();
    let token = config.control_token.clone();
    let interrupts = Interrupts::listen(context.process())?;
    let simulator = session::simulator(config).await?;
    if command.is_empty() {
        let page = page_url(&simulator, token.as_ref());
        until_interrupted(context, simulator, (&prefix, &page), &interrupts).await?;
        return Ok(Exit::Success.code());
    }
    let mut environment = variables(&simulator, &prefix);
    environment.push((CONTROL_URL_VARIABLE, simulator.control_url().to_owned()));
    environment.extend(token.map(|token| (CONTROL_TOKEN_VARIABLE, token.expose().clone())));
    let outcome = child::run(&command, environment, &interrupts).await;
    simulator.shutdown().await;
    outcome
}

async fn until_interrupted(
    context: &Context,
    simulator: Simulator,
    (prefix, page): (&str, &str),
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    context.output.result(
        || greeting(&simulator, prefix, page),
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
        context.process().line_on_stderr(&format!(
            "{} tasks, {} credits charged, {} pictures delivered",
            counts.accepted, counts.charged, counts.delivered
        ));
    }
    Ok(())
}

fn config(options: Options, default_port: u16) -> Result<Config, Failure> {
    let mut config = match &options.config {
        Some(path) => from_file(path)?,
        None => Config::default(),
    };
    config.allow_remote |= options.allow_remote;
    config.strict |= options.strict;
    if let Some(which) = options.fetch_images {
        config.fetch_images = which;
    }
    let first = options.port.unwrap_or(default_port);
    let addresses = [
        (&mut config.listen, options.listen),
        (&mut config.regional_listen, options.regional_listen),
        (&mut config.control_listen, options.control_listen),
    ];
    for (offset, (setting, option)) in (0..).zip(addresses) {
        let port = if first == 0 { Some(0) } else { first.checked_add(offset) };
        let port = port.ok_or_else(|| Failure::usage("the port must be at most 65533"))?;
        let of_port = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // A port on the command line overrides the file.
        let from_file = setting.filter(|_| options.port.is_none());
        *setting = Some(option.or(from_file).unwrap_or(of_port));
    }
    if let Some(token) = options.control_token {
        config.control_token = Some(token.into());
    }
    config.cors_origins.extend(options.cors_origin);
    if let Some(certificate) = options.tls_certificate {
        config.tls = Some(TlsFiles { certificate, key: options.tls_key });
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
        Failure::settings(what).advise("docs/simulator/settings.md lists the settings")
    })
}

/// The environment variables for a client.
fn variables(simulator: &Simulator, prefix: &str) -> Vec<(&'static str, String)> {
    vec![
        (API_KEY_VARIABLE, simulator.api_key().to_owned()),
        (BASE_URL_VARIABLE, simulator.base_url().to_owned()),
        (REGIONAL_BASE_URL_VARIABLE, simulator.regional_base_url().to_owned()),
        // The user's own settings may have the prefix of another service.
        (MODEL_PREFIX_VARIABLE, prefix.to_owned()),
    ]
}

/// The URL that opens the page.
fn page_url(simulator: &Simulator, token: Option<&Secret<String>>) -> String {
    let base = simulator.control_url();
    match token {
        Some(token) => format!("{base}/?token={}", token.expose()),
        None => format!("{base}/"),
    }
}

fn greeting(simulator: &Simulator, prefix: &str, page: &str) -> String {
    let (base, regional, key) =
        (simulator.base_url(), simulator.regional_base_url(), simulator.api_key());
    let exports = variables(simulator, prefix).into_iter();
    let exports: Vec<_> = exports.map(|(name, value)| format!("export {name}={value}")).collect();
    format!(
        "the simulator is running; press Ctrl-C to stop it\n\n  \
         service   {base}\n  \
         regional  {regional}\n  \
         key       {key}\n  \
         page      {page}\n\n\
         in another terminal:\n\n  {exports}\n  \
         kiln generate \"a red fox in the snow\" --output fox.png\n\n\
         or with curl:\n\n  curl --json '{{\"prompt\":\"a red fox in the snow\"}}' \
         --header 'x-key: {key}' {base}/v1/{prefix}-2-pro\n",
        exports = exports.join("\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(words: &[&str], default_port: u16) -> [u16; 3] {
        let words = [&[NAME], words].concat();
        let options = Options::from_arg_matches(&command().get_matches_from(words)).unwrap();
        let config = config(options, default_port).unwrap();
        [config.listen, config.regional_listen, config.control_listen]
            .map(|address| address.unwrap().port())
    }

    #[test]
    fn the_three_ports_follow_each_other() {
        assert_eq!(ports(&[], PORT), [8314, 8315, 8316]);
        assert_eq!(ports(&[], 0), [0, 0, 0]);
        assert_eq!(ports(&["--port", "9000"], PORT), [9000, 9001, 9002]);
        assert_eq!(ports(&["--port", "0"], PORT), [0, 0, 0]);
        assert_eq!(ports(&["--listen", "127.0.0.1:7"], PORT), [7, 8315, 8316]);
    }
}
