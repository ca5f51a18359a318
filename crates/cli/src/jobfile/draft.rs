//! A job as the line of its file describes it.

use serde_json::Value;

use crate::models::PROMPT;

/// The members of a job that are not fields of its model.
pub const OWN: [&str; 8] =
    ["model", "name", "target", "group", PRIORITY, METADATA, EXTRA, EXTRA_IMAGES];

/// Other names that published lists use for the prompt, in lower case.
const PROMPTS: [&str; 6] = ["prompt", "prompts", "text_prompt", "prompt_text", "text", "caption"];

const PRIORITY: &str = "priority";
const METADATA: &str = "metadata";
const EXTRA: &str = "extra";
const EXTRA_IMAGES: &str = "extra_images";

/// A job before its model is looked up and its fields are converted.
#[derive(Clone, Default)]
pub struct Draft {
    pub line: u64,
    pub model: Option<String>,
    pub name: Option<String>,
    pub target: Option<String>,
    pub group: Option<String>,
    pub priority: Option<i64>,
    pub metadata: Option<Value>,
    pub settings: Vec<Setting>,
}

/// A field and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub part: Part,
    pub name: String,
    pub value: Cell,
}

/// The kind of fields that a setting can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Fields and path parameters that the contract lists.
    Listed,
    /// Fields that the contract does not list.
    Extra,
    /// Images in fields that the contract does not list.
    ExtraImage,
    /// Not a field: a value that stays with the job and is not sent.
    Metadata,
}

/// The value of a setting, as the file contains it.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Json(Value),
    /// Text without a type, such as a cell. The type of the field in the contract decides how it is
    /// read.
    Text(String),
}

impl Setting {
    /// Reads the key of a field: `width`, `extra.width` or `extra_images.person`.
    pub fn new(key: &str, value: Cell) -> Self {
        let (part, name) = match key.split_once('.') {
            Some((EXTRA, name)) => (Part::Extra, name),
            Some((EXTRA_IMAGES, name)) => (Part::ExtraImage, name),
            _ => (Part::Listed, key),
        };
        Self { part, name: name.to_owned(), value }
    }
}

impl Draft {
    /// Sets a member of the job, or a field. If the list has the prompt under another name than
    /// [`PROMPT`], `prompt` is that name, and a member that is called [`PROMPT`] becomes metadata.
    pub fn set_by(&mut self, prompt: Option<&str>, key: &str, value: Cell) -> Result<(), String> {
        match prompt {
            Some(prompt) if prompt == key => self.set(PROMPT, value),
            Some(_) if key == PROMPT => {
                self.settings.push(Setting { part: Part::Metadata, name: key.to_owned(), value });
                Ok(())
            }
            _ => self.set(key, value),
        }
    }

    fn set(&mut self, key: &str, value: Cell) -> Result<(), String> {
        let slot = match key {
            "model" => &mut self.model,
            "name" => &mut self.name,
            "target" => &mut self.target,
            "group" => &mut self.group,
            PRIORITY => {
                let priority = match &value {
                    Cell::Json(value) => value.as_i64(),
                    Cell::Text(text) => text.parse().ok(),
                };
                let priority = priority.ok_or("priority: must be an integer")?;
                return set_once(&mut self.priority, key, priority);
            }
            METADATA => {
                let Cell::Json(value @ Value::Object(_)) = value else {
                    return Err(format!("{key}: must be an object"));
                };
                return set_once(&mut self.metadata, key, value);
            }
            EXTRA | EXTRA_IMAGES => {
                let Cell::Json(Value::Object(members)) = value else {
                    return Err(format!("{key}: must be an object"));
                };
                let members = members.into_iter().map(|(name, value)| Setting {
                    name,
                    value: Cell::Json(value),
                    part: if key == EXTRA { Part::Extra } else { Part::ExtraImage },
                });
                self.settings.extend(members);
                return Ok(());
            }
            _ => {
                self.settings.push(Setting::new(key, value));
                return Ok(());
            }
        };
        match value {
            Cell::Json(Value::String(text)) | Cell::Text(text) if !text.is_empty() => {
                set_once(slot, key, text)
            }
            _ => Err(format!("{key}: must be text, and not empty")),
        }
    }
}

fn set_once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{key}: is set twice; set it once")),
    }
}

/// Finds the key of the prompt among the keys of a list that does not have the key [`PROMPT`].
pub fn find_prompt<'a>(keys: impl Iterator<Item = &'a str>) -> Result<Option<&'a str>, String> {
    let found = keys.filter(|key| PROMPTS.contains(&key.to_ascii_lowercase().as_str()));
    match &found.collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [key] => Ok(Some(key)),
        [one, two, ..] => {
            Err(format!("both `{one}` and `{two}` may be the prompt; set the name of the prompts"))
        }
    }
}

#[cfg(test)]
mod tests {
    use imagekiln::models;

    use super::*;

    #[test]
    fn no_field_has_the_name_of_a_member_of_jobs() {
        for model in models() {
            let parameters = model.path_parameters.iter().map(|parameter| parameter.name);
            for name in model.fields.iter().map(|field| field.name).chain(parameters) {
                assert!(!OWN.contains(&name) && !name.contains('.'), "{model}: {name}");
            }
        }
    }
}
