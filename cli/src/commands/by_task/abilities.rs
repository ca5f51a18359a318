//! The commands that accept a model, besides `run` and `submit`.

use super::TASKS;
use crate::{
    args::prompt::PROMPT,
    commands::{edit, generate},
};
use imagekiln::{FieldKind, Operation};

/// The models that make a picture from a prompt, although the contract does not list the field.
const UNLISTED_PROMPT: [&str; 3] = ["gen-2-klein-4b", "gen-pro-1.0", "gen-pro-finetuned"];

/// The names of the commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    [generate::NAME, edit::NAME].into_iter().chain(TASKS.iter().map(|task| task.name))
}

/// The commands that suit a model. A model of the table suits its task only.
pub fn of(model: &Operation) -> Vec<&'static str> {
    let tasks = TASKS.iter().filter(|task| task.models.contains(&model.name));
    let tasks: Vec<&str> = tasks.map(|task| task.name).collect();
    if !tasks.is_empty() {
        return tasks;
    }
    let is_image = |kind: &FieldKind| matches!(kind, FieldKind::Image { mask_of: None, .. });
    let has_image = model.fields.iter().any(|field| is_image(&field.kind));
    let has_prompt = model.field(PROMPT).is_some();
    let generates = has_prompt || UNLISTED_PROMPT.contains(&model.name);
    let abilities = [(generate::NAME, generates), (edit::NAME, has_prompt && has_image)];
    abilities.into_iter().filter(|(_, able)| *able).map(|(name, _)| name).collect()
}

/// The same on one line.
pub fn shown(model: &Operation) -> String {
    let abilities = of(model);
    if abilities.is_empty() { "-".to_owned() } else { abilities.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::model;

    #[test]
    fn every_model_of_the_table_exists() {
        for name in UNLISTED_PROMPT {
            assert!(model::find(name).is_some_and(|model| !model.all_fields_shown), "{name}");
        }
    }
}
