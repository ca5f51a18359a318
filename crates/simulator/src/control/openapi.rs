//! The contract as this simulator serves it: with its model prefix and base URLs.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Shared,
    response::{self, ControlResult, Parameters, Problem},
};
use crate::{
    contract::{self, Region},
    values::texts,
};

/// The start of a reference to a response of the contract.
const RESPONSES: &str = "#/components/responses/";

#[derive(Deserialize)]
pub(super) struct Variant {
    responses: Option<Responses>,
}

/// How operations name the responses that they share.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Responses {
    Inline,
}

#[expect(clippy::indexing_slicing, reason = "the contract is an object")]
pub(super) async fn document(
    State(state): Shared,
    Parameters(variant): Parameters<Variant>,
) -> ControlResult {
    let mut document: Value =
        serde_json::from_str(contract::DOCUMENT).map_err(|_| Problem::internal())?;
    let prefix = &state.config.model_prefix;
    let (global, regional) = (state.base(Region::Global), state.base(Region::Regional));
    document["servers"] = json!([{ "url": global, "description": "This simulator." }]);
    if let Some(paths) = document["paths"].as_object_mut() {
        let served = |(path, item): (String, Value)| {
            (contract::prefixed_path(&path, prefix), located(item, global, regional))
        };
        *paths = std::mem::take(paths).into_iter().map(served).collect::<Map<_, _>>();
    }
    texts::replace(&mut document, &|text| Some(renamed(text, prefix).into()));
    if let Some(Responses::Inline) = variant.responses {
        let shared = document["components"]["responses"].take();
        if let Some(components) = document["components"].as_object_mut() {
            components.retain(|name, _| name != "responses");
        }
        inline(&mut document["paths"], &shared);
    }
    response::json(&document)
}

/// Replaces the references to `shared` responses, which some generators of clients don't follow.
fn inline(value: &mut Value, shared: &Value) {
    let reference = value.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|reference| reference.strip_prefix(RESPONSES));
    match (name.and_then(|name| shared.get(name)), value) {
        (Some(response), value) => *value = response.clone(),
        (None, Value::Array(items)) => items.iter_mut().for_each(|item| inline(item, shared)),
        (None, Value::Object(fields)) => {
            fields.values_mut().for_each(|field| inline(field, shared));
        }
        _ => {}
    }
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
