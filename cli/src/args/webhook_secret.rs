//! `--webhook-secret-file FILE`: the webhook secret of a request, which is in no argument.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};

use super::request;
use crate::{failure::Failure, files::secret_file, output::Output};
use imagekiln::{Operation, Request, WEBHOOK_SECRET_VARIABLE};

const FIELD: &str = "webhook_secret";

/// The id of the option.
pub const FILE: &str = "webhook-secret-file";

/// The option, for commands with the fields of a model.
pub fn arg() -> Arg {
    Arg::new(FILE)
        .long(FILE)
        .value_name("FILE")
        .hide_short_help(true)
        .value_parser(value_parser!(PathBuf))
        .help("A file that contains the webhook secret; other users can't see it, unlike arguments")
}

/// Whether a model may have a webhook secret.
pub fn applies(model: &Operation) -> bool {
    !model.all_fields_shown || model.field(FIELD).is_some()
}

/// Sets the field from the file, if the option is given. Warns if the secret is an argument.
pub fn set(output: &Output, request: Request, matches: &ArgMatches) -> Result<Request, Failure> {
    let is_argument = request::text(matches, FIELD).is_some();
    if is_argument {
        output.warning(&format!(
            "other users of this machine can see the webhook secret among the arguments; use \
             --{FILE} or {WEBHOOK_SECRET_VARIABLE}"
        ));
    }
    let Some(path) = matches.try_get_one::<PathBuf>(FILE).ok().flatten() else {
        return Ok(request);
    };
    let model = request.operation();
    if is_argument {
        return Err(Failure::usage(format!("the webhook secret is set twice, also by --{FILE}"))
            .advise("nothing was sent; remove the secret from the arguments"));
    }
    if !applies(model) {
        return Err(Failure::usage(format!("{model} has no field for a webhook secret"))
            .advise(format!("nothing was sent; leave --{FILE} out")));
    }
    let secret = secret_file::read(path, "the webhook secret file")?;
    Ok(request.field(FIELD, secret))
}
