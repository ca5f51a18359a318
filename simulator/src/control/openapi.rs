//! The contract as this service serves it: under its model prefix, at its addresses, and with a
//! request for each operation that can be sent as it is.

use std::io::Cursor;
use std::sync::Arc;

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::{Map, Value, json};

use super::reply::{self, Problem, Reply};
use crate::contract::{self, Region};
use crate::service::Service;

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

/// A regional operation is served at the regional address first.
fn located(mut item: Value, global: &str, regional: &str) -> Value {
    for operation in item.as_object_mut().into_iter().flat_map(|methods| methods.values_mut()) {
        if operation.get("x-region").is_some_and(|region| region == "regional") {
            operation["servers"] = json!([
                { "url": regional, "description": "The regional address of this simulator." },
                { "url": global, "description": "This simulator." },
            ]);
        }
    }
    item
}

/// The names of models within the prose.
fn rename(value: &mut Value, prefix: &str) {
    match value {
        Value::String(text) => *text = text.replace("`gen-", &format!("`{prefix}-")),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, prefix)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, prefix)),
        _ => {}
    }
}

/// Gives each submission an example: the prompt, and what is required. A viewer would make one up
/// of every field, which no service takes.
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
        // The one that the organization Default has where the configuration names no other.
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

/// How many pixels wide and high an example's images are.
const SIDE: u32 = 64;

fn picture(colour: impl Fn(u32, u32) -> [u8; 3]) -> String {
    let mut bytes = Cursor::new(Vec::new());
    let image = RgbImage::from_fn(SIDE, SIDE, |x, y| Rgb(colour(x, y)));
    // Writing to memory fails for no image of this size; an empty text would be refused with its
    // reason.
    let _ = image.write_to(&mut bytes, ImageFormat::Png);
    STANDARD.encode(bytes.into_inner())
}
