//! `--model`, and the flags of the model that it chooses.

use clap::{
    Arg, ArgMatches, Command,
    builder::{PossibleValue, PossibleValuesParser},
};

use crate::{
    args::{count, model, options, output, prompt::PROMPT, size, webhook_secret},
    context::Context,
    failure::Failure,
    making::preview,
    models, seeing,
};
use imagekiln::{Operation, Request};

/// Adds `--model` and the flags of the chosen model to a command. Fields in `elsewhere` are its
/// arguments.
pub fn of_model(
    command: Command,
    chosen: &'static Operation,
    model: Arg,
    elsewhere: &[&str],
    examples: &str,
) -> Command {
    let options = [vec![model], own_options()].concat();
    model::with_fields(command, chosen, elsewhere, &options)
        .after_help(format!(
            "{examples}\n\n`--help` lists all fields of {chosen}. {}",
            model::IMAGE
        ))
        .after_long_help(format!(
            "{examples}\n\n{}\n{}",
            model::description(chosen),
            model::notes(chosen, model::IMAGE)
        ))
}

/// The options of commands that make pictures, besides the fields of the model.
pub fn own_options() -> Vec<Arg> {
    let others = [count::arg(), size::arg(), webhook_secret::arg(), preview::arg()];
    let own = output::args().into_iter().chain(seeing::args()).chain(others);
    own.chain(options::shared(options::MAKING)).collect()
}

/// `--model` of `generate` and `edit`.
pub fn any_model() -> Arg {
    model_arg(models::DEFAULT, models::models())
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
            .help(models::summary(model))
            .aliases([model.id, model.path].into_iter().filter(|alias| *alias != model.name))
    }))
}

/// The model of commands without `--model`.
pub fn default_model(context: &Context) -> Result<&'static Operation, Failure> {
    let model = context.settings.model().or_else(|| models::find(models::DEFAULT));
    model.ok_or_else(|| Failure::usage("no default model"))
}

/// The model that `--model` names, or the default.
pub fn chosen(
    matches: &ArgMatches,
    default: &'static Operation,
) -> Result<&'static Operation, Failure> {
    let Some(name) = matches.get_one::<String>("model") else { return Ok(default) };
    models::find(name).ok_or_else(|| Failure::usage(format!("unknown model `{name}`")))
}

/// Adds the prompt.
pub fn with_prompt(request: Request, prompt: String) -> Result<Request, Failure> {
    takes_prompt(request.operation())?;
    Ok(request.field(PROMPT, prompt))
}

/// Refuses a model without a prompt. If the contract does not show all fields of a model, it may
/// have one.
pub fn takes_prompt(model: &'static Operation) -> Result<(), Failure> {
    if !model.all_fields_shown || model.field(PROMPT).is_some() {
        return Ok(());
    }
    let problem = format!("the contract lists no prompt field for {model}");
    Err(Failure::usage(problem).advise(format!(
        "nothing was sent; use `kiln run {}`, whose --help lists the model's fields",
        model.name
    )))
}
