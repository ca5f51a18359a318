//! Builds a request from the parsed command line, and finds the seeds of several pictures.

use std::ffi::OsStr;

use clap::{ArgMatches, FromArgMatches as _};
use serde_json::Value;

use super::{
    inputs::{Inputs, is_image_file},
    model::{Setting, field_id, parameter_id},
    options::{COUNT, FieldOptions, SIDES, SIZES, WEBHOOK_SECRET, may_have},
    preset,
    seeds::seed_range,
};
use crate::{
    failure::Failure, files::secret_file, models::SEED, output::Output, process::Process,
    settings::Settings, text::parse,
};
use imagekiln::{Field, FieldKind, Operation, Request, WEBHOOK_SECRET_VARIABLE};

/// Builds the request from a model's flags. Images from standard input are read here.
pub fn from_flags(
    model: &'static Operation,
    matches: &ArgMatches,
    inputs: &mut Inputs<'_>,
) -> Result<Request, Failure> {
    let mut request = Request::new(model);
    for parameter in model.path_parameters {
        if let Some(text) = get::<String>(matches, &parameter_id(parameter.name)) {
            request = request.parameter(parameter.name, text);
        }
    }
    for field in model.fields {
        if field.name == SEED && has_seeds(matches) {
            continue;
        }
        if let Some(value) = given(matches, field.name) {
            request = with_value(request, field, value, inputs)?;
        }
    }
    request = with_size(request, matches)?;
    for (name, value) in settings(matches, "extra") {
        let text = text_of(name, value)?;
        if is_image_file(text) {
            return Err(Failure::usage(format!(
                "--extra {name} would send the text `{text}` and not the image"
            ))
            .advise(format!("nothing was sent; use --extra-image {name}={text}")));
        }
        let value = serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
        request = request.field(name, value);
    }
    for (name, value) in settings(matches, "extra-image") {
        request = request.image(name, inputs.image(value)?);
    }
    Ok(request)
}

/// Builds the request like [`from_flags`], and then adds the fields of the preset, and the size
/// from the settings if no other field decides about the size.
pub fn with_defaults(
    (settings, output): (&Settings, &Output),
    model: &'static Operation,
    matches: &ArgMatches,
    inputs: &mut Inputs<'_>,
) -> Result<Request, Failure> {
    let request = from_flags(model, matches, inputs)?;
    let request = preset::with_fields((settings, output), matches, request)?;
    let applies = SIDES.iter().all(|name| model.field(name).is_some())
        && !SIZES.iter().any(|name| request.has_field(name));
    Ok(match settings.size().filter(|_| applies) {
        Some(sides) => with_sides(request, sides),
        None => request,
    })
}

/// The value of a field's flag, if it is given.
pub fn given<'a>(matches: &'a ArgMatches, field: &str) -> Option<&'a OsStr> {
    matches.try_get_raw(&field_id(field)).ok()??.next()
}

/// Sets a field to the value of its flag.
fn with_value(
    request: Request,
    field: &'static Field,
    value: &OsStr,
    inputs: &mut Inputs<'_>,
) -> Result<Request, Failure> {
    let name = field.name;
    Ok(match &field.kind {
        FieldKind::Image { .. } => request.image(name, inputs.image(value)?),
        kind => request.field(name, kind.value_of(text_of(name, value)?)),
    })
}

/// Sets the width and the height, if `--size` is given.
fn with_size(request: Request, matches: &ArgMatches) -> Result<Request, Failure> {
    let Some(sides) = FieldOptions::from_arg_matches(matches)?.size else { return Ok(request) };
    let model = request.operation();
    if may_have(model, &SIDES) {
        return Ok(with_sides(request, sides));
    }
    let advice = match model.field("aspect_ratio") {
        Some(_) => "nothing was sent; use --aspect-ratio, for example --aspect-ratio 4:3",
        None => "nothing was sent; leave --size out",
    };
    let problem = format!("{model} has no fields for the width and the height");
    Err(Failure::usage(problem).advise(advice))
}

pub fn with_sides(request: Request, sides: [u32; 2]) -> Request {
    let fields = SIDES.into_iter().zip(sides);
    fields.fold(request, |request, (name, side)| request.field(name, side))
}

/// Sets the webhook secret, if a file with it is given. Warns if the secret is an argument.
pub fn with_secret(
    output: &Output,
    request: Request,
    matches: &ArgMatches,
) -> Result<Request, Failure> {
    let is_argument = text(matches, WEBHOOK_SECRET).is_some();
    if is_argument {
        output.warning(&format!(
            "other users of this machine can see the webhook secret among the arguments; use \
             --webhook-secret-file or {WEBHOOK_SECRET_VARIABLE}"
        ));
    }
    let file = FieldOptions::from_arg_matches(matches)?.webhook_secret_file;
    let Some(path) = file else { return Ok(request) };
    let model = request.operation();
    if is_argument {
        let problem = "the webhook secret is set twice, also by --webhook-secret-file";
        return Err(Failure::usage(problem)
            .advise("nothing was sent; remove the secret from the arguments"));
    }
    if !may_have(model, &[WEBHOOK_SECRET]) {
        return Err(Failure::usage(format!("{model} has no field for a webhook secret"))
            .advise("nothing was sent; leave --webhook-secret-file out"));
    }
    let secret = secret_file::read(&path, "the webhook secret file")?;
    Ok(request.field(WEBHOOK_SECRET, secret))
}

/// The seed of each picture of a command. `None` stands for the seed of the request.
pub fn seeds(matches: &ArgMatches) -> Result<Vec<Option<i64>>, Failure> {
    let count = get::<u16>(matches, COUNT).copied().unwrap_or(1);
    match seed(matches) {
        Some(_) if count > 1 => Err(Failure::usage(format!(
            "-n {count} and --seed are both given, and pictures of the same seed are the same"
        ))
        .advise(
            "nothing was sent; leave -n out, and pass a seed for each picture, such as --seed 1..4",
        )),
        Some(text) if has_seeds(matches) => {
            let seeds = parse::seeds(text).map_err(|problem| {
                let problem = format!("invalid --seed `{text}`: {problem}");
                Failure::usage(problem).advise("nothing was sent")
            })?;
            Ok(seeds.into_iter().map(Some).collect())
        }
        _ => Ok(vec![None; count.into()]),
    }
}

/// Whether `--seed` gives a seed for each of several pictures, and is not the value of the field.
pub fn has_seeds(matches: &ArgMatches) -> bool {
    let is_list = |text: &str| text.contains(',') || text.contains("..");
    get::<u16>(matches, COUNT).is_some() && seed(matches).is_some_and(is_list)
}

fn seed(matches: &ArgMatches) -> Option<&str> {
    get::<String>(matches, &field_id(SEED)).map(String::as_str)
}

/// Sets a random seed, unless the request has one. Otherwise the service would choose a random
/// seed, and the user could never find out which.
pub fn with_seed(process: &Process, request: Request) -> Request {
    match seed_range(request.operation()) {
        Some(range) if !request.has_field(SEED) => request.field(SEED, (process.seed)(range)),
        _ => request,
    }
}

/// The text of a field, which its flag or `--extra` has set.
pub fn text<'a>(matches: &'a ArgMatches, field: &str) -> Option<&'a str> {
    let extra = settings(matches, "extra").find(|(name, _)| name == field);
    get::<String>(matches, &field_id(field)).map(String::as_str).or_else(|| extra?.1.to_str())
}

pub fn text_of<'a>(name: &str, value: &'a OsStr) -> Result<&'a str, Failure> {
    value
        .to_str()
        .ok_or_else(|| Failure::usage(format!("the value of `{name}` is not valid Unicode")))
}

fn settings<'a>(matches: &'a ArgMatches, id: &str) -> impl Iterator<Item = &'a Setting> + use<'a> {
    matches.get_many::<Setting>(id).into_iter().flatten()
}

/// The value of an argument, if the command has it and it was given.
fn get<'a, T: Clone + Send + Sync + 'static>(matches: &'a ArgMatches, id: &str) -> Option<&'a T> {
    matches.try_get_one::<T>(id).ok().flatten()
}
