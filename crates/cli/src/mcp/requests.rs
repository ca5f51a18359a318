//! Turns the arguments of a call into a request. A prompt is only text, and a path or a URL is used
//! only if the person allows it.

use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::Server;
use crate::{
    args::options::{SIDES, SIZES, may_have},
    failure::Failure,
    models::{self, PROMPT, SEED},
    text::one_line,
};
use imagekiln::{
    FieldKind, ImageInput, Operation, Request, complete_model,
    text::{hint, is_data_url, is_url},
};

/// Floating-point numbers represent all integers below this one exactly.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The arguments of the tools that pay.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    prompt: Option<String>,
    model: Option<String>,
    seed: Option<i64>,
    #[serde(default)]
    images: Vec<String>,
    #[serde(default)]
    fields: Map<String, Value>,
    pub file: Option<String>,
    pub attempt: Option<u32>,
}

/// Reads the arguments of a call. The error message names the argument that is wrong.
pub fn read<T: for<'a> Deserialize<'a>>(arguments: Map<String, Value>) -> Result<T, Failure> {
    let given = arguments.into_iter().filter(|(_, value)| !value.is_null()).collect();
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Failure::request(format!("the arguments are invalid: {error}")))
}

/// Returns the request of a call, and the URLs in it.
pub fn request(
    server: &Server,
    tool: &str,
    arguments: &Arguments,
) -> Result<(Request, Vec<String>), Failure> {
    let settings = &server.context.settings;
    let (model, mut request) = match &arguments.model {
        Some(name) => named(name)?,
        None => {
            let model = settings.model().unwrap_or_else(models::default);
            (model, Request::new(model))
        }
    };
    let mut fields = arguments.fields.clone();
    let own = [
        (PROMPT, arguments.prompt.clone().map(Value::from)),
        (SEED, arguments.seed.map(Value::from)),
    ];
    for (name, value) in own {
        let Some(value) = value else { continue };
        if tool != "run" && name == PROMPT && !may_have(model, &[PROMPT]) {
            return Err(Failure::request(format!("{model} takes no prompt; use `run`")));
        }
        if fields.insert(name.to_owned(), value).is_some() {
            return Err(Failure::request(format!("{name}: it is also in `fields`")));
        }
    }
    let has_size = SIZES.iter().any(|name| fields.contains_key(*name));
    if let Some(sides) = settings.size().filter(|_| !has_size && may_have(model, &SIDES)) {
        for (name, side) in SIDES.into_iter().zip(sides) {
            fields.insert(name.to_owned(), side.into());
        }
    }
    for (field, image) in image_fields(model, tool, arguments)?.into_iter().zip(&arguments.images) {
        fields.insert(field.to_owned(), image.as_str().into());
    }
    // Calls that differ only in the order of their arguments are the same call.
    fields.sort_keys();
    let mut urls = Vec::new();
    for (name, value) in fields {
        request = with_field(server, request, (&name, value), &mut urls)?;
    }
    Ok((request, urls))
}

/// Returns the model with a name, and a request to it.
pub fn named(name: &str) -> Result<(&'static Operation, Request), Failure> {
    if let Some(model) = models::find(name) {
        return Ok((model, Request::new(model)));
    }
    let found = complete_model(name).ok_or_else(|| Failure::request(models::unknown(name).0))?;
    let request = Request::new(found.model).parameter(found.parameter.name, found.value);
    Ok((found.model, request))
}

/// Returns the fields for the images of an edit, in their order.
fn image_fields(
    model: &'static Operation,
    tool: &str,
    arguments: &Arguments,
) -> Result<Vec<&'static str>, Failure> {
    let fields = models::image_fields(model);
    let (most, count) = (fields.len(), arguments.images.len());
    if tool == "edit" && count == 0 {
        return Err(Failure::request("images: give at least one; `make` needs none"));
    }
    if count > most {
        let problem = format!("images: {model} takes at most {most}, and {count} are given");
        return Err(Failure::request(problem));
    }
    Ok(fields)
}

fn with_field(
    server: &Server,
    request: Request,
    (name, value): (&str, Value),
    urls: &mut Vec<String>,
) -> Result<Request, Failure> {
    let model = request.operation();
    let refused = |problem: String| Failure::request(format!("{}: {problem}", one_line(name)));
    match (model.field(name).map(|field| &field.kind), value) {
        (Some(FieldKind::Address | FieldKind::Secret), _) => {
            Err(refused("only the person sets it".to_owned()))
        }
        (Some(FieldKind::Image { .. }), Value::String(given)) => {
            let image = image(server, name, given, urls)?;
            Ok(request.image(name, image))
        }
        (Some(FieldKind::Image { .. }), _) => Err(refused("give the path of a file".to_owned())),
        (None, _) if model.all_fields_shown => {
            let known = hint(name, model.fields.iter().map(|field| field.name));
            Err(refused(format!("{model} has no such field{known}")))
        }
        (None, _) if name.starts_with("webhook") => {
            Err(refused("only the person sets it".to_owned()))
        }
        (None, Value::String(text)) if is_url(&text) && !server.rules.allow_urls => {
            Err(refused("the person has not allowed URLs".to_owned()))
        }
        // 512 and 512.0 are the same call.
        (_, Value::Number(number)) => Ok(match whole(&number) {
            Some(number) => request.field(name, number),
            None => request.field(name, Value::Number(number)),
        }),
        (_, value) => Ok(request.field(name, value)),
    }
}

/// Returns the integer that a number is equal to, if there is one.
fn whole(number: &Number) -> Option<i64> {
    let is_whole = |float: &f64| float.fract() == 0.0 && float.abs() < LARGEST_EXACT;
    number.as_i64().or_else(|| Some(number.as_f64().filter(is_whole)? as i64))
}

fn image(
    server: &Server,
    name: &str,
    given: String,
    urls: &mut Vec<String>,
) -> Result<ImageInput, Failure> {
    let refused = |problem: &str| Err(Failure::request(format!("{}: {problem}", one_line(name))));
    if is_data_url(&given) {
        return refused("give the path of a file in an allowed folder, not data");
    }
    if !is_url(&given) {
        return server.folders.image(server.context.process(), &given, name);
    }
    if !server.rules.allow_urls {
        return refused("the person has not allowed URLs: save the image to a file first");
    }
    urls.push(given.clone());
    Ok(ImageInput::url(given))
}
