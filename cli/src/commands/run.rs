//! `kiln run MODEL [--FIELD VALUE]...`: any model, with any of its fields.

use clap::{ArgMatches, Command};
use imagekiln::Request;

use crate::{
    args::{image::Images, model, request},
    context::Context,
    failure::Failure,
    make,
};

pub const NAME: &str = "run";

pub fn command() -> Command {
    of_models(Command::new(NAME))
        .about("Run any model with any of its fields: submit, wait, save the picture")
        .subcommands(model::subcommands(&[make::output_arg()]))
}

/// A command whose subcommands are the models.
pub fn of_models(command: Command) -> Command {
    command
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("MODEL")
        .subcommand_help_heading("Models")
        .after_help("`MODEL --help` shows the fields of a model.")
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (request, matches) = request(matches)?;
    make::make(context, request, matches).await
}

/// The request to the model that the subcommand names, and the flags of that model.
pub fn request(matches: &ArgMatches) -> Result<(Request, &ArgMatches), Failure> {
    let (name, matches) =
        matches.subcommand().ok_or_else(|| Failure::usage("no model is named"))?;
    let model =
        model::find(name).ok_or_else(|| Failure::usage(format!("there is no model `{name}`")))?;
    Ok((request::from_flags(model, matches, &mut Images::default())?, matches))
}
