//! From the parsed command line to a request.

use std::ffi::{OsStr, OsString};

use clap::ArgMatches;
use serde_json::Value;

use super::{
    count,
    extra::Setting,
    flag,
    image::{self, Images},
    size,
};
use crate::{failure::Failure, settings::Settings};
use imagekiln::{Field, FieldKind, Operation, Request};

/// Builds the request from a model's flags. Images from standard input are read here.
pub fn from_flags(
    model: &'static Operation,
    matches: &ArgMatches,
    images: &mut Images<'_>,
) -> Result<Request, Failure> {
    let mut request = Request::new(model);
    for parameter in model.path_parameters {
        if let Some(text) = get::<String>(matches, &flag::parameter_id(parameter.name)) {
            request = request.parameter(parameter.name, text);
        }
    }
    for field in model.fields {
        if field.name == count::SEED && count::has_list(matches) {
            continue;
        }
        let id = flag::field_id(field.name);
        request = match field.kind {
            FieldKind::Image { .. } => match get::<OsString>(matches, &id) {
                Some(given) => request.image(field.name, images.read(given)?),
                None => request,
            },
            FieldKind::List { items, .. } => list(request, field, items, matches, images)?,
            _ => match get::<String>(matches, &id) {
                Some(text) => request.field(field.name, field.kind.value_of(text)),
                None => request,
            },
        };
    }
    request = size::set(request, matches)?;
    for Setting { name, value } in settings(matches, "extra") {
        let text = text_of(name, value)?;
        if image::is_image_file(text) {
            return Err(Failure::usage(format!(
                "--extra {name} would send the text `{text}` and not the image"
            ))
            .advise(format!("nothing was sent; use --extra-image {name}={text}")));
        }
        let value = serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
        request = request.field(name, value);
    }
    for Setting { name, value } in settings(matches, "extra-image") {
        request = request.image(name, images.read(value)?);
    }
    Ok(request)
}

/// The same, with the settings of fields that have no flag.
pub fn with_defaults(
    settings: &Settings,
    model: &'static Operation,
    matches: &ArgMatches,
    images: &mut Images<'_>,
) -> Result<Request, Failure> {
    Ok(size::or_default(from_flags(model, matches, images)?, settings.size()))
}

/// Sets a list, whose flag is given once for each item.
fn list(
    request: Request,
    field: &'static Field,
    items: &Field,
    matches: &ArgMatches,
    images: &mut Images<'_>,
) -> Result<Request, Failure> {
    let id = flag::field_id(field.name);
    if !matches.try_contains_id(&id).unwrap_or_default() {
        return Ok(request);
    }
    if matches!(items.kind, FieldKind::Image { .. }) {
        let given = matches.get_many::<OsString>(&id).into_iter().flatten();
        let images = given.map(|given| images.read(given)).collect::<Result<Vec<_>, _>>()?;
        return Ok(request.images(field.name, images));
    }
    let given = matches.get_many::<String>(&id).into_iter().flatten();
    let values: Vec<Value> = given.map(|text| items.kind.value_of(text)).collect();
    Ok(request.field(field.name, values))
}

/// The text that a field is set to, by its flag or by `--extra`.
pub fn text<'a>(matches: &'a ArgMatches, field: &str) -> Option<&'a str> {
    let extra = settings(matches, "extra").find(|setting| setting.name == field);
    get::<String>(matches, &flag::field_id(field))
        .map(String::as_str)
        .or_else(|| extra?.value.to_str())
}

fn text_of<'a>(name: &str, value: &'a OsStr) -> Result<&'a str, Failure> {
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
