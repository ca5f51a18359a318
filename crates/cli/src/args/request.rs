//! Builds a request from the parsed command line, and finds the seeds of several pictures.

use std::{ffi::OsStr, ops::RangeInclusive};

use clap::{ArgMatches, FromArgMatches as _};
use serde_json::Value;

use super::{
    inputs::{Inputs, is_image_file},
    model::{Setting, field_id, parameter_id},
    options::{COUNT, FieldOptions, SIDES, SIZES, WEBHOOK_SECRET, may_have},
    preset,
};
use crate::{failure::Failure, files::read_secret, models::SEED, output::Output, text::parse};
use imagekiln::{Field, FieldKind, Limits, Operation, Request, WEBHOOK_SECRET_VARIABLE};
use imagekiln_label::sha256;

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
    model: &'static Operation,
    matches: &ArgMatches,
    inputs: &mut Inputs<'_>,
) -> Result<Request, Failure> {
    let request = from_flags(model, matches, inputs)?;
    let request = preset::with_fields(inputs, matches, request)?;
    let applies = SIDES.iter().all(|name| model.field(name).is_some())
        && !SIZES.iter().any(|name| request.has_field(name));
    Ok(inputs.settings.size().filter(|_| applies).into_iter().fold(request, with_sides))
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
    let secret = read_secret(&path, "the webhook secret file")?;
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

/// The largest seed that is drawn. Larger seeds are tedious to type, and programs that read numbers
/// as floating point change seeds above 2^53.
const LARGEST: f64 = i32::MAX as f64;

/// Sets a seed, unless the request has one or its model has no seed. `draw` returns a seed from the
/// range that the model accepts. Otherwise the service would choose a random seed, and the user
/// could never find out which.
pub fn with_seed(request: Request, draw: impl FnOnce(RangeInclusive<i64>) -> i64) -> Request {
    let field = request.operation().field(SEED).filter(|_| !request.has_field(SEED));
    let Some(Limits { minimum, maximum, .. }) = field.map(|field| &field.limits) else {
        return request;
    };
    let least = minimum.map_or(0.0, |least| least.max(0.0));
    let most = maximum.map_or(LARGEST, |most| most.min(LARGEST));
    request.field(SEED, draw(least as i64..=most.max(least) as i64))
}

/// Draws the seed of a picture that has a name. It depends only on the name, so that a job file has
/// the same jobs each time it is read. It must not change between versions: a ledger refuses a job
/// that it already has with another seed.
pub fn seed_of(name: &str) -> impl FnOnce(RangeInclusive<i64>) -> i64 {
    let digest: String = sha256(name.as_bytes()).chars().take(16).collect();
    let digest = u64::from_str_radix(&digest, 16).unwrap_or_default();
    move |range| {
        let count = range.end().abs_diff(*range.start()).saturating_add(1);
        range.start().saturating_add_unsigned(digest % count)
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

#[cfg(test)]
mod tests {
    use imagekiln::{find_model, find_operation};

    use super::*;

    /// If this test fails, ledgers will refuse jobs that they already have.
    #[test]
    fn seeds_do_not_change_between_versions() {
        let model = find_model("gen-2-pro").unwrap();
        let seed = |name| with_seed(Request::new(model), seed_of(name)).integer(SEED);
        assert_eq!(seed("fox"), Some(722_261_488));
        assert_eq!(seed("fox-2"), Some(1_262_698_106));
    }

    #[test]
    fn a_seed_is_drawn_only_if_nobody_chose_one() {
        let model = find_model("gen-2-pro").unwrap();
        let chosen = Request::new(model).field(SEED, 7);
        assert_eq!(with_seed(chosen.clone(), seed_of("fox")), chosen);
        let null = Request::new(model).field(SEED, serde_json::Value::Null);
        assert_eq!(with_seed(null.clone(), seed_of("fox")), null);
        let without = Request::new(find_operation("finetune").unwrap());
        assert_eq!(with_seed(without.clone(), seed_of("fox")), without);
    }
}
