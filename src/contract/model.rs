//! The models: the operations that create a task, and their complete names.

use super::operation::{Operation, PathParameter, find_operation, operations};

/// Returns the operations that create a task, in the order of the contract.
pub fn models() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

/// Finds an operation that creates a task, as [`find_operation`] does.
pub fn find_model(name: &str) -> Option<&'static Operation> {
    find_operation(name).filter(|operation| operation.submits)
}

/// A model whose name has a path parameter, and the value of the parameter in a complete name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct CompleteModel<'a> {
    /// The model, such as `{base_model}-finetuned`.
    pub model: &'static Operation,
    /// Its parameter, such as `base_model`.
    pub parameter: &'static PathParameter,
    /// The value of the parameter.
    pub value: &'a str,
}

/// Finds the model and the path parameter of a complete name.
///
/// ```
/// let found = imagekiln::complete_model("gen-2-klein-9b-kv-finetuned").unwrap();
/// assert_eq!(found.model.name, "{base_model}-finetuned");
/// assert_eq!(found.value, "gen-2-klein-9b-kv");
/// ```
#[doc(hidden)]
pub fn complete_model(name: &str) -> Option<CompleteModel<'_>> {
    let name = name.strip_prefix("/v1/").unwrap_or(name);
    if find_model(name).is_some() {
        return None;
    }
    models().find_map(|model| {
        let [parameter] = model.path_parameters else { return None };
        let (before, after) = model.name.split_once(&format!("{{{}}}", parameter.name))?;
        let value = name.strip_prefix(before)?.strip_suffix(after)?;
        value.starts_with(parameter.prefix?).then_some(CompleteModel { model, parameter, value })
    })
}
