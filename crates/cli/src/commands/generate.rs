//! `kiln generate PROMPT`: makes a picture from a prompt. Also contains the options that all
//! commands that make pictures share.

use clap::{Arg, ArgMatches, Command};

use crate::{
    args::{
        inputs::{Inputs, prompt_arg, single_words},
        model,
        options::{self, FieldOptions},
        output::Saving,
        preset::{self, PresetOptions},
        request,
    },
    context::Context,
    failure::Failure,
    making::{
        self, Pictures, Variant,
        costs::{self, CostOptions},
        dry_run::DryRun,
        identical::AgainOptions,
        keyed::KeyOptions,
    },
    models::{self, PROMPT},
    seeing::SeeingOptions,
};
use imagekiln::Operation;

pub const NAME: &str = "generate";

const EXAMPLES: &str = "\
Examples:
  kiln generate \"a red fox in the snow\" -o fox.png
  kiln generate @prompt.txt -m gen-2-flex -s 1024x768 -o fox.webp";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Generate a picture from a prompt: submit, wait, save")
        .arg(
            prompt_arg("What the picture shows, or several pictures")
                .num_args(1..)
                .required(false)
                .required_unless_present(preset::PRESET),
        )
        .args(options::of::<PresetOptions>());
    of_model(command, chosen, any_model(chosen), &[PROMPT], (EXAMPLES, ""))
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if let Some(prompts) = single_words(matches) {
        costs::check_words(context, &prompts, matches).await?;
    }
    let mut inputs = Inputs::of(&context.output, &context.settings);
    let prompts = inputs.prompts(matches, "edit")?;
    let prompts = preset::prompts(&context.settings, matches, prompts)?;
    let model = model::chosen(matches)?;
    let request = request::with_defaults(model, matches, &mut inputs)?;
    takes_prompt(model)?;
    let variants = prompts.into_iter().map(Variant::Prompt).collect();
    making::make(context, Pictures { variants, ..request.into() }, matches).await
}

/// Returns `--model`, which accepts any model.
pub fn any_model(chosen: &'static Operation) -> Arg {
    model::model_arg(chosen, models::DEFAULT, models::models())
}

/// Adds `--model` and the flags of the chosen model to a command. The fields in `elsewhere` get no
/// flags, because they are arguments of the command. `--help` shows the text `more` after the
/// examples.
pub fn of_model(
    command: Command,
    chosen: &'static Operation,
    model: Arg,
    elsewhere: &[&str],
    (examples, more): (&str, &str),
) -> Command {
    let options = [vec![model], own_options()].concat();
    let all = format!("Examples (`--help` lists all options and fields of {chosen}):");
    let (description, notes) = (model::description(chosen), model::notes(chosen, model::IMAGE));
    model::with_fields(command, chosen, elsewhere, &options)
        .after_help(examples.replacen("Examples:", &all, 1))
        .after_long_help(format!("{examples}{more}\n\n{description}\n{notes}"))
}

/// Returns the options of commands that make pictures, except `--model` and the fields of the
/// model.
pub fn own_options() -> Vec<Arg> {
    [
        options::of::<Saving>(),
        options::of::<SeeingOptions>(),
        vec![options::count()],
        options::of::<KeyOptions>(),
        options::of::<FieldOptions>(),
        vec![model::vary()],
        options::of::<DryRun>(),
        options::of::<AgainOptions>(),
        options::of::<CostOptions>(),
        options::shared(options::MAKING),
    ]
    .concat()
}

/// Refuses a model that has no prompt. Accepts a model of which the contract does not show all
/// fields, because one of the others may be a prompt.
pub fn takes_prompt(model: &'static Operation) -> Result<(), Failure> {
    if options::may_have(model, &[PROMPT]) {
        return Ok(());
    }
    let problem = format!("the contract lists no prompt field for {model}");
    Err(Failure::usage(problem).advise(format!(
        "nothing was sent; use `kiln run {}`, whose --help lists the model's fields",
        model.name
    )))
}
