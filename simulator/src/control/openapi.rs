//! The contract as this simulator serves it: with its model prefix and base URLs, and with a valid
//! example for each submission.

use std::{io::Cursor, sync::Arc};

use axum::extract::State;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::{Map, Value, json};

use super::reply::{self, Problem, Reply};
use crate::{
    contract::{self, Region},
    service::Service,
};

pub(super) async fn serve(State(service): State<Arc<Service>>) -> Reply {
    let mut document: Value =
        serde_json::from_str(contract::DOCUMENT).map_err(|_| Problem::broken())?;
    exemplify(&mut document);
    let prefix = &service.config.model_prefix;
    let (global, regional) = (service.base(Region::Global), service.base(Region::Regional));
    document["servers"] = json!([{ "url": global, "description": "This simulator." }]);
    if let Some(paths) = document["paths"].as_object_mut() {
        *paths = std::mem::take(paths)
            .into_iter()
            .map(|(path, item)| {
                (contract::prefixed_path(&path, prefix), located(item, global, regional))
            })
            .collect::<Map<_, _>>();
    }
    rename(&mut document, prefix);
    reply::json(&document)
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

/// Replaces the prefix of model names in descriptions.
fn rename(value: &mut Value, prefix: &str) {
    match value {
        Value::String(text) => *text = text.replace("`gen-", &format!("`{prefix}-")),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, prefix)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, prefix)),
        _ => {}
    }
}

/// Adds an example to each submission: the prompt and the required fields. A viewer would otherwise
/// make up values for every field, which the service rejects.
fn exemplify(document: &mut Value) {
    let components = document["components"].take();
    let schemas = &components["schemas"];
    for item in document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
        let Some(media) = item.pointer_mut("/post/requestBody/content/application~1json") else {
            continue;
        };
        let name =
            media["schema"]["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        let schema = name.and_then(|name| schemas.get(name)).unwrap_or(&media["schema"]);
        media["example"] = example(schema);
    }
    document["components"] = components;
}

fn example(schema: &Value) -> Value {
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let shown = fields.filter(|(name, _)| {
        required.iter().any(|field| field.as_str() == Some(name))
            || ["prompt", "image", "mask"].contains(&name.as_str())
    });
    shown.map(|(name, schema)| (name.clone(), value(name, schema))).collect::<Map<_, _>>().into()
}

fn value(name: &str, schema: &Value) -> Value {
    match name {
        "prompt" => "a red fox in the snow".into(),
        // The finetune of the organization Default, unless the configuration defines that
        // organization.
        "finetune_id" => "fox-style".into(),
        "mask" => picture(|x, _| if x < SIDE / 2 { [0; 3] } else { [255; 3] }).into(),
        _ if schema.get("x-image").is_some() => {
            picture(|x, y| [(x * 4) as u8, 128, (y * 4) as u8]).into()
        }
        _ => match schema["type"].as_str() {
            Some("integer" | "number") => {
                schema.get("minimum").cloned().unwrap_or_else(|| json!(1))
            }
            Some("boolean") => false.into(),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => format!("a {name}").into(),
        },
    }
}

/// The width and height of example images, in pixels.
const SIDE: u32 = 64;

fn picture(colour: impl Fn(u32, u32) -> [u8; 3]) -> String {
    let mut bytes = Cursor::new(Vec::new());
    let image = RgbImage::from_fn(SIDE, SIDE, |x, y| Rgb(colour(x, y)));
    // Writing an image of this size to memory does not fail.
    let _ = image.write_to(&mut bytes, ImageFormat::Png);
    STANDARD.encode(bytes.into_inner())
}
