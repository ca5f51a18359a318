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

/// What tools need to know that are made from the document: they show the text of an operation to a
/// model, and neither the `links` of its response nor the introduction of the document.
const PAID: &str = "Creates a paid task, and returns at once. Then GET the `polling_url` of the \
                    response with the same key, at least half a second apart, until `status` is \
                    `Ready` or a failure; it may take minutes. `result.sample` is the URL of the \
                    picture, for ten minutes. Never call this again for the same picture: each \
                    call is paid.";

/// The start of a reference to a response of the contract.
const RESPONSES: &str = "#/components/responses/";

#[derive(Deserialize)]
pub(super) struct Variant {
    responses: Option<Responses>,
    keywords: Option<Keywords>,
}

/// Which keywords the document has: those of OpenAPI, not our `x-`, and written so that all tools
/// agree what they mean.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Keywords {
    Standard,
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
        let with_prefix = |(path, item): (String, Value)| {
            // Without `strict`, both base URLs have all operations.
            let also = (!state.config.strict).then_some(global);
            (contract::prefixed_path(&path, prefix), served(item, regional, also))
        };
        *paths = std::mem::take(paths).into_iter().map(with_prefix).collect::<Map<_, _>>();
    }
    texts::replace(&mut document, &|text| Some(renamed(text, prefix).into()));
    if let Some(Responses::Inline) = variant.responses {
        let shared = document["components"]["responses"].take();
        if let Some(components) = document["components"].as_object_mut() {
            components.retain(|name, _| name != "responses");
        }
        inline(&mut document["paths"], &shared);
    }
    if let Some(Keywords::Standard) = variant.keywords {
        simplify(&mut document);
    }
    response::json(&document)
}

/// Removes `x-` keywords, and `null` from the values of an enum that is `nullable`: OpenAPI 3.0
/// wants it there, and Prism then checks no request that has such a field.
fn simplify(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with("x-"));
            if fields.get("nullable") == Some(&Value::Bool(true))
                && let Some(Value::Array(values)) = fields.get_mut("enum")
            {
                values.retain(|value| !value.is_null());
            }
            fields.values_mut().for_each(simplify);
        }
        _ => {}
    }
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

/// Says in the operations of a path what their calls cost, and which base URL serves them: the
/// regional one first.
fn served(mut item: Value, regional: &str, also: Option<&str>) -> Value {
    for (method, operation) in item.as_object_mut().into_iter().flatten() {
        if method == "post" {
            let text = operation["description"].as_str().unwrap_or_default();
            operation["description"] = format!("{text} {PAID}").trim().into();
        }
        if operation.get("x-region").is_some() {
            let server = |(url, name): (&str, &str)| json!({ "url": url, "description": name });
            let regional = (regional, "The regional base URL of this simulator.");
            let also = also.map(|url| (url, "This simulator."));
            operation["servers"] = [regional].into_iter().chain(also).map(server).collect();
        }
    }
    item
}
