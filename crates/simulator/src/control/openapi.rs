//! Shows the contract as this simulator serves it, with its model prefix and its base URLs.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Shared,
    response::{self, ControlResult, Parameters},
};
use crate::{
    contract::{self, Region},
    values::texts,
};

/// Advice for models that use tools which a program has made from the document. Such programs show
/// the description of an operation to the model, but neither the `links` of its response nor the
/// introduction of the document.
const PAID: &str = "Creates a paid task, and returns at once. Then GET the `polling_url` of the \
                    response with the same key, at least half a second apart, until `status` is \
                    `Ready` or a failure; it may take minutes. `result.sample` is the URL of the \
                    picture, for ten minutes. Never call this again for the same picture: each \
                    call is paid.";

/// The beginning of a reference to a shared response of the contract.
const RESPONSES: &str = "#/components/responses/";

#[derive(Deserialize)]
pub(super) struct Variant {
    responses: Option<Responses>,
    keywords: Option<Keywords>,
}

/// `standard`: the document has only the keywords of OpenAPI, without this contract's `x-`
/// keywords, and uses them in a way that all tools understand.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Keywords {
    Standard,
}

/// `inline`: operations contain their responses instead of references to shared ones.
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
    let mut document = Value::clone(contract::document());
    let prefix = &state.config.model_prefix;
    let (global, regional) = (state.base(Region::Global), state.base(Region::Regional));
    document["servers"] = json!([{ "url": global, "description": "This simulator." }]);
    if let Some(paths) = document["paths"].as_object_mut() {
        let with_prefix = |(path, item): (String, Value)| {
            // Without `strict`, both base URLs serve all operations.
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
        texts::change(&mut document["paths"], &|value| inline(value, &shared));
    }
    if let Some(Keywords::Standard) = variant.keywords {
        texts::change(&mut document, &simplify);
    }
    response::json(&document)
}

/// Removes `x-` keywords, and `null` from the values of a `nullable` enum. OpenAPI 3.0 requires
/// `null` there, but Prism then does not check any request that has such a field.
fn simplify(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    fields.retain(|name, _| !name.starts_with("x-"));
    if fields.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::Array(values)) = fields.get_mut("enum")
    {
        values.retain(|value| !value.is_null());
    }
}

/// Replaces a reference to one of the `shared` responses, because some client generators don't
/// follow such references.
fn inline(value: &mut Value, shared: &Value) {
    let reference = value.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|reference| reference.strip_prefix(RESPONSES));
    if let Some(response) = name.and_then(|name| shared.get(name)) {
        *value = response.clone();
    }
}

/// Replaces the prefix of model names in a text, because descriptions, examples and patterns
/// contain such names, too.
fn renamed(text: &str, prefix: &str) -> String {
    let text = text.replace("`gen-", &format!("`{prefix}-"));
    for start in ["", "^"] {
        if let Some(rest) = text.strip_prefix(start).and_then(|text| text.strip_prefix("gen-")) {
            return format!("{start}{prefix}-{rest}");
        }
    }
    text
}

/// Adds to the operations of a path the advice about paid calls, and the base URLs that serve them,
/// of which the regional one comes first.
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
