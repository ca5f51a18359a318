//! Checks whether the service can be reached and accepts the key.

use std::{error::Error, io, time::Duration};

use reqwest::{Response, Url, header::DATE, redirect::Policy};
use time::UtcDateTime;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::{Check, problem};
use crate::{
    context::Context,
    failure::{Failure, advice, exit::Exit},
    models,
    process::Process,
    service::{session::Session, tls},
    settings::{Source, key, names::BASE_URL},
};
use imagekiln::ErrorKind;

/// The checks of the service, in their order.
const NAMES: [&str; 4] = ["address", "tls", "clock", "key"];

/// How long each step may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The tolerated error of the clock: older webhooks are refused.
const MAX_SKEW: Duration = Duration::from_secs(300);

/// A task that no service has.
const UNKNOWN_TASK: &str = "00000000-0000-0000-0000-000000000000";

/// Checks the service. A check without which the next ones can't succeed skips them.
pub async fn checks(context: &Context) -> Vec<Check> {
    let mut checks = Vec::new();
    // What failed is among the checks.
    let _ = reach(context, &mut checks).await;
    checks.extend(skipped(checks.len(), "the service was not reached"));
    checks
}

/// The checks after the first ones, which are skipped.
pub fn skipped(after: usize, why: &'static str) -> impl Iterator<Item = Check> {
    NAMES.into_iter().skip(after).map(move |name| Check::skipped(name, why))
}

/// Makes one check after the other. `None` if one failed, and the others were not made.
async fn reach(context: &Context, checks: &mut Vec<Check>) -> Option<()> {
    let base = add(checks, "address", connect(context).await)?;
    let response = add(checks, "tls", request(&base).await)?;
    checks.push(clock(&response));
    checks.push(Check::of("key", accepted(context).await));
    Some(())
}

/// Adds a check with its description. Returns what it has found for the next ones.
fn add<T>(
    checks: &mut Vec<Check>,
    name: &'static str,
    found: Result<(T, String), Failure>,
) -> Option<T> {
    let (found, outcome) = match found {
        Ok((found, text)) => (Some(found), Ok(text)),
        Err(failure) => (None, Err(failure)),
    };
    checks.push(Check::of(name, outcome));
    found
}

/// The base URL. The client checks more of it.
fn base(context: &Context) -> Result<Url, Failure> {
    let found = context.settings.find(&BASE_URL).and_then(|mut found| found.texts.pop());
    let Some(text) = found else {
        // Names what is missing, which is at least the base URL.
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

/// The variable that sets a proxy for this URL.
fn proxy(process: &Process, base: &Url) -> Option<&'static str> {
    let is_local = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let variables = match base.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let is_set = |name: &&str| process.variable(name).is_some();
    variables.into_iter().find(|name| !is_local && is_set(name))
}

/// Sends a request without the key. Returns the response, whatever it says.
async fn request(base: &Url) -> Result<(Response, String), Failure> {
    let is_https = base.scheme() == "https";
    let tls = tls::config(is_https)?;
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
        problem(Exit::Network, last_cause(&error), advice)
    };
    let response = client.map_err(failed)?.get(base.clone()).send().await.map_err(failed)?;
    let text = if is_https { "the certificate is valid" } else { "not used: the base URL is http" };
    Ok((response, text.to_owned()))
}

/// The innermost cause, which says most.
fn last_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    format!("no HTTP response: {cause}")
}

/// Compares the clocks.
fn clock(response: &Response) -> Check {
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
    let Some(theirs) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else {
        return Check::skipped("clock", "the service sends no date");
    };
    let skew = UtcDateTime::now() - UtcDateTime::from(theirs);
    if skew.unsigned_abs() <= MAX_SKEW {
        return Check::of("clock", Ok("agrees with that of the service".to_owned()));
    }
    let minutes = (skew.unsigned_abs().as_secs() + 30) / 60;
    let direction = if skew.is_positive() { "ahead of" } else { "behind" };
    let text = format!("this machine is {minutes} minutes {direction} the service");
    let advice =
        "set the clock: pictures would seem to expire at wrong times, and webhooks too old";
    Check::of("clock", Err(problem(Exit::Other, text, advice)))
}

/// Tests the key by polling a task that does not exist.
async fn accepted(context: &Context) -> Result<String, Failure> {
    let settings = &context.settings;
    let polled = async {
        let session = Session::open(context).await?;
        let model = imagekiln::find_operation(models::DEFAULT);
        let model = model.ok_or_else(|| Failure::usage("no default model"))?;
        let task = session.client.task_by_id(model, UNKNOWN_TASK)?;
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

/// The problem of a poll. What the client says about the task of a poll is not true of this one.
fn refused(error: &imagekiln::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::Auth => {
            "check the key, and that its project has access; `kiln login` stores another one"
        }
        ErrorKind::Payment => "add credits to the project, or increase its spending limit",
        _ if error.is_transient() => "check the network, or try again later",
        _ => "check the base URL",
    };
    problem(Failure::from(error).exit, error.message(), advice)
}
