//! `kiln doctor`: checks whether this machine can use the service, without submitting a task, so it
//! costs nothing.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::{Response, Url, header::DATE, redirect::Policy};
use serde::Serialize;
use serde_json::json;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use crate::{
    context::Context,
    failure::{Exit, Failure, advice},
    files::directory::probe,
    history, models,
    process::Process,
    service::{self, Session},
    settings::{Settings, Source, key, names::BASE_URL},
    text::{Table, now, printable},
};
use imagekiln::ErrorKind;

pub const NAME: &str = "doctor";

pub const COST: &str = "\
    Submits nothing and costs nothing: the key is checked by polling a task that does not exist. \
    The exit code is 0 if all is well, and otherwise that of the first problem.";

/// The checks that need the service, in their order.
const CHECKS: [&str; 4] = ["address", "tls", "clock", "key"];

/// How long each step may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The largest tolerated difference between the clocks. A webhook whose time differs by more is
/// refused.
const MAX_SKEW: Duration = Duration::from_secs(300);

/// The id of a task that no service has.
const UNKNOWN_TASK: &str = "00000000-0000-0000-0000-000000000000";

pub async fn run(context: &Context) -> Result<u8, Failure> {
    let process = context.process();
    let read = context.settings.reload();
    let is_read = read.is_ok();
    let settings = read.as_ref().unwrap_or(&context.settings).clone();
    let mut checks = vec![Check::of("settings", read.map(|settings| origin(&settings)))];
    checks.extend(directories(process, &settings));
    checks.push(Check::of("terminal", Ok(terminal(process))));
    if is_read {
        checks.extend(service(context).await);
    } else {
        checks.extend(skipped(0, "the settings could not be read"));
    }
    let exit = checks.iter().find_map(|check| check.exit);
    context.output.result(
        || {
            let table = Table::new(checks.iter().flat_map(Check::rows)).wrapped(&[2]);
            table.text((process.stdout.columns)())
        },
        || json!({ "ok": exit.is_none(), "checks": checks }),
    )?;
    Ok(exit.unwrap_or(Exit::Success).into())
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: &'static str,
    message: String,
    advice: Option<String>,
    /// The exit code of the command, if this is the first problem.
    #[serde(skip)]
    exit: Option<Exit>,
}

impl Check {
    fn of(name: &'static str, outcome: Result<String, Failure>) -> Self {
        match outcome {
            Ok(message) => Self { name, state: "ok", message, advice: None, exit: None },
            Err(mut failure) => {
                let message = failure.with_causes();
                let (advice, exit) = (failure.advice.take(), Some(failure.exit));
                Self { name, state: "problem", message, advice, exit }
            }
        }
    }

    /// Returns a check that was not made, because something else is missing.
    fn skipped(name: &'static str, why: &str) -> Self {
        Self { name, state: "skipped", message: why.to_owned(), advice: None, exit: None }
    }

    /// Returns the row of the check and, if there is advice, a row with the advice.
    fn rows(&self) -> impl Iterator<Item = [String; 3]> {
        let row = [self.state.to_owned(), self.name.to_owned(), printable(&self.message)];
        let advice = self.advice.as_deref().filter(|advice| !advice.is_empty());
        let advice = advice.map(|advice| [String::new(), String::new(), printable(advice)]);
        [row].into_iter().chain(advice)
    }
}

fn problem(exit: Exit, text: impl Into<String>, advice: impl Into<String>) -> Failure {
    let mut failure = Failure::settings(text).advise(advice);
    failure.exit = exit;
    failure
}

/// Names the profile in effect and the file with the settings.
fn origin(settings: &Settings) -> String {
    let profile = &settings.profile;
    let file = match settings.path() {
        Ok(path) if path.exists() => path.display().to_string(),
        _ => "no config.toml".to_owned(),
    };
    format!("profile `{}` ({}), {file}", profile.name, profile.source)
}

/// Checks the directories of the settings and of the history.
fn directories(process: &Process, settings: &Settings) -> [Check; 2] {
    let key = settings.key_file().ok();
    let private: Vec<&Path> =
        key.iter().flat_map(|key| [key.parent().unwrap_or(key), key]).collect();
    let config = settings.directory().and_then(|path| directory(path, &private));
    let state = history::directory(process).and_then(|path: PathBuf| directory(&path, &[&path]));
    [Check::of("config", config), Check::of("history", state)]
}

/// Checks that a directory, or the nearest parent that exists, can be written to, and that other
/// users can't read the `private` paths.
fn directory(path: &Path, private: &[&Path]) -> Result<String, Failure> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    if let Err(error) = probe(existing) {
        let text = format!("could not write to {}: {}", existing.display(), error.kind());
        return Err(problem(Exit::Other, text, "change its permissions or its owner"));
    }
    if let Some(open) = private.iter().find(|path| is_open(path)) {
        let mode = if open.is_dir() { "700" } else { "600" };
        let open = open.display();
        let text = format!("other users can read {open}");
        return Err(problem(Exit::Other, text, format!("run `chmod {mode} {open}`")));
    }
    let state =
        if existing == path { "is writable" } else { "does not exist yet, and can be created" };
    Ok(format!("{} {state}", path.display()))
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

/// Describes the abilities of standard error. A missing ability is not a problem.
fn terminal(process: &Process) -> String {
    if !process.stderr.is_terminal {
        return "standard error is not a terminal, so no progress is shown".to_owned();
    }
    let colours = if process.stderr.has_colours { "colours" } else { "no colours" };
    let width = (process.stderr.columns)();
    let width = width.map_or("unknown width".to_owned(), |width| format!("{width} columns"));
    format!("{width}, {colours}")
}

/// Makes the checks that need the service. If the service is not reached, skips the rest of them.
async fn service(context: &Context) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Err((name, failure)) = reach(context, &mut checks).await {
        checks.push(Check::of(name, Err(failure)));
    }
    checks.extend(skipped(checks.len(), "the service was not reached"));
    checks
}

/// Returns all but the first `after` checks of the service, as skipped.
fn skipped(after: usize, why: &'static str) -> impl Iterator<Item = Check> {
    CHECKS.into_iter().skip(after).map(move |name| Check::skipped(name, why))
}

/// Makes the checks in their order. If the address or TLS fails, the later checks cannot succeed,
/// so this returns the name of the check and its failure.
async fn reach(context: &Context, checks: &mut Vec<Check>) -> Result<(), (&'static str, Failure)> {
    let (base, found) = connect(context).await.map_err(|failure| ("address", failure))?;
    checks.push(Check::of("address", Ok(found)));
    let (response, found) = request(&base).await.map_err(|failure| ("tls", failure))?;
    checks.push(Check::of("tls", Ok(found)));
    checks.push(clock(&response));
    checks.push(Check::of("key", accepted(context).await));
    Ok(())
}

/// Returns the base URL. Checks only that it is a URL with a host; the client checks the rest.
fn base(context: &Context) -> Result<Url, Failure> {
    let Some(text) = context.settings.text(&BASE_URL) else {
        // This error names everything that is missing, including the base URL.
        let missing = context.settings.service().err();
        return Err(missing.unwrap_or_else(|| Failure::settings("the base URL is not set")));
    };
    let url = Url::parse(text.trim()).ok().filter(Url::has_host);
    url.ok_or_else(|| {
        let mut failure = Failure::settings("the base URL is not a URL");
        failure.setting = BASE_URL.variable;
        context.settings.explain(failure)
    })
}

/// Resolves the host of the base URL and connects to it.
async fn connect(context: &Context) -> Result<(Url, String), Failure> {
    let base = base(context)?;
    if let Some(variable) = proxy(context.process(), &base) {
        return Ok((base, format!("not checked: {variable} sets a proxy, which connects")));
    }
    let host = base.host_str().unwrap_or_default().to_owned();
    let port = base.port_or_known_default().unwrap_or(443);
    let addresses = within(lookup_host((host.trim_matches(['[', ']']), port))).await;
    let addresses = addresses.map_err(|why| {
        let advice = "check the base URL, the network and the name server";
        problem(Exit::Network, format!("could not resolve {host}: {why}"), advice)
    })?;
    let mut why = "it has no address".to_owned();
    for address in addresses {
        match within(TcpStream::connect(address)).await {
            Ok(_) => return Ok((base, format!("connected to {host}, port {port}"))),
            Err(error) => why = error,
        }
    }
    let text = format!("could not connect to {host}, port {port}: {why}");
    let advice = "check the base URL and its port, the network and the firewall";
    Err(problem(Exit::Network, text, advice))
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> Result<T, String> {
    match timeout(LIMIT, work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("no response".to_owned()),
    }
}

/// Returns the name of the variable that sets a proxy for this URL.
fn proxy(process: &Process, base: &Url) -> Option<&'static str> {
    let is_local = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let variables = match base.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let is_set = |name: &&str| process.variable(name).is_some();
    variables.into_iter().find(|name| !is_local && is_set(name))
}

/// Sends a request without the key. Returns any response, whatever its status code.
async fn request(base: &Url) -> Result<(Response, String), Failure> {
    let is_https = base.scheme() == "https";
    let tls = service::tls(is_https)?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .timeout(LIMIT)
        .build();
    let failed = |error: reqwest::Error| {
        let error = error.without_url();
        let advice = if advice::is_not_tls(&error) {
            "the server does not speak TLS: if it is an http server, write http:// in the base URL"
        } else {
            "check the base URL, the system's certificates and the proxy"
        };
        // The innermost cause says most.
        let mut cause: &dyn Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        problem(Exit::Network, format!("no HTTP response: {cause}"), advice)
    };
    let response = client.map_err(failed)?.get(base.clone()).send().await.map_err(failed)?;
    let text = if is_https { "the certificate is valid" } else { "not used: the base URL is http" };
    Ok((response, text.to_owned()))
}

fn clock(response: &Response) -> Check {
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
    let Some(theirs) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else {
        return Check::skipped("clock", "the service sends no date");
    };
    let ahead = now().duration_since(theirs);
    let skew = ahead.as_ref().map_or_else(|behind| behind.duration(), |ahead| *ahead);
    if skew <= MAX_SKEW {
        return Check::of("clock", Ok("agrees with that of the service".to_owned()));
    }
    let minutes = (skew.as_secs() + 30) / 60;
    let direction = if ahead.is_ok() { "ahead of" } else { "behind" };
    let text = format!("this machine is {minutes} minutes {direction} the service");
    let advice =
        "set the clock: pictures would seem to expire at wrong times, and webhooks too old";
    Check::of("clock", Err(problem(Exit::Other, text, advice)))
}

/// Tests the key by polling a task that does not exist.
async fn accepted(context: &Context) -> Result<String, Failure> {
    let settings = &context.settings;
    let polled = async {
        let session = Session::recorded(context, None).await?;
        let task = session.client.task_by_id(models::default(), UNKNOWN_TASK)?;
        match timeout(LIMIT, task.poll()).await {
            Ok(Err(error)) if error.kind() != ErrorKind::TaskNotFound => Err(refused(&error)),
            Ok(_) => Ok(()),
            Err(_) => Err(problem(Exit::Network, "the service did not respond", "try again later")),
        }
    };
    polled.await.map_err(|failure| settings.explain(failure))?;
    let source = key::source(settings).unwrap_or(Source::Default);
    Ok(format!("the service accepts it ({source})"))
}

/// Returns the problem that the poll has found. Its advice replaces that of the client, which is
/// about a task that exists and is paid for.
fn refused(error: &imagekiln::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::Auth => {
            "check the key, and that its project has access; `kiln config login` stores another one"
        }
        ErrorKind::Payment => "add credits to the project, or increase its spending limit",
        _ if error.is_transient() => "check the network, or try again later",
        _ => "check the base URL",
    };
    problem(Failure::from(error).exit, error.message(), advice)
}
