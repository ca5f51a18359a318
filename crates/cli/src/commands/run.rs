//! `kiln run MODEL [--FIELD VALUE]...`: runs any model with any of its fields.

use clap::{ArgMatches, Command};

use super::generate::own_options;
use crate::{
    args::{inputs::Inputs, model, options, request},
    context::Context,
    failure::Failure,
    making,
};
use imagekiln::Request;

pub const NAME: &str = "run";

/// A line of help that says how to get the help of a model.
pub const MODEL_HELP: &str = "`MODEL --help` lists the fields of a model.";

const EXAMPLES: &str = "\
Examples:
  kiln run gen-2-flex --prompt \"a red fox\" --guidance 7.5 -o fox.png
  kiln run gen-tools/deblur-v1 --image cat.png";

pub fn command(used: model::Used<'_>) -> Command {
    of_models(Command::new(NAME))
        .about("Run any model with any of its fields: submit, wait, save")
        .after_help(format!("{EXAMPLES}\n\n{MODEL_HELP}"))
        .subcommands(model::subcommands(used, &own_options()))
}

/// Prepares a command whose subcommands are the models.
pub fn of_models(command: Command) -> Command {
    options::group(command).subcommand_value_name("MODEL").subcommand_help_heading("Models")
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (request, matches) = request(context, matches)?;
    making::make(context, request, matches).await
}

/// Returns the request to the model that the subcommand names, and the matches of the subcommand.
pub fn request<'a>(
    context: &Context,
    matches: &'a ArgMatches,
) -> Result<(Request, &'a ArgMatches), Failure> {
    let (name, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no model given"))?;
    let (model, mut inputs) = (model::named(name)?, Inputs::of(&context.output, &context.settings));
    Ok((request::with_defaults(model, matches, &mut inputs)?, matches))
}
