//! The flags of a model, all built from the contract.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, ValueHint, builder::ValueParser, value_parser};

use super::{count, extra, flag, size, value::Offered, webhook_secret};
use crate::models::{models, summary};
use imagekiln::{Field, FieldKind, Operation, PathParameter};

/// The fields that `-h` shows, as far as a model has them. `--help` shows all.
const SHORT: [&str; 13] = [
    "prompt",
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
    "output_format",
    "seed",
];

/// A subcommand for each model, for `kiln run` and `kiln task submit`. Those that are not `used`
/// have no flags, because the flags of all models take milliseconds.
pub fn subcommands(used: Used<'_>, options: &[Arg]) -> Vec<Command> {
    models()
        .map(|model| {
            let aliases = [model.id, model.path].into_iter().filter(|alias| *alias != model.name);
            let command = Command::new(model.name).aliases(aliases).about(summary(model));
            let is_used = [model.name, model.id, model.path].into_iter().any(used);
            if is_used { complete(command, model, options) } else { command }
        })
        .collect()
}

/// Whether a word is on the command line, so that the flags of what it names are needed.
pub type Used<'a> = &'a dyn Fn(&str) -> bool;

fn complete(command: Command, model: &'static Operation, options: &[Arg]) -> Command {
    with_fields(command, model, &[], options)
        .help_template("{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}")
        .before_help(description(model))
        .after_help(format!("`{model} --help` lists all fields. {IMAGE}"))
        .after_long_help(notes(model, IMAGE))
}

/// The name and description of a model.
pub fn description(model: &Operation) -> String {
    format!("{}: {}", model.name, model.description)
}

/// Adds the flags of a model's path parameters and fields, the flags of unlisted fields, and
/// `options`, the program's own. Fields in `elsewhere` get no flag.
pub fn with_fields(
    command: Command,
    model: &'static Operation,
    elsewhere: &[&str],
    options: &[Arg],
) -> Command {
    let taken = flag::taken(&Command::new("options").args(options).args(extra::args()));
    let parameters =
        model.path_parameters.iter().map(|p| parameter_arg(p, &flag::of_field(p.name, &taken)));
    let fields = model.fields.iter().filter(|field| !elsewhere.contains(&field.name));
    let fields = fields.map(|field| field_arg(model, field, &flag::of_field(field.name, &taken)));
    let options = options.iter().cloned().map(|option| match option.get_id().as_str() {
        size::SIZE => option.hide(!size::applies(model)),
        webhook_secret::FILE => option.hide(!webhook_secret::applies(model)),
        _ => option,
    });
    count::describe_seed(command.args(options).args(parameters).args(fields).args(extra::args()))
}

/// The description of images on the command line.
pub const IMAGE: &str = "An IMAGE is a path, an http(s) URL, or `-` for standard input.";

/// Notes below the flags of a model, mainly on fields that the contract does not list. `image`
/// describes images.
pub fn notes(model: &Operation, image: &str) -> String {
    let mut notes = Vec::new();
    if model.deprecated {
        notes.push("This model is deprecated but still available.".to_owned());
    }
    if model.regional {
        notes.push("It uses the regional base URL (IMAGEKILN_REGIONAL_BASE_URL).".to_owned());
    }
    if !model.all_fields_shown {
        notes.push(
            "The contract does not list all fields: send others with --extra and --extra-image."
                .to_owned(),
        );
    }
    if !model.not_shown.is_empty() {
        let list: String = model.not_shown.iter().map(|what| format!("\n  - {what}")).collect();
        notes.push(format!("Not listed in the contract:{list}"));
    }
    notes.push(format!("{image} Only the fields you set are sent."));
    notes.join("\n")
}

fn field_arg(model: &'static Operation, field: &'static Field, flag: &str) -> Arg {
    let arg = Arg::new(flag::field_id(field.name))
        .help(help(model, field))
        .help_heading("Fields")
        .hide_short_help(!field.required && !SHORT.contains(&field.name))
        .hide(first_of(model, field).is_some())
        .hide_possible_values(true)
        .allow_negative_numbers(true);
    let arg = with_flag(arg, field.name, flag);
    match &field.kind {
        // Requires `=`, so that the word after `--raw` is not taken for its value.
        // `usage::arguments` joins `true` and `false` with the flag.
        FieldKind::Boolean => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("true|false")
            .value_parser(Offered(&["true", "false"])),
        FieldKind::Choice { values, .. } => {
            arg.value_name(value_name(field)).value_parser(Offered(values))
        }
        FieldKind::List { items, .. } => arg
            .action(ArgAction::Append)
            .value_name(value_name(items))
            .value_parser(text_parser(&items.kind))
            .value_hint(value_hint(&items.kind)),
        kind => arg
            .value_name(value_name(field))
            .value_parser(text_parser(kind))
            .value_hint(value_hint(kind)),
    }
}

fn parameter_arg(parameter: &'static PathParameter, flag: &str) -> Arg {
    let arg = Arg::new(flag::parameter_id(parameter.name))
        .help(format!("{} [required]", parameter.description))
        .help_heading("Path")
        .value_name("NAME");
    with_flag(arg, parameter.name, flag)
}

/// Adds the flag, with the field's own spelling as an alias.
fn with_flag(arg: Arg, name: &str, flag: &str) -> Arg {
    if flag.starts_with("field-") || name == flag {
        arg.long(flag.to_owned())
    } else {
        arg.long(flag.to_owned()).alias(name.to_owned())
    }
}

fn text_parser(kind: &FieldKind) -> ValueParser {
    match kind {
        FieldKind::Image { .. } => value_parser!(OsString),
        _ => value_parser!(String),
    }
}

fn value_hint(kind: &FieldKind) -> ValueHint {
    match kind {
        FieldKind::Image { .. } => ValueHint::FilePath,
        _ => ValueHint::Unknown,
    }
}

fn value_name(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Integer => "INTEGER",
        FieldKind::Number => "NUMBER",
        FieldKind::Choice { .. } => "CHOICE",
        FieldKind::Image { .. } => "IMAGE",
        FieldKind::AspectRatio { .. } => "W:H",
        FieldKind::Address => "URL",
        FieldKind::Secret => "SECRET",
        FieldKind::Json | FieldKind::List { .. } | FieldKind::Object { .. } => "JSON",
        _ => "TEXT",
    }
}

fn help(model: &'static Operation, field: &'static Field) -> String {
    let mut text = field.description.to_owned();
    if let Some((second, last)) = later_flags(model, field) {
        text += &format!(" --{second} to --{last} are more of them.");
    }
    if field.required {
        text += " [required]";
    }
    match field.limits_text {
        "" => text,
        limits => format!("{text} [{limits}]"),
    }
}

/// The image field that `field` continues: `input_image` for `input_image_2`. Help shows image
/// fields that differ only in their number in one line.
fn first_of(model: &'static Operation, field: &Field) -> Option<&'static Field> {
    let (name, number) = field.name.rsplit_once('_')?;
    number.parse::<u32>().ok()?;
    let is_image = |field: &Field| matches!(field.kind, FieldKind::Image { .. });
    model.field(name).filter(|first| is_image(first) && is_image(field))
}

/// The flags of the second and the last field that continue `field`.
fn later_flags(model: &'static Operation, field: &Field) -> Option<(String, String)> {
    let continues =
        |other: &&Field| first_of(model, other).is_some_and(|one| one.name == field.name);
    let mut flags = model.fields.iter().filter(continues).map(|field| field.name.replace('_', "-"));
    let second = flags.next()?;
    let last = flags.next_back().unwrap_or_else(|| second.clone());
    Some((second, last))
}
