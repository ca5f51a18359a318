//! The tools: commands for one kind of work, such as `kiln tool inpaint`. The contract says which
//! models can do that work. The flags of a tool are the fields of the chosen model, as in
//! `generate` and `edit`.

mod table;

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, value_parser};

use self::table::{Argument, KEYFRAMES, Tool};
use super::{edit, generate};
use crate::{
    args::{
        completers,
        inputs::{Inputs, prompt_arg},
        model, options, request,
    },
    context::Context,
    failure::Failure,
    making,
    models::{self, PROMPT},
};
use imagekiln::{Operation, OperationKind, Request};

pub use self::table::TOOLS;

pub const NAME: &str = "tool";

/// The maximum number of keyframes.
const MOST_KEYFRAMES: usize = 10;

/// Finds a tool by the name of its command.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns the command whose subcommands are the tools. `named` is the model that `--model` names.
/// Only tools that are `used` get their flags.
pub fn command(named: &'static Operation, used: model::Used<'_>) -> Command {
    options::group(Command::new(NAME))
        .about("Inpaint, outpaint, expand, erase, deblur, try on, video")
        .subcommand_value_name("TOOL")
        .subcommand_help_heading("Tools")
        .subcommands(TOOLS.iter().map(move |tool| tool.command(named, used(tool.name))))
}

/// Makes a picture with the tool that the subcommand names.
pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (name, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no tool given"))?;
    let tool = find(name).ok_or_else(|| Failure::usage(format!("unknown command `{name}`")))?;
    let request = tool.request(context, matches)?;
    let unlisted = tool.unlisted(request.operation());
    let assumed: Vec<&str> = unlisted.filter(|name| request.has_field(name)).collect();
    if !assumed.is_empty() {
        context.output.warning(&format!(
            "the contract does not list these fields of {}, so their names are assumed: {}",
            request.operation(),
            assumed.join(", ")
        ));
    }
    making::make(context, request, matches).await
}

/// Returns the names of the commands that are useful with some models only. `run` and `submit` are
/// useful with every model.
pub fn model_commands() -> impl Iterator<Item = &'static str> {
    [generate::NAME, edit::NAME].into_iter().chain(TOOLS.iter().map(|tool| tool.name))
}

/// Returns the commands that are useful with a model. A model for one kind of work is useful only
/// with the tool for that work.
pub fn commands_for(model: &Operation) -> Vec<&'static str> {
    if model.kind != Some(OperationKind::Create) {
        let tools = TOOLS.iter().filter(|tool| model.kind == Some(tool.kind));
        return tools.map(|tool| tool.name).collect();
    }
    let edits = model.field(PROMPT).is_some() && !models::image_fields(model).is_empty();
    let abilities = [(generate::NAME, true), (edit::NAME, edits)];
    abilities.into_iter().filter(|(_, able)| *able).map(|(name, _)| name).collect()
}

/// Whether a command is useful with a model.
pub fn suits(command: &str, model: &Operation) -> bool {
    commands_for(model).contains(&command)
}

/// Makes completion offer only models with which the command is useful. The command still accepts
/// other models, so that its error can say why they do not work.
pub fn offering_models(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let models = completers::models_that(move |model| suits(&name, model));
    command.mut_arg(model::MODEL, |arg| arg.add(models))
}

/// Returns the commands that are useful with a model, on one line.
pub fn shown_commands_for(model: &Operation) -> String {
    let names = commands_for(model);
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

impl Tool {
    /// Returns the models that can do the work of this tool, in the order of the contract, with
    /// deprecated ones last. The first model is the default.
    pub fn models(&self) -> Vec<&'static Operation> {
        let mut models: Vec<_> =
            models::models().filter(|model| model.kind == Some(self.kind)).collect();
        models.sort_by_key(|model| model.deprecated);
        models
    }

    /// Returns the named model, if it can do the work of this tool, or else the default.
    pub fn model(&self, named: &'static Operation) -> &'static Operation {
        let models = self.models();
        let found = models.iter().find(|model| model.name == named.name).or(models.first());
        found.copied().unwrap_or(named)
    }

    /// Returns a tip that names the arguments of the command.
    pub fn takes(&self) -> String {
        let names: Vec<&str> = self.arguments.iter().map(|Argument(_, name, _)| *name).collect();
        let quotes = if self.fields().any(|field| field == PROMPT) {
            "; a prompt of several words needs quotes"
        } else {
            ""
        };
        format!("'kiln tool {}' takes only {}{quotes}", self.name, names.join(" and "))
    }

    /// Returns the fields that the arguments set.
    fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.arguments.iter().map(|Argument(field, ..)| *field)
    }

    /// Returns the fields of the arguments that the contract does not list for a model, whose names
    /// are therefore assumed.
    fn unlisted(&self, model: &'static Operation) -> impl Iterator<Item = &'static str> {
        self.fields().filter(move |name| model.field(name).is_none())
    }

    fn command(&'static self, named: &'static Operation, is_used: bool) -> Command {
        let command = Command::new(self.name).about(self.about);
        if !is_used {
            return command;
        }
        let model = self.model(named);
        let models = self.models();
        let default = models.first().map_or(named.name, |model| model.name);
        let has_choice = models.len() > 1;
        let choice = model::model_arg(model, default, models.into_iter());
        let choice = choice.hide_short_help(!has_choice);
        let fields: Vec<&str> = self.fields().collect();
        let command = command.args(self.arguments.iter().map(Argument::arg));
        let name = self.name;
        let [first, second] = self.examples;
        let examples =
            format!("Examples:\n  kiln tool {name} {first}\n  kiln tool {name} {second}");
        let examples = (&*examples, &*self.notes(model));
        generate::of_model(command, model, choice, &fields, examples)
    }

    fn notes(&self, model: &'static Operation) -> String {
        let (name, mut text) = (self.name, String::new());
        if self.models().len() > 1 {
            text += &format!("\n\n`kiln models --can {name}` lists what --model accepts.");
        }
        let unlisted: Vec<String> = self.unlisted(model).map(|name| format!("`{name}`")).collect();
        if !unlisted.is_empty() {
            text += &format!(
                "\n\nThe contract does not list the names of these fields of {model}, so they are \
                 assumed: {}. To send others, use `kiln run {model}` with --extra and \
                 --extra-image.",
                unlisted.join(", ")
            );
        }
        text
    }

    fn request(&self, context: &Context, matches: &ArgMatches) -> Result<Request, Failure> {
        let model = model::chosen(matches)?;
        let mut inputs = Inputs::of(&context.output, &context.settings);
        let mut request = request::with_defaults(model, matches, &mut inputs)?;
        for argument in self.arguments {
            request = argument.set(request, self.name, matches, &mut inputs)?;
        }
        (self.complete)(request)
    }
}

impl Argument {
    fn arg(&self) -> Arg {
        let Self(field, name, help) = *self;
        let image = Arg::new(field)
            .value_name(name)
            .value_parser(value_parser!(OsString))
            .add(completers::image())
            .help(help);
        match field {
            PROMPT => prompt_arg(help),
            KEYFRAMES => image.num_args(0..),
            _ => image.required(true),
        }
    }

    /// Sets the field of the request to the argument. Does not set the keyframes if there are none.
    fn set(
        &self,
        request: Request,
        command: &str,
        matches: &ArgMatches,
        inputs: &mut Inputs<'_>,
    ) -> Result<Request, Failure> {
        let Self(field, ..) = *self;
        if field == PROMPT {
            let given = matches.get_one::<String>(field).map(String::as_str).unwrap_or_default();
            return Ok(request.field(field, inputs.prompt(given, &format!("tool {command}"))?));
        }
        let given: Vec<&OsString> = matches.get_many(field).into_iter().flatten().collect();
        if given.len() > MOST_KEYFRAMES {
            let count = given.len();
            return Err(Failure::usage(format!(
                "`kiln tool {command}` takes at most {MOST_KEYFRAMES} images, but {count} were \
                 given"
            ))
            .advise("nothing was sent; pass fewer images"));
        }
        let images = given.into_iter().map(|given| inputs.image(given));
        let images = images.collect::<Result<Vec<_>, _>>()?;
        Ok(match field {
            KEYFRAMES if images.is_empty() => request,
            KEYFRAMES => request.images(field, images),
            _ => images.into_iter().fold(request, |request, image| request.image(field, image)),
        })
    }
}
