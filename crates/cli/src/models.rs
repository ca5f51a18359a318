//! The models: the operations of the contract that create a task.

use imagekiln::{FieldKind, Operation, text::hint};
pub use imagekiln::{find_model as find, models};

pub const DEFAULT: &str = "gen-2-pro";

/// The model of commands for which nobody has chosen one.
pub fn default() -> &'static Operation {
    find(DEFAULT).expect("the contract has the default model")
}

/// The field that describes the picture.
pub const PROMPT: &str = "prompt";

/// The field that sets the random seed. Requests that differ only in this field make different
/// pictures.
pub const SEED: &str = "seed";

/// Returns an example of a complete name for help, if the name of the model has a path parameter.
pub fn example_name(model: &Operation) -> Option<String> {
    let [parameter] = model.path_parameters else { return None };
    Some(model.name.replace(&format!("{{{}}}", parameter.name), parameter.example))
}

/// Returns the image fields of a model in the order of the contract, without its masks.
pub fn image_fields(model: &Operation) -> Vec<&'static str> {
    let is_image = |kind: &FieldKind| matches!(kind, FieldKind::Image { mask_of: None, .. });
    let fields = model.fields.iter().filter(|field| is_image(&field.kind));
    fields.map(|field| field.name).collect()
}

pub fn summary(model: &Operation) -> String {
    if model.deprecated && !model.summary.to_lowercase().contains("deprecated") {
        format!("{} (deprecated)", model.summary)
    } else {
        model.summary.to_owned()
    }
}

/// Returns the message about an unknown model, and tips.
pub fn unknown(name: &str) -> (String, Vec<String>) {
    let mut tips = Vec::new();
    if name.contains("finetune") {
        let example = models().find_map(example_name).unwrap_or_default();
        tips.push(format!("a fine-tuned base model is written like '{example}'"));
    }
    tips.push("`kiln models` lists all models".to_owned());
    let hint = hint(name, models().map(|model| model.name));
    (format!("unknown model '{name}'{hint}"), tips)
}
