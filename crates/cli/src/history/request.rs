//! The request of a picture as the history and the files beside pictures keep it: in its stored
//! form, with names and digests of images instead of their bytes.

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::{failure::Failure, text::one_line};
use imagekiln::{Operation, Request, digest_of_file};
use imagekiln_label::describe_request;

/// The parts that have fields, and the flag that sets one of them.
const FIELDS: &str = "fields";
const EXTRA: &str = "extra";
const EXTRA_IMAGES: &str = "extra_images";

/// The URL of a webhook is not part of the picture, and often secret, so it is not kept.
const WEBHOOK_URL: &str = "webhook_url";

/// The text that replaces secrets, in the outline of a request and in URLs.
const REDACTED: &str = "[redacted]";

/// The SHA-256 digests of files, each of which is read once. `None` for one that can't be read.
pub type Digests = HashMap<PathBuf, Option<String>>;

/// Returns the form of a request to keep. Relative paths of images start at `directory`. Returns
/// `None` if the request has no stored form, for example because a path is not Unicode.
pub fn kept(request: &Request, directory: &Path, digests: &RefCell<Digests>) -> Option<Value> {
    let file = |path: &Path| {
        let path = directory.join(path);
        let sha256 = digests
            .borrow_mut()
            .entry(path.clone())
            .or_insert_with(|| digest_of_file(&path).ok())
            .clone();
        json!({ "path": path, "sha256": sha256 })
    };
    let mut kept = describe_request(request, file).ok()?;
    let outline = request.outline();
    for part in [FIELDS, EXTRA] {
        let Some(fields) = kept.get_mut(part).and_then(Value::as_object_mut) else { continue };
        fields.remove(WEBHOOK_URL);
        for (name, value) in fields.iter_mut() {
            if outline.get(name).is_some_and(|shown| *shown == REDACTED) {
                *value = json!({ "omitted": "secret" });
            }
        }
    }
    Some(kept)
}

/// Returns the value of a field, even if the contract does not list the field.
pub fn field<'a>(kept: &'a Value, name: &str) -> Option<&'a Value> {
    let in_part = |part| kept.get(part)?.get(name);
    in_part(FIELDS).or_else(|| in_part(EXTRA)).or_else(|| in_part(EXTRA_IMAGES))
}

pub fn fields(kept: &Value) -> Map<String, Value> {
    let parts = [FIELDS, EXTRA, EXTRA_IMAGES].into_iter();
    let fields = parts.filter_map(|part| kept.get(part)?.as_object()).flatten();
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub fn operation(kept: &Value) -> Option<&str> {
    kept.get("operation")?.as_str()
}

/// Returns the name of the model: the name of the operation, with its path parameters filled in.
pub fn model(kept: &Value) -> Option<String> {
    let parameters = kept.get("path").and_then(Value::as_object);
    let parameters = parameters.into_iter().flatten();
    Some(parameters.fold(operation(kept)?.to_owned(), |name, (parameter, value)| {
        name.replace(&format!("{{{parameter}}}"), value.as_str().unwrap_or_default())
    }))
}

/// Changes a kept request to another model. Also returns the names of the fields that this model
/// does not have, which are left out.
pub fn of_model(kept: &Value, model: &Operation) -> (Value, Vec<String>) {
    let mut request = kept.clone();
    if operation(kept) == Some(model.name) {
        return (request, Vec::new());
    }
    let mut left_out = Vec::new();
    for part in [FIELDS, EXTRA, EXTRA_IMAGES] {
        let Some(fields) = request.get_mut(part).and_then(Value::as_object_mut) else { continue };
        fields.retain(|name, _| {
            let is_listed = model.field(name).is_some();
            let is_kept =
                if part == FIELDS { is_listed } else { !is_listed && !model.all_fields_shown };
            if !is_kept {
                left_out.push(one_line(name));
            }
            is_kept
        });
    }
    if let Some(members) = request.as_object_mut() {
        members.insert("operation".to_owned(), model.name.into());
        members.remove("path");
    }
    (request, left_out)
}

/// Restores a request from its kept form, without the fields that `is_replaced`. Fails if an image
/// file has changed since.
pub fn again(kept: &Value, is_replaced: impl Fn(&str) -> bool) -> Result<Request, Failure> {
    let mut kept = kept.clone();
    for (part, flag) in [(FIELDS, ""), (EXTRA, "extra"), (EXTRA_IMAGES, "extra-image")] {
        let Some(fields) = kept.get_mut(part).and_then(Value::as_object_mut) else { continue };
        fields.retain(|name, _| !is_replaced(name));
        for (name, value) in fields {
            let flag = match flag {
                "" => format!("--{}", name.replace('_', "-")),
                flag => format!("--{flag} {}=VALUE", one_line(name)),
            };
            complete(value, &Place { name, flag: &flag })?;
        }
    }
    Request::from_json(&kept.to_string()).map_err(|error| Failure::from(error).before_payment())
}

/// A field of a kept request, and the flag that replaces it.
struct Place<'a> {
    name: &'a str,
    flag: &'a str,
}

/// Restores a value from its kept form. Fails, with the reason, if something of it was not kept.
fn complete(value: &mut Value, place: &Place<'_>) -> Result<(), Failure> {
    let name = one_line(place.name);
    match value {
        Value::String(text) if is_incomplete_url(text) => {
            Err(place.refused(format!("the query of the URL in `{name}` was not kept")))
        }
        Value::Array(values) => values.iter_mut().try_for_each(|value| complete(value, place)),
        Value::Object(members) if members.contains_key("omitted") => {
            let what = members.get("omitted").and_then(Value::as_str).unwrap_or("value");
            Err(place.refused(format!("the {} in `{name}` was not kept", one_line(what))))
        }
        Value::Object(members) => match (members.get("path"), members.get("sha256")) {
            (Some(Value::String(path)), Some(sha256)) => {
                check_file(Path::new(path), sha256.as_str(), place)?;
                members.remove("sha256");
                Ok(())
            }
            _ => members.values_mut().try_for_each(|value| complete(value, place)),
        },
        _ => Ok(()),
    }
}

fn check_file(path: &Path, sha256: Option<&str>, place: &Place<'_>) -> Result<(), Failure> {
    let shown = path.display();
    let found = digest_of_file(path).map_err(|error| {
        let advice =
            format!("nothing was sent; restore it, or pass another one with {}", place.flag);
        Failure::file(format!("could not read the image {shown}"), error).advise(advice)
    })?;
    if sha256.is_none_or(|sha256| sha256 == found) {
        return Ok(());
    }
    Err(place.refused(format!("the image {shown} has changed since the picture was made")))
}

fn is_incomplete_url(text: &str) -> bool {
    text.ends_with(REDACTED) && text.contains("://") && !text.contains(char::is_whitespace)
}

impl Place<'_> {
    fn refused(&self, problem: String) -> Failure {
        let advice = format!("nothing was sent; pass it, or another value, with {}", self.flag);
        Failure::request(problem).advise(advice)
    }
}
