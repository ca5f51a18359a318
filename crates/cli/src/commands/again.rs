//! `kiln again PICTURE [--FIELD VALUE]...`: makes a picture again, with changes.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};

use super::generate::own_options;
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
    history::{
        Entry,
        find::{self, Made},
        request,
    },
    making::{self, identical::is_again},
    models::SEED,
    settings::{Profile, Source},
};
use imagekiln::Operation;

pub const NAME: &str = "again";

const PICTURE: &str = "picture";

/// The model whose fields are the flags.
const MODEL: &str = "model of the flags";

const EXAMPLES: &str = "\
Examples:
  kiln again @last --size 1024x768 -o larger.png
  kiln again fox.png --prompt \"a red fox at night\"
  kiln again @3 -n 4 -o 'fox-{seed}.{ext}'

The same request is submitted, with the same seed, and paid for again. The flags are the fields of \
the picture's model: `kiln again @3 --help` lists them. With -n, each picture gets a new seed. \
Files of images must still be the same.";

/// `made_with` is the model of the picture. Without one, any flags are accepted, and the command
/// reports what is wrong with the picture.
pub fn command(made_with: Option<&'static Operation>) -> Command {
    let picture = Arg::new(PICTURE)
        .value_name("PICTURE")
        .required(true)
        .add(completers::submissions(Submissions::Any))
        .help(find::PICTURE_HELP);
    let command = Command::new(NAME)
        .about("Make a picture again, with changes: submit, wait, save")
        .arg(picture)
        .after_help(EXAMPLES);
    match made_with {
        Some(model) => {
            let marker =
                Arg::new(MODEL).long("model-of-the-flags").hide(true).default_value(model.name);
            // This command pays again by its name.
            let options: Vec<_> = own_options().into_iter().filter(|arg| !is_again(arg)).collect();
            model::with_fields(command.arg(marker), model, &[], &options)
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
    const FORMAT: &str = "output_format";
    let given = matches.get_one::<String>(PICTURE).map(String::as_str).unwrap_or_default();
    let made = Made::find(context.process(), given)?;
    let name = made.name();
    let (Some(kept), Some(model)) = (made.request(), made.operation()) else {
        let problem = format!("the request of {name} could not be kept");
        return Err(Failure::usage(problem)
            .advise(format!("nothing was sent; `kiln show {name}` shows what is known")));
    };
    if let Made::Recorded(entry) = &made {
        check_profile(&context.settings.profile, entry)?;
    }
    let flags_of = matches.try_get_one::<String>(MODEL).ok().flatten();
    if flags_of.is_none_or(|name| name != model.name) {
        return Err(Failure::usage("the picture is not the first argument of `kiln again`")
            .advise(format!(
                "nothing was sent; write `kiln again {given}` before the other flags"
            )));
    }
    let changes = flags::from_flags(model, matches, &mut Inputs::of(context.process()))?;
    let has_count = matches.value_source(COUNT) == Some(ValueSource::CommandLine);
    let draws = has_count || flags::has_seeds(matches);
    let decides_format = output::target(&context.settings, matches)?.wanted_format().is_some();
    let request = request::again(kept, |name| {
        let is_new = name == SEED && draws || name == FORMAT && decides_format;
        is_new || changes.has_field(name)
    })?;
    making::make(context, request.changed_by(changes), &[], matches).await
}

/// Refuses to pay with another profile than the picture was paid with, unless the person names it.
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
