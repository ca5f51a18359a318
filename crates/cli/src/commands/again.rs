//! `kiln again PICTURE [--FIELD VALUE]...`: makes a picture again, with changes.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};

use super::{batch::ledgers, generate::own_options};
use crate::{
    args::{
        completers::{self, Submissions},
        inputs::Inputs,
        model,
        options::COUNT,
        output, request as flags,
    },
    context::Context,
    failure::Failure,
    history::{Entry, Made, find, request},
    making::{self, Pictures},
    models::{self, SEED},
    process::Process,
    settings::{Profile, Source},
};
use imagekiln::Operation;

pub const NAME: &str = "again";

const PICTURE: &str = "picture";

/// The id of a hidden argument. Its default is the model of the picture that was found before
/// parsing, so that `execute` can tell whether this is the picture that the parser found.
const MADE_WITH: &str = "model of the picture";

const EXAMPLES: &str = "\
Examples:
  kiln again @last --size 1024x768 -o larger.png
  kiln again fox.png --prompt \"a red fox at night\"
  kiln again @3 -n 4 -o 'fox-{seed}.{ext}'

The same request is submitted, with the same seed, and paid for again. The flags are the fields of \
the picture's model: `kiln again @3 --help` lists them. With --model, those of another model are, \
and fields that it does not have are left out. With -n, each picture gets a new seed. Files of \
images must still be the same.";

/// Finds the model of a picture that was made before.
pub fn made_with(process: &Process, picture: &str) -> Option<&'static Operation> {
    Made::find(process, picture, ledgers::described).ok()?.operation()
}

/// `models` are the model of the picture, and the one whose fields are the flags. If the picture
/// was not found, there are none: then the command accepts any flags, and reports what is wrong
/// with the picture.
pub fn command(models: Option<(&'static Operation, &'static Operation)>) -> Command {
    let picture = Arg::new(PICTURE)
        .value_name("PICTURE")
        .required(true)
        .add(completers::submissions(Submissions::Any))
        .help(find::PICTURE_HELP);
    let command = Command::new(NAME)
        .about("Make a picture again, with changes: submit, wait, save")
        .arg(picture)
        .after_help(EXAMPLES);
    match models {
        Some((made_with, model)) => {
            let marker =
                Arg::new(MADE_WITH).long(MADE_WITH).hide(true).default_value(made_with.name);
            let model_arg = model::model_arg(model, made_with.name, models::models());
            // `kiln again` always pays again, so it does not need `--again`.
            let options: Vec<_> =
                own_options().into_iter().filter(|arg| arg.get_id() != "again").collect();
            model::with_fields(command.args([marker, model_arg]), model, &[], &options)
        }
        None => command.arg(
            Arg::new("flags")
                .value_name("--FIELD VALUE")
                .help("Fields of the picture's model, and the options of `kiln run`")
                .action(ArgAction::Append)
                .num_args(0..)
                .allow_hyphen_values(true)
                .trailing_var_arg(true),
        ),
    }
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let given = matches.get_one::<String>(PICTURE).map(String::as_str).unwrap_or_default();
    let made = Made::find(context.process(), given, ledgers::described)?;
    let name = made.name();
    let (Some(kept), Some(made_with)) = (made.request(), made.operation()) else {
        let problem = format!("the request of {name} could not be kept");
        return Err(Failure::usage(problem)
            .advise(format!("nothing was sent; `kiln show {name}` shows what is known")));
    };
    if let Made::Recorded(entry) = &made {
        check_profile(&context.settings.profile, entry)?;
    }
    let expected = matches.try_get_one::<String>(MADE_WITH).ok().flatten();
    if expected.is_none_or(|name| name != made_with.name) {
        return Err(Failure::usage("the picture is not the first argument of `kiln again`")
            .advise(format!(
                "nothing was sent; write `kiln again {given}` before the other flags"
            )));
    }
    let model = model::chosen(matches)?;
    let (kept, left_out) = request::of_model(kept, model);
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        context.output.note(&format!("{model} has no such fields, so they are left out: {names}"));
    }
    let changes =
        flags::from_flags(model, matches, &mut Inputs::of(&context.output, &context.settings))?;
    let has_count = matches.value_source(COUNT) == Some(ValueSource::CommandLine);
    let draws = has_count || flags::has_seeds(matches);
    let decides_format = output::target(&context.settings, matches)?.wanted_format().is_some();
    let request = request::again(&kept, |name| {
        let is_new = name == SEED && draws || name == output::FORMAT && decides_format;
        is_new || changes.has_field(name)
    })?;
    let again_of = match &made {
        Made::Recorded(entry) => Some(entry.number),
        Made::Described(..) => None,
    };
    let pictures = Pictures { again_of, ..request.changed_by(changes).into() };
    making::make(context, pictures, matches).await
}

/// Refuses to pay with another profile than the one that paid for the picture, unless the person
/// names the other profile with `--profile`.
fn check_profile(profile: &Profile, entry: &Entry) -> Result<(), Failure> {
    let (number, name) = (entry.number, &profile.name);
    match &entry.kept.profile {
        Some(made_with) if made_with != name && !matches!(profile.source, Source::Flag(_)) => {
            let problem = format!("@{number} was paid with the profile {made_with}, not {name}");
            Err(Failure::usage(problem).advise(format!(
                "nothing was sent; add --profile {made_with}, or --profile {name} to pay with that \
                 one"
            )))
        }
        _ => Ok(()),
    }
}
