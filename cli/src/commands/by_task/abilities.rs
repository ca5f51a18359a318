//! The commands that accept a model, besides `run` and `submit`.

use super::TASKS;
use crate::{
    args::prompt::PROMPT,
    commands::{edit, generate},
};
use imagekiln::{FieldKind, Operation, OperationKind};

/// The names of the commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    [generate::NAME, edit::NAME].into_iter().chain(TASKS.iter().map(|task| task.name))
}

/// The commands that suit a model. A model of a task suits its task only.
pub fn of(model: &Operation) -> Vec<&'static str> {
    if model.kind != Some(OperationKind::Create) {
        let tasks = TASKS.iter().filter(|task| model.kind == Some(task.kind));
        return tasks.map(|task| task.name).collect();
    }
    let is_image = |kind: &FieldKind| matches!(kind, FieldKind::Image { mask_of: None, .. });
    let edits =
        model.field(PROMPT).is_some() && model.fields.iter().any(|field| is_image(&field.kind));
    let abilities = [(generate::NAME, true), (edit::NAME, edits)];
    abilities.into_iter().filter(|(_, able)| *able).map(|(name, _)| name).collect()
}

/// The same on one line.
pub fn shown(model: &Operation) -> String {
    let abilities = of(model);
    if abilities.is_empty() { "-".to_owned() } else { abilities.join(", ") }
}
