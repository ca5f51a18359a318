//! The finetune that a request trains.

use serde_json::Value;

use crate::{
    billing::accounts::{MAX_FINETUNE_NAME, is_finetune_name},
    contract::{OperationKind, Violation},
};

/// The field with the name, which is the simulator's own: the contract leaves the fields open.
const FIELD: &str = "name";

/// What a request trains.
pub(crate) enum Trains {
    Nothing,
    /// A finetune of this name, or of the name of the task.
    Finetune(Option<String>),
}

impl Trains {
    /// Reads a validated body. `exists` is whether the organization has a finetune of this name.
    pub(crate) fn read(
        kind: OperationKind,
        body: &Value,
        exists: impl FnOnce(&str) -> bool,
    ) -> Result<Self, Vec<Violation>> {
        if kind != OperationKind::Finetune {
            return Ok(Self::Nothing);
        }
        let wrong = |kind, msg: &str| vec![Violation::new(["body", FIELD], kind, msg)];
        let value = |problem| vec![Violation::value(vec!["body".into(), FIELD.into()], problem)];
        match body.get(FIELD) {
            None | Some(Value::Null) => Ok(Self::Finetune(None)),
            Some(Value::String(name)) if !is_finetune_name(name) => {
                Err(value("a finetune name must not be empty or contain a slash"))
            }
            Some(Value::String(name)) if name.chars().count() > MAX_FINETUNE_NAME => {
                let msg = format!("String should have at most {MAX_FINETUNE_NAME} characters");
                Err(wrong("string_too_long", &msg))
            }
            Some(Value::String(name)) if exists(name) => {
                Err(value("the organization already has a finetune of this name"))
            }
            Some(Value::String(name)) => Ok(Self::Finetune(Some(name.clone()))),
            Some(_) => Err(wrong("string_type", "Input should be a valid string")),
        }
    }
}
