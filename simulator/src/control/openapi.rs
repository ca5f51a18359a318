//! The contract as this simulator serves it: with its model prefix and base URLs.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Map, Value, json};

use super::response::{self, ControlResult, Problem};
use crate::{
    contract::{self, Region},
    state::AppState,
    values::texts,
};

#[expect(clippy::indexing_slicing, reason = "the contract is an object")]
pub(super) async fn document(State(state): State<Arc<AppState>>) -> ControlResult {
    let mut document: Value =
        serde_json::from_str(contract::DOCUMENT).map_err(|_| Problem::internal())?;
    let prefix = &state.config.model_prefix;
    let (global, regional) = (state.base(Region::Global), state.base(Region::Regional));
    document["servers"] = json!([{ "url": global, "description": "This simulator." }]);
    if let Some(paths) = document["paths"].as_object_mut() {
        *paths = std::mem::take(paths)
            .into_iter()
            .map(|(path, item)| {
                (contract::prefixed_path(&path, prefix), located(item, global, regional))
            })
            .collect::<Map<_, _>>();
    }
    texts::replace(&mut document, &|text| Some(renamed(text, prefix).into()));
    response::json(&document)
}

/// Descriptions, examples and patterns name models, too.
fn renamed(text: &str, prefix: &str) -> String {
    let text = text.replace("`gen-", &format!("`{prefix}-"));
    for start in ["", "^"] {
        if let Some(rest) = text.strip_prefix(start).and_then(|text| text.strip_prefix("gen-")) {
            return format!("{start}{prefix}-{rest}");
        }
    }
    text
}

/// Lists the regional base URL first for a regional operation.
fn located(mut item: Value, global: &str, regional: &str) -> Value {
    for operation in item.as_object_mut().into_iter().flat_map(|methods| methods.values_mut()) {
        if operation.get("x-region").is_some_and(|region| region == "regional") {
            operation["servers"] = json!([
                { "url": regional, "description": "The regional base URL of this simulator." },
                { "url": global, "description": "This simulator." },
            ]);
        }
    }
    item
}
