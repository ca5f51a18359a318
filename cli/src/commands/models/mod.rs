//! `kiln models`: lists the operations of the contract that create a task, or describes one.

mod json;
mod one;

use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser};

use super::tools;
use crate::{args::completers, context::Context, failure::Failure, models, text::table::Table};
use imagekiln::{Operation, complete_model};

pub const NAME: &str = "models";

const MODEL: &str = "model";
const CAN: &str = "can";

pub fn command() -> Command {
    Command::new(NAME)
        .about("List the models, or describe one: what it is good for, its fields and limits")
        .arg(
            Arg::new(MODEL)
                .value_name("MODEL")
                .conflicts_with(CAN)
                .add(completers::models())
                .help("The name, path or id of the model to describe"),
        )
        .arg(
            Arg::new(CAN)
                .long(CAN)
                .value_name("COMMAND")
                .value_parser(PossibleValuesParser::new(tools::model_commands()))
                .help("List only the models that this command accepts"),
        )
        .after_help(format!(
            "GOOD FOR is the commands that accept the model; `kiln run` accepts every model.\n\
             IMAGES is the maximum number of reference images, if the contract states it.\n{}",
            names_with_parameters()
        ))
}

/// Explains the names that have a path parameter.
fn names_with_parameters() -> String {
    let explain =
        |model| Some(format!("{model} is written like {}.", models::example_name(model)?));
    models::models().filter_map(explain).collect::<Vec<_>>().join("\n")
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if let Some(name) = matches.get_one::<String>(MODEL) {
        let model = find(name)?;
        let people = || one::text(model, (context.process().stdout.columns)());
        return context.output.result(people, || json::model_json(model));
    }
    let can = matches.get_one::<String>(CAN);
    let models = || {
        let fits = |model: &Operation| {
            can.is_none_or(|can| tools::commands_for(model).contains(&can.as_str()))
        };
        models::models().filter(move |model| fits(model))
    };
    context.output.result(
        || context.process().stdout.table(&table(models())),
        || models().map(json::model_json).collect(),
    )
}

fn find(name: &str) -> Result<&'static Operation, Failure> {
    models::find(name).or_else(|| complete_model(name).map(|found| found.model)).ok_or_else(|| {
        let (message, tips) = models::unknown(name);
        Failure::usage(message).advise(tips.join("; "))
    })
}

fn table(models: impl Iterator<Item = &'static Operation>) -> Table<5> {
    let heading = ["MODEL", "IMAGES", "REGION", "GOOD FOR", "WHAT"];
    let rows = models.map(|model| {
        [
            model.name.to_owned(),
            model.max_reference_images.map_or("-".to_owned(), |count| count.to_string()),
            if model.regional { "regional" } else { "-" }.to_owned(),
            tools::shown_commands_for(model),
            models::summary(model),
        ]
    });
    Table::with_heading(heading, rows).long(&[3, 4]).optional(&[1, 2, 3])
}
