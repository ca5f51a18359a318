//! `kiln generate PROMPT`: makes a picture from a prompt.

use clap::{
    Arg, ArgMatches, Command,
    builder::{PossibleValue, PossibleValuesParser},
};

use super::edit;
use crate::{
    args::{
        image::Images,
        model,
        prompt::{self, PROMPT},
        request, several, size,
    },
    context::Context,
    failure::Failure,
    make, preview, seeing, webhook_secret,
};
use imagekiln::{Operation, Request};

pub const NAME: &str = "generate";

/// The default model of `generate` and `edit`.
pub const DEFAULT_MODEL: &str = "gen-2-pro";

const EXAMPLES: &str = "\
Examples:
  kiln generate \"a red fox in the snow\" -o fox.png
  kiln generate @prompt.txt -m gen-2-flex -s 1024x768 -o fox.webp";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Generate a picture from a prompt: submit, wait, save")
        .arg(prompt::several("What the picture shows, or several pictures"));
    of_model(command, chosen, any_model(), &[PROMPT], EXAMPLES)
}

/// Adds `--model` and the flags of the chosen model to a command. Fields in `elsewhere` are its
/// arguments.
pub fn of_model(
    command: Command,
    chosen: &'static Operation,
    model: Arg,
    elsewhere: &[&str],
    examples: &str,
) -> Command {
    model::with_fields(
        command,
        chosen,
        elsewhere,
        &[
            &[model][..],
            &make::output_args(),
            &seeing::args(),
            &[several::arg(), size::arg(), webhook_secret::arg(), preview::arg()],
        ]
        .concat(),
    )
    .after_help(format!("{examples}\n\n`--help` lists all fields of {chosen}. {}", model::IMAGE))
    .after_long_help(format!(
        "{examples}\n\n{}\n{}",
        model::description(chosen),
        model::notes(chosen, model::IMAGE)
    ))
}

/// `--model` of `generate` and `edit`.
pub fn any_model() -> Arg {
    model_arg(DEFAULT_MODEL, model::models())
}

/// `--model` with one of these models.
pub fn model_arg(default: &str, models: impl Iterator<Item = &'static Operation>) -> Arg {
    Arg::new("model")
        .long("model")
        .short('m')
        .value_name("MODEL")
        .help(format!("The model; its fields are the flags below [default: {default}]"))
        .hide_possible_values(true)
        .value_parser(model_names(models))
}

/// Accepts the name, path or id of one of these models.
pub fn model_names(models: impl Iterator<Item = &'static Operation>) -> PossibleValuesParser {
    PossibleValuesParser::new(models.map(|model| {
        PossibleValue::new(model.name)
            .help(model::summary(model))
            .aliases([model.id, model.path].into_iter().filter(|alias| *alias != model.name))
    }))
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let mut images = Images::of(context.process());
    let prompts = prompt::read_all(matches, &mut images, edit::NAME)?;
    let model = chosen(matches, default_model(context)?)?;
    let request = request::from_flags(model, matches, &mut images)?;
    takes_prompt(model)?;
    make::make(context, request, &prompts, matches).await
}

/// The model of commands without `--model`.
pub fn default_model(context: &Context) -> Result<&'static Operation, Failure> {
    let model = context.settings.model().or_else(|| model::find(DEFAULT_MODEL));
    model.ok_or_else(|| Failure::usage("no default model"))
}

/// The model that `--model` names, or the default.
pub fn chosen(
    matches: &ArgMatches,
    default: &'static Operation,
) -> Result<&'static Operation, Failure> {
    let Some(name) = matches.get_one::<String>("model") else { return Ok(default) };
    model::find(name).ok_or_else(|| Failure::usage(format!("unknown model `{name}`")))
}

/// Adds the prompt.
pub fn with_prompt(request: Request, prompt: String) -> Result<Request, Failure> {
    takes_prompt(request.operation())?;
    Ok(request.field(PROMPT, prompt))
}

/// Refuses a model without a prompt. If the contract does not show all fields of a model, it may
/// have one.
fn takes_prompt(model: &'static Operation) -> Result<(), Failure> {
    if !model.all_fields_shown || model.field(PROMPT).is_some() {
        return Ok(());
    }
    let problem = format!("the contract lists no prompt field for {model}");
    Err(Failure::usage(problem).advise(format!(
        "nothing was sent; use `kiln run {}`, whose --help lists the model's fields",
        model.name
    )))
}
