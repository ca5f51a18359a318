//! Checks whether the service can be reached and accepts the key.

use std::{error::Error, time::Duration};

use reqwest::{Response, Url, header::DATE, redirect::Policy};
use time::UtcDateTime;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::Check;
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
pub const NAMES: [&str; 4] = ["address", "tls", "clock", "key"];

/// How long each step may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The tolerated error of the clock: older webhooks are refused.
const MAX_SKEW: Duration = Duration::from_secs(300);

/// A task that no service has.
const UNKNOWN_TASK: &str = "00000000-0000-0000-0000-000000000000";

/// Checks the service. A check without which the next ones can't succeed skips them.
pub async fn checks(context: &Context) -> Vec<Check> {
    let mut checks = vec![];
    let reached = match base(context).await {
        Ok(base) => reach(context.process(), &base, &mut checks).await,
        Err(failure) => {
            checks.push(Check::failed("address", &failure));
            None
        }
    };
    if let Some(response) = reached {
        checks.push(clock(&response));
        checks.push(check_key(context).await);
    }
    let skipped = NAMES.into_iter().skip(checks.len());
    let skipped: Vec<_> =
        skipped.map(|name| Check::skipped(name, "the service was not reached")).collect();
    checks.extend(skipped);
    checks
}

/// The base URL. The client checks more of it.
async fn base(context: &Context) -> Result<Url, Failure> {
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

/// Connects, and sends a request without the key. Returns the response, whatever it says.
async fn reach(process: &Process, base: &Url, checks: &mut Vec<Check>) -> Option<Response> {
    match address(process, base).await {
        Ok(text) => checks.push(Check::ok("address", text)),
        Err((text, advice)) => {
            checks.push(Check::problem("address", Exit::Network, text, advice));
            return None;
        }
    }
    match request(base).await {
        Ok(response) => {
            checks.push(Check::ok(
                "tls",
                match base.scheme() {
                    "https" => "the certificate is valid",
                    _ => "not used: the base URL is http",
                },
            ));
            Some(response)
        }
        Err(check) => {
            checks.push(check);
            None
        }
    }
}

/// Resolves the host and connects to it. Errors have an advice.
async fn address(process: &Process, base: &Url) -> Result<String, (String, &'static str)> {
    if let Some(variable) = proxy(process, base) {
        return Ok(format!("not checked: {variable} sets a proxy, which connects"));
    }
    let host = base.host_str().unwrap_or_default();
    let port = base.port_or_known_default().unwrap_or(443);
    let name = host.trim_matches(['[', ']']);
    let advice = "check the base URL, the network and the name server";
    let addresses: Vec<_> = match timeout(LIMIT, lookup_host((name, port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Err((format!("could not resolve {host}: {error}"), advice)),
        Err(_) => return Err((format!("could not resolve {host}: no response"), advice)),
    };
    let mut problem = "it has no address".to_owned();
    for address in addresses {
        match timeout(LIMIT, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(format!("connected to {host}, port {port}")),
            Ok(Err(error)) => problem = error.to_string(),
            Err(_) => problem = "no response".to_owned(),
        }
    }
    let advice = "check the base URL and its port, the network and the firewall";
    Err((format!("could not connect to {host}, port {port}: {problem}"), advice))
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

async fn request(base: &Url) -> Result<Response, Check> {
    let tls =
        tls::config(base.scheme() == "https").map_err(|failure| Check::failed("tls", &failure))?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .timeout(LIMIT)
        .build();
    let failed = |error: reqwest::Error| {
        let error = error.without_url();
        let advice = if advice::is_not_tls(&error) {
            concat!(
                "the server does not speak TLS: if it is an http server, write http:// in the ",
                "base URL"
            )
        } else {
            "check the base URL, the system's certificates and the proxy"
        };
        Check::problem("tls", Exit::Network, last_cause(&error), advice)
    };
    client.map_err(failed)?.get(base.clone()).send().await.map_err(failed)
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
    let minutes = (skew.unsigned_abs().as_secs() + 30) / 60;
    if skew.unsigned_abs() <= MAX_SKEW {
        return Check::ok("clock", "agrees with that of the service");
    }
    let direction = if skew.is_positive() { "ahead of" } else { "behind" };
    Check::problem(
        "clock",
        Exit::Other,
        format!("this machine is {minutes} minutes {direction} the service"),
        "set the clock: pictures would seem to expire at wrong times, and webhooks too old",
    )
}

/// Tests the key by polling a task that does not exist.
async fn check_key(context: &Context) -> Check {
    let polled = async {
        let session = Session::open(context).await?;
        let model = imagekiln::find_operation(models::DEFAULT);
        let model = model.ok_or_else(|| Failure::usage("no default model"))?;
        let task = session.client.task_by_id(model, UNKNOWN_TASK)?;
        Ok::<_, Failure>(timeout(LIMIT, task.poll()).await)
    };
    let source = key::source(&context.settings).unwrap_or(Source::Default);
    let accepted = || Check::ok("key", format!("the service accepts it ({source})"));
    match polled.await {
        Ok(Ok(Ok(_))) => accepted(),
        Ok(Ok(Err(error))) if error.kind() == ErrorKind::TaskNotFound => accepted(),
        Ok(Ok(Err(error))) => refused(&error),
        Ok(Err(_)) => {
            Check::problem("key", Exit::Network, "the service did not respond", "try again later")
        }
        Err(failure) => Check::failed("key", &context.settings.explain(failure)),
    }
}

/// The problem of a poll. What the client says about the task of a poll is not true of this one.
fn refused(error: &imagekiln::Error) -> Check {
    let advice = match error.kind() {
        ErrorKind::Auth => {
            "check the key, and that its project has access; `kiln login` stores another one"
        }
        ErrorKind::Payment => "add credits to the project, or increase its spending limit",
        _ if error.is_transient() => "check the network, or try again later",
        _ => "check the base URL",
    };
    Check::problem("key", Failure::from(error).exit, error.message(), advice)
}
