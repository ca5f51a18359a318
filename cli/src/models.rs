//! The models: the operations of the contract that create a task.

use crate::text::words::similar;
use imagekiln::{Operation, PathParameter, operations};

/// The default model.
pub const DEFAULT: &str = "gen-2-pro";

/// The operations that create a task.
pub fn models() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

/// Finds a model by its name, path or id.
pub fn find(name: &str) -> Option<&'static Operation> {
    imagekiln::find_operation(name).filter(|operation| operation.submits)
}

/// A model whose name has a path parameter, and the value of the parameter in a complete name.
#[derive(Debug, PartialEq)]
pub struct Filled<'a> {
    pub model: &'static Operation,
    pub parameter: &'static PathParameter,
    pub value: &'a str,
}

/// Finds the model of a name such as `gen-2-klein-9b-kv-finetuned`, which is that of
/// `{base_model}-finetuned` with the base model `gen-2-klein-9b-kv`.
pub fn fill(name: &str) -> Option<Filled<'_>> {
    let name = name.strip_prefix("/v1/").unwrap_or(name);
    if find(name).is_some() {
        return None;
    }
    models().find_map(|model| {
        let [parameter] = model.path_parameters else { return None };
        let (before, after) = model.name.split_once(&format!("{{{}}}", parameter.name))?;
        let value = name.strip_prefix(before)?.strip_suffix(after)?;
        value.starts_with(parameter.prefix?).then_some(Filled { model, parameter, value })
    })
}

/// A complete name of a model whose name has a path parameter, for help.
pub fn example_name(model: &Operation) -> Option<String> {
    let [parameter] = model.path_parameters else { return None };
    Some(model.name.replace(&format!("{{{}}}", parameter.name), parameter.example))
}

/// A one-line summary of a model.
pub fn summary(model: &Operation) -> String {
    if model.deprecated && !model.summary.to_lowercase().contains("deprecated") {
        format!("{} (deprecated)", model.summary)
    } else {
        model.summary.to_owned()
    }
}

/// The message about a name that is not that of a model, and tips.
pub fn unknown(name: &str) -> (String, Vec<String>) {
    let similar = similar(name, models().map(|model| model.name)).into_iter().take(3);
    let similar: Vec<String> = similar.map(|name| format!("'{name}'")).collect();
    let mut tips = Vec::new();
    if !similar.is_empty() {
        tips.push(format!("similar models are {}", similar.join(", ")));
    }
    if name.contains("finetune") {
        let example = models().find_map(example_name).unwrap_or_default();
        tips.push(format!("a fine-tuned base model is written like '{example}'"));
    }
    tips.push("`kiln models` lists all models".to_owned());
    (format!("unknown model '{name}'"), tips)
}
