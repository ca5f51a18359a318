//! `kiln webhook verify FILE`: verifies a recorded delivery.

use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};
use imagekiln::WEBHOOK_SECRET_VARIABLE;

use super::{
    MAX_BODY, claims, refused,
    scheme::{Reading, SchemeOptions},
};
use crate::{context::Context, failure::Failure};

pub const NAME: &str = "verify";

#[derive(Args)]
struct Options {
    /// The raw body, byte for byte as it was received; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A header of the delivery, such as "x-webhook-signature: sha256=..."; repeat it for each
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", action = ArgAction::Append)]
    headers: Vec<String>,
    #[command(flatten)]
    scheme: SchemeOptions,
}

pub fn command() -> Command {
    Options::augment_args(Command::new(NAME))
        .about("Verify the signature of a recorded webhook, and print what it says")
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let options =
        Options::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let headers = parse_headers(&options.headers)?;
    let Reading::Verified(verifier) = options.scheme.reading()? else {
        return Err(Failure::settings("there is no webhook secret")
            .advise(format!("set {WEBHOOK_SECRET_VARIABLE}, or give --secret-file")));
    };
    let body = read_body(&options.file)?;
    let event = verifier.verify(&headers, body).map_err(|refusal| refused::failure(&refusal))?;
    context.voice.result(
        || format!("verified: {}", claims::to_people(&event)),
        || claims::to_programs(&event),
    )
}

fn parse_headers(given: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (at, text) in given.iter().enumerate() {
        let (name, value) = parse_header(text).ok_or_else(|| {
            // The text may hold a secret, so it is not quoted.
            Failure::usage(format!("--header number {} is not a header", at + 1))
                .advise("give a name, a colon and a value, such as \"webhook-id: msg_1\"")
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

/// One byte more than the verifier takes, at most: it refuses such a body.
fn read_body(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        return fs::File::open(path)
            .and_then(read_bounded)
            .map_err(|error| Failure::file(format!("{} can't be read", path.display()), error));
    }
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::usage(
            "`-` reads the body from standard input, which is a terminal here",
        )
        .advise("redirect a file to it: < body.json"));
    }
    read_bounded(stdin).map_err(|error| Failure::file("standard input can't be read", error))
}

fn read_bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_BODY as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
