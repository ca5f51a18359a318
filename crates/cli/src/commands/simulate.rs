//! `kiln simulate`: runs a simulator of the service on this machine, until Ctrl-C or while a
//! command runs.

use std::{
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    thread,
    time::Duration,
};

use clap::{Args, ValueHint};
use serde_json::json;
use tokio::{
    process::{Child, Command},
    sync::oneshot,
};

use crate::{
    args::completers,
    context::Context,
    failure::{Exit, Failure},
    process::Interrupts,
    service,
    text::duration,
};
use imagekiln::{
    API_KEY_VARIABLE, BASE_URL_VARIABLE, KEY_HEADER, MODEL_PREFIX_VARIABLE,
    REGIONAL_BASE_URL_VARIABLE,
};
use imagekiln_simulator::{Config, FetchImages, Secret, Simulator, TlsFiles};

pub const NAME: &str = "simulate";

/// The default port of the base URL. The regional base URL and the page use the next two ports.
const PORT: u16 = 8314;

/// The environment variables that give a command the URL and the token of the control interface.
const CONTROL_URL_VARIABLE: &str = "IMAGEKILN_CONTROL_URL";
const CONTROL_TOKEN_VARIABLE: &str = "IMAGEKILN_CONTROL_TOKEN";

/// How long the command may take to end after Ctrl-C, which it also receives from the terminal,
/// before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Run a simulator of the service, also while a command runs
#[derive(Args)]
pub struct Options {
    /// A TOML file with settings: accounts, prices, times, moderation, webhooks, faults; the
    /// options below override it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// The port to listen on; regional models and the page have the next two; 0 picks free ports
    /// [default: 8314, or free ports with a COMMAND]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The address to listen on, instead of a port of 127.0.0.1
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    listen: Option<SocketAddr>,
    /// The address to listen on for regional models
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    regional_listen: Option<SocketAddr>,
    /// The address of the page and the control interface, on this machine unless there is a token
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    control_listen: Option<SocketAddr>,
    /// The token that the page and the control interface require; they may then be reachable from
    /// other machines
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    control_token: Option<String>,
    /// The origin of a web page that may call the service, or `*` for all; may be repeated
    #[arg(long, value_name = "ORIGIN", hide_short_help = true)]
    cors_origin: Vec<String>,
    /// Serve over TLS with the certificate in this PEM file. Without --tls-key the file also has
    /// the key; if it does not exist, it is created with a self-signed certificate
    #[arg(long, value_name = "FILE", hide_short_help = true, value_hint = ValueHint::FilePath)]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate", hide_short_help = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    tls_key: Option<PathBuf>,
    /// The base URL at which clients reach the simulator, for example behind a proxy [default: the
    /// host that each client names]
    #[arg(long, value_name = "URL", hide_short_help = true)]
    public_url: Option<String>,
    /// The base URL at which clients reach regional models [default: the host that each client
    /// names]
    #[arg(long, value_name = "URL", hide_short_help = true)]
    regional_public_url: Option<String>,
    /// Allow connections from other machines
    #[arg(long, hide_short_help = true)]
    allow_remote: bool,
    /// How long a task takes [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    ready_after: Option<Duration>,
    /// How much the durations vary: 0.1 is up to 10 % shorter or longer [default: 0]
    #[arg(long, value_name = "FRACTION", hide_short_help = true)]
    ready_after_spread: Option<f64>,
    /// The statuses of a task in progress, separated by commas; each lasts equally long [default:
    /// Pending]
    #[arg(long, value_name = "STATUSES", value_delimiter = ',', hide_short_help = true)]
    in_progress: Vec<String>,
    /// The API key that the simulator accepts
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    key: Option<String>,
    /// The prefix of model names, instead of `gen` [default: gen]
    #[arg(long, value_name = "PREFIX", hide_short_help = true)]
    model_prefix: Option<String>,
    /// Fetch images that requests give by their URLs, on this machine or anywhere [default: never]
    /// [possible values: never, loopback, any]
    #[arg(long, value_name = "WHICH", hide_short_help = true)]
    #[arg(add = completers::offered(&["never", "loopback", "any"]))]
    fetch_images: Option<FetchImages>,
    /// Require the fields that an operation needs, reject those that it does not have, and serve
    /// regional models at the regional address only
    #[arg(long)]
    strict: bool,
    /// Seed for task ids, varying durations, and pictures whose request sets no seed [default: a
    /// new one for each run]
    #[arg(long, value_name = "INTEGER")]
    seed: Option<u64>,
    /// Stop when standard input ends, as it does when the program that started kiln ends
    #[arg(long, hide_short_help = true, conflicts_with = "command")]
    stop_with_stdin: bool,
    /// A command to run, with the settings in its environment; the simulator ends with it
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

pub async fn run(context: &Context, mut options: Options) -> Result<u8, Failure> {
    let command = std::mem::take(&mut options.command);
    let any_port = if command.is_empty() { PORT } else { 0 };
    let stops_with_stdin = options.stop_with_stdin;
    let config = config(options, any_port)?;
    let prefix = config.model_prefix.clone();
    let token = config.control_token.clone();
    let interrupts = Interrupts::listen(context.process())?;
    let simulator = service::simulator(config).await?;
    if command.is_empty() {
        let query = token.map(|token| format!("?token={}", token.expose())).unwrap_or_default();
        let page = format!("{}/{query}", simulator.control_url());
        let stdin = stops_with_stdin.then(|| end_of_stdin(context));
        until_stopped(context, simulator, (&prefix, &page), stdin, &interrupts).await?;
        return Ok(Exit::Success.into());
    }
    let mut environment = variables(&simulator, &prefix);
    environment.push((CONTROL_URL_VARIABLE, simulator.control_url().to_owned()));
    environment.extend(token.map(|token| (CONTROL_TOKEN_VARIABLE, token.expose().clone())));
    let outcome = run_command(&command, environment, &interrupts).await;
    simulator.shutdown().await;
    outcome
}

async fn until_stopped(
    context: &Context,
    simulator: Simulator,
    (prefix, page): (&str, &str),
    stdin: Option<oneshot::Receiver<()>>,
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
    match stdin {
        Some(end) => tokio::select! {
            _ = end => {}
            () = interrupts.first() => {}
        },
        None => interrupts.first().await,
    }
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

/// Returns a channel that signals the end of standard input. The thread that reads standard input
/// is not one of the runtime's: at exit, the runtime waits for its own threads, and the process
/// must not wait for its input to end.
fn end_of_stdin(context: &Context) -> oneshot::Receiver<()> {
    let (ended, end) = oneshot::channel();
    let process = Arc::clone(context.process());
    thread::spawn(move || {
        // An input that can't be read counts as ended.
        let _ = io::copy(&mut &process.stdin, &mut io::sink());
        // Fails only if the simulator has stopped.
        let _ = ended.send(());
    });
    end
}

/// Returns the settings of the file, overridden by the options.
fn config(options: Options, default_port: u16) -> Result<Config, Failure> {
    let file = options.config.as_deref().map(from_file).transpose()?.unwrap_or_default();
    let first = options.port.unwrap_or(default_port);
    // `--port` overrides the addresses in the file.
    let is_of_file = options.port.is_none();
    let address = |option: Option<SocketAddr>, setting: Option<SocketAddr>, offset: u16| {
        let port = if first == 0 { Some(0) } else { first.checked_add(offset) };
        let port = port.ok_or_else(|| Failure::usage("the port must be at most 65533"))?;
        let of_port = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok::<_, Failure>(option.or(setting.filter(|_| is_of_file)).or(Some(of_port)))
    };
    let (certificate, key) = (options.tls_certificate, options.tls_key);
    let tls = certificate.map(|certificate| TlsFiles { certificate, key });
    let statuses = Some(options.in_progress).filter(|statuses| !statuses.is_empty());
    Ok(Config {
        listen: address(options.listen, file.listen, 0)?,
        regional_listen: address(options.regional_listen, file.regional_listen, 1)?,
        control_listen: address(options.control_listen, file.control_listen, 2)?,
        control_token: options.control_token.map(Secret::from).or(file.control_token),
        cors_origins: [file.cors_origins, options.cors_origin].concat(),
        tls: tls.or(file.tls),
        public_url: options.public_url.or(file.public_url),
        regional_public_url: options.regional_public_url.or(file.regional_public_url),
        allow_remote: options.allow_remote || file.allow_remote,
        ready_after: options.ready_after.unwrap_or(file.ready_after),
        ready_after_spread: options.ready_after_spread.unwrap_or(file.ready_after_spread),
        in_progress: statuses.unwrap_or(file.in_progress),
        api_keys: options.key.map_or(file.api_keys, |key| vec![key.into()]),
        model_prefix: options.model_prefix.unwrap_or(file.model_prefix),
        fetch_images: options.fetch_images.unwrap_or(file.fetch_images),
        strict: options.strict || file.strict,
        seed: options.seed.map(Secret::from).or(file.seed),
        ..file
    })
}

fn from_file(path: &Path) -> Result<Config, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::file(format!("could not read {}", path.display()), error))?;
    Config::from_toml(&text).map_err(|error| {
        let what = format!("{}, line {}: {}", path.display(), error.line, error.problem);
        Failure::settings(what).advise("docs/simulator/settings.md lists the settings")
    })
}

/// Returns the environment variables that a client of the simulator needs.
fn variables(simulator: &Simulator, prefix: &str) -> Vec<(&'static str, String)> {
    vec![
        (API_KEY_VARIABLE, simulator.api_key().to_owned()),
        (BASE_URL_VARIABLE, simulator.base_url().to_owned()),
        (REGIONAL_BASE_URL_VARIABLE, simulator.regional_base_url().to_owned()),
        // Set explicitly, because the user's own settings may have the prefix of another service.
        (MODEL_PREFIX_VARIABLE, prefix.to_owned()),
    ]
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
         --header '{KEY_HEADER}: {key}' {base}/v1/{prefix}-2-pro\n",
        exports = exports.join("\n  ")
    )
}

/// Runs the command with additional environment variables, and returns its exit code.
async fn run_command(
    words: &[OsString],
    environment: Vec<(&'static str, String)>,
    interrupts: &Interrupts,
) -> Result<u8, Failure> {
    let [program, arguments @ ..] = words else { return Ok(Exit::Success.into()) };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment).kill_on_drop(true);
    let failed = |error| {
        Failure::file(format!("could not run {}", program.to_string_lossy()), error)
            .advise("the words after -- are a program and its arguments")
    };
    let mut child = command.spawn().map_err(failed)?;
    let ended = tokio::select! {
        ended = child.wait() => ended,
        () = interrupts.first() => return Ok(stop(&mut child, interrupts).await),
    };
    ended.map(exit_code).map_err(failed)
}

/// Waits until the command has ended after Ctrl-C. Kills the command on a second Ctrl-C, or if it
/// takes too long.
async fn stop(child: &mut Child, interrupts: &Interrupts) -> u8 {
    let ended = tokio::select! {
        ended = child.wait() => ended.ok(),
        () = interrupts.second() => None,
        () = tokio::time::sleep(PATIENCE) => None,
    };
    match ended {
        Some(status) => exit_code(status),
        None => {
            // Fails only if the command has ended.
            let _ = child.kill().await;
            Exit::Interrupted.into()
        }
    }
}

/// Returns the exit code as a shell would report it: 128 and the number of the signal, if a signal
/// ended the command.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(Exit::Other.into());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(Exit::Other.into())
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn ports(words: &[&str], default_port: u16) -> [u16; 3] {
        let words = [&[NAME], words].concat();
        let command = Options::augment_args(clap::Command::new(NAME));
        let options = Options::from_arg_matches(&command.get_matches_from(words)).unwrap();
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
