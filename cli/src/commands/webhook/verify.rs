//! `kiln webhook verify FILE`: verifies a recorded delivery.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::{
    MAX_BODY,
    scheme::{Reading, SchemeOptions},
    verdict,
};
use crate::{context::Context, failure::Failure, process::Process};
use imagekiln::WEBHOOK_SECRET_VARIABLE;

pub const NAME: &str = "verify";

#[derive(Args)]
struct Options {
    /// The raw body, exactly as it was received; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A header of the delivery, such as "x-webhook-signature: sha256=..."; repeatable
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", action = ArgAction::Append)]
    headers: Vec<String>,
    #[command(flatten)]
    scheme: SchemeOptions,
}

pub fn command() -> Command {
    Options::augment_args(Command::new(NAME))
        .about("Verify the signature of a recorded webhook and print its content")
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let options =
        Options::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let headers = parse_headers(&options.headers)?;
    let Reading::Verified(verifier) = options.scheme.reading(context.process())? else {
        return Err(Failure::settings("no webhook secret is set")
            .advise(format!("set {WEBHOOK_SECRET_VARIABLE}, or pass --secret-file")));
    };
    let body = read_body(context.process(), &options.file)?;
    let event = verifier.verify(&headers, body).map_err(|refusal| verdict::failure(&refusal))?;
    context.output.result(
        || format!("verified: {}", verdict::to_people(&event)),
        || verdict::to_programs(&event),
    )
}

fn parse_headers(given: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (at, text) in given.iter().enumerate() {
        let (name, value) = parse_header(text).ok_or_else(|| {
            // The text may contain a secret, so do not quote it.
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

/// Reads at most one byte more than the verifier accepts, so that it rejects a larger body.
fn read_body(process: &Process, path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        return fs::File::open(path)
            .and_then(read_bounded)
            .map_err(|error| Failure::file(format!("could not read {}", path.display()), error));
    }
    let stdin = &process.stdin;
    if stdin.is_terminal {
        return Err(Failure::usage(
            "could not read the body from standard input: it is a terminal",
        )
        .advise("redirect a file: < body.json"));
    }
    read_bounded(stdin).map_err(|error| Failure::file("could not read standard input", error))
}

fn read_bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_BODY as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
