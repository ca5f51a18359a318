//! `kiln webhook verify FILE`: verifies a recorded delivery.

use std::{
    fs,
    path::{Path, PathBuf},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use clap::{ArgAction, Args, ValueHint};
use serde_json::json;

use super::{MAX_BODY, members, reason, scheme::SchemeOptions, to_people};
use crate::{context::Context, failure::Failure, files::bounded, process::Process, text::json};
use imagekiln::{WEBHOOK_SECRET_VARIABLE, webhook::Rejection};

#[derive(Args)]
#[command(about = "Verify the signature of a recorded webhook and print its content")]
pub struct Options {
    /// The raw body, exactly as it was received; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// A header of the delivery, such as "x-webhook-signature: sha256=..."; repeatable
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", action = ArgAction::Append)]
    headers: Vec<String>,
    #[command(flatten)]
    scheme: SchemeOptions,
}

pub fn run(context: &Context, options: &Options) -> Result<(), Failure> {
    let headers = parse_headers(&options.headers)?;
    let (verifier, Some(_)) = options.scheme.verifier(context.process())? else {
        return Err(Failure::settings("no webhook secret is set")
            .advise(format!("set {WEBHOOK_SECRET_VARIABLE}, or pass --secret-file")));
    };
    let body = read_body(context.process(), &options.file)?;
    let event = verifier.verify(&headers, body).map_err(|rejection| failure(&rejection))?;
    context.output.result(
        || format!("verified: {}", to_people(&event)),
        || json::with(json!({}), members(&event)),
    )
}

fn failure(rejection: &Rejection) -> Failure {
    let advice = match rejection {
        Rejection::Missing { .. } => {
            "check --scheme, --signature-header and each --header; `kiln webhook listen` without a \
             secret prints the headers that the service sends"
        }
        Rejection::Malformed { .. } => "check --scheme, --prefix and --encoding, and each --header",
        Rejection::Wrong { .. } => {
            "check the secret, and that the body is exactly what was received"
        }
        Rejection::TooOld { .. } => "pass a longer --max-age if the delivery is a recorded one",
        Rejection::FromFuture { .. } => "check this machine's clock, or pass a longer --max-age",
        Rejection::TooLarge { .. } => "check that the file contains the body of one webhook",
        Rejection::NotJson => {
            "check that the file contains the body of a webhook; its signature is valid"
        }
        _ => "check the options of the signature",
    };
    let problem = format!("the webhook was rejected: {rejection}");
    Failure::webhook(reason(rejection), problem).advise(advice)
}

fn parse_headers(given: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (at, text) in given.iter().enumerate() {
        let (name, value) = parse_header(text).ok_or_else(|| {
            // The text may contain a secret, so the message does not quote it.
            Failure::usage(format!("--header number {} is not a header", at + 1))
                .advise("use a name, a colon and a value, such as \"webhook-id: msg_1\"")
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn parse_header(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once(':')?;
    let value = value.trim_matches([' ', '\t']);
    Some((name.parse().ok()?, HeaderValue::from_bytes(value.as_bytes()).ok()?))
}

/// Reads the body, but at most one byte more than the verifier accepts: with this byte, the
/// verifier rejects a body that is too large.
fn read_body(process: &Process, path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        return fs::File::open(path)
            .and_then(|file| bounded(file, MAX_BODY as u64))
            .map_err(|error| Failure::file(format!("could not read {}", path.display()), error));
    }
    let stdin = &process.stdin;
    if stdin.is_terminal {
        return Err(Failure::usage(
            "could not read the body from standard input: it is a terminal",
        )
        .advise("redirect a file: < body.json"));
    }
    bounded(stdin, MAX_BODY as u64)
        .map_err(|error| Failure::file("could not read standard input", error))
}
