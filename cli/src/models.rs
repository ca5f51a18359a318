//! The models: the operations of the contract that create a task.

use imagekiln::Operation;
pub use imagekiln::{find_model as find, models};

/// The minimum similarity of names that are listed. This measure and its minimum are those of the
/// parser of the command line, which suggests commands and flags.
const LISTED: f64 = 0.7;

/// The default model.
pub const DEFAULT: &str = "gen-2-pro";

/// The field that describes the picture.
pub const PROMPT: &str = "prompt";

/// The field that makes pictures of the same request differ.
pub const SEED: &str = "seed";

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

/// The known names that are similar to `name`, the most similar one first.
fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let rated = known.map(|known| (strsim::jaro(name, known), known));
    let mut rated: Vec<_> = rated.filter(|(rate, _)| *rate > LISTED).collect();
    // Of names that are equally similar, the last one is first.
    rated.sort_by(|(one, _), (two, _)| one.total_cmp(two));
    rated.into_iter().rev().map(|(_, known)| known).collect()
}
