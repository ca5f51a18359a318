//! Converts the settings of jobs to values of a request, by the types of the fields in the
//! contract. All formats of job files share this.

use std::{fs, path::Path};

use serde_json::Value;

use super::draft::{Cell, OWN, Part, Setting};
use crate::{args::options::WEBHOOK_SECRET, models::PROMPT, text::one_line};
use imagekiln::{
    Field, FieldKind, ImageInput, Operation, Request, WEBHOOK_SECRET_VARIABLE, models,
    text::{hint, is_data_url, is_url, nearest},
};

/// From this similarity to a known name on, an unknown name counts as a misspelled field.
const MISSPELLED: f64 = 0.7;

/// A value as a request takes it.
pub enum Converted {
    Json(Value),
    Image(ImageInput),
    PathParameter(String),
}

/// Converts the value of a setting, or returns an error message. Does not check the limits of the
/// field: that happens when the whole request is validated.
pub fn convert(
    operation: &'static Operation,
    setting: &Setting,
    folder: &Path,
) -> Result<Converted, String> {
    let Setting { part, name, value } = setting;
    let prefixed = |problem: String| format!("{}: {problem}", one_line(name));
    // Ledgers do not store secrets, so the secret would be missing when the job is submitted.
    if name == WEBHOOK_SECRET {
        let problem = "is a secret, which jobs cannot contain";
        return Err(prefixed(format!("{problem}; set {WEBHOOK_SECRET_VARIABLE} instead")));
    }
    match part {
        Part::Extra => Ok(Converted::Json(match value {
            Cell::Json(value) => value.clone(),
            Cell::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        })),
        Part::Metadata => Err(unknown(operation, name)),
        Part::ExtraImage => match text_of(value) {
            Some(text) => image(text, folder).map(Converted::Image).map_err(prefixed),
            None => Err(prefixed("must be an image".to_owned())),
        },
        Part::Listed => {
            if operation.path_parameters.iter().any(|parameter| parameter.name == name) {
                let text = text_of(value).ok_or_else(|| prefixed("must be text".to_owned()))?;
                return Ok(Converted::PathParameter(text.to_owned()));
            }
            match operation.field(name) {
                Some(field) => listed(field, value, folder).map_err(prefixed),
                // A model whose fields the contract does not list completely may have a prompt, as
                // in `kiln generate`.
                None if name == PROMPT && !operation.all_fields_shown => text_of(value)
                    .map(|text| Converted::Json(text.into()))
                    .ok_or_else(|| prefixed("must be text".to_owned())),
                None => Err(unknown(operation, name)),
            }
        }
    }
}

impl Converted {
    pub fn set(self, request: Request, name: &str) -> Request {
        match self {
            Self::Json(value) => request.field(name, value),
            Self::Image(image) => request.image(name, image),
            Self::PathParameter(text) => request.parameter(name, text),
        }
    }
}

fn listed(field: &Field, value: &Cell, folder: &Path) -> Result<Converted, String> {
    match text_of(value).filter(|_| matches!(field.kind, FieldKind::Image { .. })) {
        Some(text) => image(text, folder).map(Converted::Image),
        None => Ok(Converted::Json(json_of(&field.kind, value))),
    }
}

/// Converts a value to the type of its field. Booleans are accepted in any case, because
/// spreadsheets write `TRUE` and `FALSE`.
fn json_of(kind: &FieldKind, value: &Cell) -> Value {
    match (kind, value) {
        (_, Cell::Json(value)) => value.clone(),
        (FieldKind::Boolean, Cell::Text(text)) => kind.value_of(&text.to_ascii_lowercase()),
        (_, Cell::Text(text)) => kind.value_of(text),
    }
}

fn text_of(value: &Cell) -> Option<&str> {
    match value {
        Cell::Text(text) => Some(text),
        Cell::Json(value) => value.as_str(),
    }
}

/// The names of the fields and path parameters that a job of the model can set.
fn names(operation: &Operation) -> impl Iterator<Item = &'static str> {
    let fields = operation.fields.iter().map(|field| field.name);
    fields.chain(operation.path_parameters.iter().map(|parameter| parameter.name))
}

/// Whether a name has nothing to do with any model, such as the column `category` of a published
/// list. Misspelled fields and fields of other models do not count as foreign: the user expects
/// them to change the picture, so they must not be left out silently.
pub fn is_foreign(operation: &Operation, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    operation.all_fields_shown
        && !models().flat_map(names).any(|known| known == name)
        && nearest(&lower, MISSPELLED, names(operation).chain(OWN)).is_none()
}

fn unknown(operation: &Operation, name: &str) -> String {
    let hint = hint(name, names(operation).chain(OWN));
    let name = one_line(name);
    if operation.all_fields_shown {
        format!("`{name}` is not a field of {operation}{hint}")
    } else {
        format!(
            "the contract lists no field `{name}` of {operation}{hint}; `extra` and \
             `extra_images` send it"
        )
    }
}

/// Returns the image that a job file names by a path relative to `folder`, by an http(s) URL, or by
/// a `data:` URL. Otherwise, returns an error message.
///
/// The request contains the absolute path, because another process may run the job from another
/// directory.
fn image(text: &str, folder: &Path) -> Result<ImageInput, String> {
    if is_url(text) {
        return Ok(ImageInput::url(text));
    }
    if is_data_url(text) {
        return Ok(ImageInput::base64(text));
    }
    let path = folder.join(text);
    let check = || {
        let is_file = fs::metadata(&path)?.is_file();
        // Do not open a pipe, because that waits until another process writes to it.
        if is_file {
            fs::File::open(&path)?;
        }
        Ok(is_file)
    };
    let unreadable = |error| format!("could not read the image {}: {error}", path.display());
    if check().map_err(unreadable)? {
        Ok(ImageInput::path(std::path::absolute(&path).map_err(unreadable)?))
    } else {
        Err(format!("{} is not a file", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_contains_the_absolute_path() {
        let image = image("Cargo.toml", Path::new("")).unwrap();
        let ImageInput::Path(path) = &image else { panic!("{image:?}") };
        assert!(path.is_absolute() && path.ends_with("Cargo.toml"), "{path:?}");
    }
}
