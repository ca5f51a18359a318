//! The flags of a model, which are built from the contract, and the option that chooses the model.
//! For fields that the contract does not list, there are `--extra NAME=VALUE` and `--extra-image
//! NAME=IMAGE`.

use std::{collections::BTreeSet, ffi::OsString};

use clap::{
    Arg, ArgAction, ArgMatches, Command,
    builder::{
        OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser as _,
        ValueParser,
    },
    value_parser,
};
use clap_lex::OsStrExt as _;

use super::{
    completers::{self, offered},
    options::{self, COUNT},
};
use crate::{
    failure::Failure,
    models::{self, SEED, models, summary},
    text::brief,
};
use imagekiln::{Field, FieldKind, Operation, PathParameter, Region};

pub const MODEL: &str = "model";

/// The fields that `-h` shows, if the model has them. `--help` shows all fields.
const SHORT: [&str; 11] = [
    "image",
    "mask",
    "image_prompt",
    "input_image",
    "aspect_ratio",
    "top",
    "bottom",
    "left",
    "right",
    "mode",
    "seed",
];

/// A subcommand for each model, for `kiln run` and `kiln task submit`. Only subcommands that are
/// `used` get flags, because building the flags of all models takes milliseconds.
pub fn subcommands(used: Used<'_>, options: &[Arg]) -> Vec<Command> {
    models()
        .map(|model| {
            let aliases = [model.id, model.path].into_iter().filter(|alias| *alias != model.name);
            let command = Command::new(model.name).aliases(aliases).about(summary(model));
            let is_used = [model.name, model.id, model.path].into_iter().any(used);
            if !is_used {
                return command;
            }
            with_fields(command, model, &[], options)
                .help_template("{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}")
                .before_help(description(model))
                .after_help(format!("`{model} --help` lists all fields. {IMAGE}"))
                .after_long_help(notes(model, IMAGE))
        })
        .collect()
}

/// Returns whether a word is on the command line, so that the flags of the subcommand with this
/// name are needed.
pub type Used<'a> = &'a dyn Fn(&str) -> bool;

pub fn description(model: &Operation) -> String {
    format!("{}: {}", model.name, model.description)
}

/// The option `--model`, which accepts one of these models. `chosen` is the model if the option is
/// not given; `default` is the default that the help shows, which does not depend on the settings.
pub fn model_arg(
    chosen: &'static Operation,
    default: &str,
    models: impl Iterator<Item = &'static Operation>,
) -> Arg {
    Arg::new(MODEL)
        .long(MODEL)
        .short('m')
        .value_name("MODEL")
        .help(format!("The model [default: {default}]"))
        .long_help(format!("The model; its fields are the flags below [default: {default}]"))
        .default_value(chosen.name)
        .hide_default_value(true)
        .hide_possible_values(true)
        .value_parser(model_names(models))
}

/// Accepts the name, path or id of one of these models.
pub fn model_names(models: impl Iterator<Item = &'static Operation>) -> PossibleValuesParser {
    PossibleValuesParser::new(models.map(|model| {
        PossibleValue::new(model.name)
            .help(summary(model))
            .aliases([model.id, model.path].into_iter().filter(|alias| *alias != model.name))
    }))
}

pub fn chosen(matches: &ArgMatches) -> Result<&'static Operation, Failure> {
    named(matches.get_one::<String>(MODEL).map(String::as_str).unwrap_or_default())
}

/// Returns a model that the parser has accepted.
pub fn named(name: &str) -> Result<&'static Operation, Failure> {
    models::find(name).ok_or_else(|| Failure::usage(format!("unknown model `{name}`")))
}

/// Adds the flags of a model's path parameters and fields, the flags for unlisted fields, and
/// `options`, which do not belong to the model. Fields in `elsewhere` get no flag, because other
/// arguments set them.
pub fn with_fields(
    command: Command,
    model: &'static Operation,
    elsewhere: &[&str],
    options: &[Arg],
) -> Command {
    let taken = taken(&Command::new("options").args(options).args(extra_args()));
    let count = options.iter().position(|option| option.get_id() == COUNT);
    let parameters = model.path_parameters.iter().map(|parameter| parameter_arg(parameter, &taken));
    let fields = model.fields.iter().filter(|field| !elsewhere.contains(&field.name));
    let fields = fields.map(|field| {
        let arg = field_arg(model, field, &taken);
        match &field.kind {
            _ if field.name == SEED && count.is_some() => {
                of_seeds(arg).display_order(options::AFTER_OWN + count.unwrap_or_default())
            }
            // Commands with `elsewhere` take images as arguments, so `-h` need not show these
            // flags.
            FieldKind::Image { mask_of: None, .. } if !elsewhere.is_empty() => {
                arg.hide_short_help(true)
            }
            _ => arg,
        }
    });
    let options = (options::AFTER_OWN..).zip(options).map(|(order, option)| {
        let applies = options::may_have(model, options::fields_of(option));
        let option = option.clone().display_order(order);
        let is_vary = option.get_id() == VARY;
        let fields =
            move || model.fields.iter().map(|it| format!("{}=", it.name.replace('_', "-")));
        let option = if is_vary { option.add(completers::named(fields)) } else { option };
        if applies { option } else { option.hide(true) }
    });
    command.args(options).args(parameters).args(fields).args(extra_args())
}

/// The names of flags that fields must not use: those that all commands share, and those of this
/// command.
fn taken(command: &Command) -> BTreeSet<String> {
    let shared = options::of_program(Command::new("shared"));
    let own = command.get_arguments().chain(shared.get_arguments());
    own.filter_map(|arg| arg.get_long()).chain(["help", "version"]).map(str::to_owned).collect()
}

/// The id of a field's flag among the matches. The prefix avoids conflicts with the ids of the
/// program's own options.
pub fn field_id(name: &str) -> String {
    format!("field {name}")
}

pub fn parameter_id(name: &str) -> String {
    format!("parameter {name}")
}

/// Whether an argument with this id sets a field or a path parameter.
pub fn is_of_request(id: &str) -> bool {
    id.starts_with("field ") || id.starts_with("parameter ")
}

pub const IMAGE: &str = "An IMAGE is a path, a picture of the history such as @3, an http(s) or \
                         data: URL, or `-` for standard input.";

/// Notes below the flags of a model, mainly on fields that the contract does not list. `image`
/// describes images.
pub fn notes(model: &Operation, image: &str) -> String {
    let mut notes = Vec::new();
    if model.deprecated {
        notes.push("This model is deprecated but still available.".to_owned());
    }
    if model.region == Region::Regional {
        notes.push("It uses the regional base URL (IMAGEKILN_REGIONAL_BASE_URL).".to_owned());
    }
    notes.extend(not_listed(model));
    notes.push(format!("{image} Only the fields you set are sent."));
    notes.join("\n")
}

/// Says what the contract does not list about a model.
pub fn not_listed(model: &Operation) -> impl Iterator<Item = String> {
    let fields = (!model.all_fields_shown).then(|| {
        "The contract does not list all fields: send others with --extra and --extra-image."
            .to_owned()
    });
    let list: String = model.not_shown.iter().map(|what| format!("\n  - {what}")).collect();
    let others = (!list.is_empty()).then(|| format!("Not listed in the contract:{list}"));
    fields.into_iter().chain(others)
}

fn parameter_arg(parameter: &'static PathParameter, taken: &BTreeSet<String>) -> Arg {
    with_flag(Arg::new(parameter_id(parameter.name)), parameter.name, taken)
        .help(format!("{} [required]", parameter.description))
        .help_heading("Path")
        .value_name("NAME")
}

fn field_arg(model: &'static Operation, field: &'static Field, taken: &BTreeSet<String>) -> Arg {
    let [short, long] = help(model, field);
    let arg = with_flag(Arg::new(field_id(field.name)), field.name, taken)
        .help(short)
        .long_help(long)
        .help_heading("Fields")
        .hide_short_help(!field.required && !SHORT.contains(&field.name))
        .hide(first_of(model, field).is_some())
        .allow_negative_numbers(true);
    match &field.kind {
        // Requires `=`, so that the parser does not take the word after `--raw` for its value.
        // `usage::rewrite` joins a following `true` or `false` with the flag.
        FieldKind::Boolean => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("true|false")
            .add(offered(&["true", "false"])),
        kind => with_value(arg, kind),
    }
}

/// Adds the flag: `--input-image-2` sets `input_image_2`, and `--input_image_2` is an alias. If the
/// program already has a flag of that name, the flag of the field is `--field-...`.
fn with_flag(arg: Arg, name: &'static str, taken: &BTreeSet<String>) -> Arg {
    let flag = name.replace('_', "-");
    if taken.contains(&flag) || taken.contains(name) {
        return arg.long(format!("field-{flag}"));
    }
    if name == flag { arg.long(flag) } else { arg.long(flag).alias(name) }
}

/// Adds a value. The parser accepts any text, so that the SDK can report all violations together.
fn with_value(arg: Arg, kind: &FieldKind) -> Arg {
    let name = match kind {
        FieldKind::Integer => "INTEGER",
        FieldKind::Number => "NUMBER",
        FieldKind::Choice { .. } => "CHOICE",
        FieldKind::Image { .. } => "IMAGE",
        FieldKind::AspectRatio { .. } => "W:H",
        FieldKind::Address => "URL",
        FieldKind::Secret => "SECRET",
        FieldKind::Json => "JSON",
        _ => "TEXT",
    };
    let arg = arg.value_name(name);
    match kind {
        FieldKind::Image { .. } => {
            arg.value_parser(value_parser!(OsString)).add(completers::image())
        }
        FieldKind::Choice { values, .. } => arg.add(offered(values)),
        _ => arg,
    }
}

/// Changes `--seed` for commands with `-n`, where it takes several seeds.
fn of_seeds(arg: Arg) -> Arg {
    let about = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
    arg.value_name("SEEDS")
        .help_heading(None::<&str>)
        .help("Seeds: a number, 1..4 or 1,5,9 [default: random]")
        .long_help(format!("{about} [default: random; several: 1..4 or 1,5,9]"))
}

/// The short and the long help of a field. The short help of an image leaves out its limits, which
/// are similar for all images.
fn help(model: &'static Operation, field: &'static Field) -> [String; 2] {
    let about = field.description;
    let required = if field.required { " [required]" } else { "" };
    let (list, more) = match later_flags(model, field) {
        Some((second, last)) => (
            format!(" [more: --{second} to --{last}]"),
            format!(" --{second} to --{last} are more of them."),
        ),
        None => Default::default(),
    };
    let limits = match field.limits_text {
        "" => String::new(),
        limits => format!(" [{limits}]"),
    };
    let long = format!("{about}{more}{required}{limits}");
    match field.kind {
        FieldKind::Image { .. } => [format!("{}{list}{required}", brief(about)), long],
        _ => [format!("{}{required}{limits}", brief(about)), long],
    }
}

/// The first field of a numbered series of images: `input_image` for `input_image_2`. Help shows
/// such a series in one line.
fn first_of(model: &'static Operation, field: &Field) -> Option<&'static Field> {
    let (name, number) = field.name.rsplit_once('_')?;
    number.parse::<u32>().ok()?;
    let is_image = |field: &Field| matches!(field.kind, FieldKind::Image { .. });
    model.field(name).filter(|first| is_image(first) && is_image(field))
}

/// The flags of the second and the last field in the series that begins with `field`.
fn later_flags(model: &'static Operation, field: &Field) -> Option<(String, String)> {
    let continues =
        |other: &&Field| first_of(model, other).is_some_and(|one| one.name == field.name);
    let mut flags = model.fields.iter().filter(continues).map(|field| field.name.replace('_', "-"));
    let second = flags.next()?;
    let last = flags.next_back().unwrap_or_else(|| second.clone());
    Some((second, last))
}

/// The name of a field that the contract does not list, and the text of its value.
pub type Setting = (String, OsString);

pub const VARY: &str = "vary";

/// The option `--vary`, for commands that make pictures. [`with_fields`] adds the completion of
/// field names.
pub fn vary() -> Arg {
    Arg::new(VARY)
        .long(VARY)
        .value_name("FIELD=VALUES")
        .action(ArgAction::Append)
        .value_parser(setting_parser())
        .hide_short_help(true)
        .help(
            "Make a picture for each value of a field, such as guidance=3,5,7 or seed=1..4, with \
             the same seeds; given twice, for each pair of values",
        )
}

fn extra_args() -> [Arg; 2] {
    let option = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::Append)
            .value_parser(setting_parser())
            .help_heading("Other fields")
            .hide_short_help(true)
    };
    [
        option("extra").value_name("NAME=VALUE").help(
            "Send a field that the contract does not list, or an explicit null; sent as JSON if it \
             parses as JSON, otherwise as text",
        ),
        option("extra-image")
            .value_name("NAME=IMAGE")
            .add(completers::image_of_field())
            .help("Send an image field that the contract does not list"),
    ]
}

/// Splits a text at the first equals sign. The value may be a path that is not valid Unicode.
pub fn setting_parser() -> ValueParser {
    let split = |text: OsString| -> Result<Setting, &str> {
        let (name, value) = text.split_once("=").unwrap_or_default();
        match name.to_str().filter(|name| !name.is_empty()) {
            Some(name) => Ok((name.to_owned(), value.to_owned())),
            None => Err("use NAME=VALUE, such as `guidance=3`, or `image=cat.png` for an image"),
        }
    };
    OsStringValueParser::new().try_map(split).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_never_replaces_one_of_the_programs_own_flags() {
        let taken = taken(&Command::new("x").arg(Arg::new("o").long("output")));
        let flag = |name| {
            let arg = with_flag(Arg::new("field"), name, &taken);
            arg.get_long().unwrap_or_default().to_owned()
        };
        assert_eq!(flag("input_image_2"), "input-image-2");
        for name in ["output", "json", "allow_polling_host", "help"] {
            assert_eq!(flag(name), format!("field-{}", name.replace('_', "-")));
        }
    }
}
