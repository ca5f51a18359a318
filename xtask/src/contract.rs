//! The contract, its code generator, which is the one that `build.rs` runs, and all that the
//! generator takes for granted.

mod agreement;
mod fit;
mod gaps;
mod known;
mod needs;
mod operations;
mod parse;
mod responses;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::repository::CONTRACT;

/// The SDK's own generator, from the same source files, so that its output is the same as in the
/// build.
#[path = "../../build/mod.rs"]
mod generator;

use self::generator::{
    Encodings, Field, IN_PROGRESS, Kind, Need, Operation, STATUS, Submission, TAKEN, What, all,
    all_responses, is_camel_case, is_field_name, member_name, ratio, read_operation, read_texts,
};
pub use self::{
    generator::{DocumentNode, Faults, METHODS, capitalized, joined},
    parse::parse,
};

/// The contract at the time xtask was built.
#[cfg(test)]
pub const DOCUMENT: &str = include_str!("../../openapi.json");

/// Returns all faults of a document. A part that the generator can't read may hide others.
pub fn check(document: &Value) -> Result<(), Faults> {
    let root = DocumentNode::root(document);
    let checks = [
        known::check_document(&root),
        agreement::check(&root),
        operations::check(&root),
        responses::check(&root),
        generator::check(document),
    ];
    all(checks).map(drop)
}

/// Generates code from a document.
pub fn generate(document: &str) -> Result<String> {
    let options = generator::Options { json_schema: false };
    let document = parse(document)?;
    generator::generate(&document, &options)
        .with_context(|| format!("could not generate code from {CONTRACT}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Sets the value at a pointer, whose last step may be new.
    fn set(document: &mut Value, pointer: &str, value: Value) {
        let (holder, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        match document.pointer_mut(holder).unwrap() {
            Value::Object(object) => drop(object.insert(key, value)),
            Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
            other => panic!("{holder} is {other}"),
        }
    }

    /// A picture of one pixel, as base64.
    const PIXEL: &str = concat!(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJ",
        "RU5ErkJggg=="
    );

    #[test]
    fn the_header_of_the_key_and_the_polling_path_are_those_of_the_document() {
        let named = |name: &str, path: &str| {
            let scheme = format!("\"name\": \"{name}\"");
            let document = DOCUMENT.replace("\"name\": \"x-key\"", &scheme);
            document.replace("/v1/get_result", path).replace("\"get_result\"", "\"get_status\"")
        };
        let code = generate(&named("X-Token", "/v1/get_status")).unwrap();
        assert!(code.contains("KEY_HEADER: &str = \"x-token\";"));
        assert!(code.contains("POLLING_PATH: &str = \"/v1/get_status\";"));

        let fault = |document: &Value| check(document).unwrap_err().to_string();
        let parse = |document: &str| serde_json::from_str::<Value>(document).unwrap();
        let fault_of_name = fault(&parse(&named("x key", "/v1/get_status")));
        assert!(fault_of_name.ends_with("`x key` is not the name of a header"), "{fault_of_name}");
        let mut two = parse(DOCUMENT);
        let scheme = two["components"]["securitySchemes"]["ApiKey"].clone();
        set(&mut two, "/components/securitySchemes/Other", scheme);
        two["security"].as_array_mut().unwrap().push(json!({"Other": []}));
        let fault_of_two = fault(&two);
        assert!(fault_of_two.ends_with("the SDK has one key"), "{fault_of_two}");
        let mut polled = parse(DOCUMENT);
        let mut other = polled["paths"]["/v1/get_result"].clone();
        other["get"]["operationId"] = json!("get_other");
        set(&mut polled, "/paths/~1v1~1get_other", other);
        let fault_of_polled = fault(&polled);
        assert!(fault_of_polled.ends_with("which polls a task"), "{fault_of_polled}");
    }

    #[test]
    fn a_region_that_no_operation_is_in_is_a_fault() {
        let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
        for item in document["paths"].as_object_mut().unwrap().values_mut() {
            if let Some(operation) = item.get_mut("post").and_then(Value::as_object_mut) {
                operation.shift_remove("x-region");
            }
        }
        let fault = check(&document).unwrap_err().to_string();
        assert_eq!(fault, "/servers/1/x-region: no operation is in this region");
    }

    /// The faults of invalid documents. Each message contains the location.
    #[test]
    fn a_fault_of_the_document_is_named_with_its_place() {
        let pro = "/paths/~1v1~1gen-2-pro/post";
        let fill = "/paths/~1v1~1gen-pro-1.0-fill/post";
        let webhook = "/components/schemas/AsyncWebhookResponse";
        let ultra = "/paths/~1v1~1gen-pro-1.1-ultra/post";
        let example = "requestBody/content/application~1json/example";
        let field = "/components/schemas/Gen2Pro/properties";
        let mood = format!("{field}/mood");
        let finetuned = "/paths/~1v1~1{base_model}-finetuned/post/parameters/0";
        let choice = json!({ "type": "string", "description": "A choice.", "enum": ["a", "b"] });
        let text = |further: Value| {
            let mut schema = json!({ "type": "string", "description": "Text." });
            schema.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            schema
        };
        let object = |properties: Value| {
            let description = "An object.";
            json!({ "type": "object", "description": description, "properties": properties })
        };
        let breaks: Vec<Vec<(String, Value)>> = vec![
            vec![("/openapi".into(), json!("3.1.0"))],
            vec![(format!("{pro}/operationId"), json!("gen-2-pro"))],
            vec![(format!("{pro}/operationId"), json!("gen_dev"))],
            vec![("/paths/~1v1~1gen-pro-1.0-fill-finetuned/post/x-region".into(), json!("eu"))],
            vec![(
                format!("{pro}/requestBody/content/application~1json/schema/$ref"),
                json!("#/components/schemas/Nowhere"),
            )],
            vec![(
                format!("{pro}/requestBody/content/application~1json/schema/$ref"),
                json!("#/components/schemas/OutputFormat"),
            )],
            vec![(format!("{field}/width/minimum"), json!("64"))],
            vec![(format!("{field}/safety_tolerance/maximum"), json!(-1))],
            vec![(format!("{field}/seed/type"), json!("date"))],
            vec![(format!("{field}/prompt/pattern"), json!("^a"))],
            vec![(format!("{field}/input_image/x-image"), json!("jpeg"))],
            vec![(format!("{field}/inputMood"), text(json!({})))],
            vec![
                ("/components/schemas/GenDev/properties/mood".into(), choice.clone()),
                (mood.clone(), choice),
            ],
            vec![("/components/schemas/OutputFormat/enum".into(), json!(["jpeg", "png", "Png"]))],
            vec![("/components/schemas/Gen2Pro/required".into(), json!(["prompt", "colour"]))],
            vec![("/components/schemas/Gen2Pro/not".into(), json!({}))],
            vec![("/components/schemas/Gen2Pro/minProperties".into(), json!(1))],
            vec![(mood.clone(), object(json!({ "key": text(json!({})) })))],
            vec![(mood.clone(), json!({ "type": "array", "description": "A list." }))],
            vec![(
                "/components/schemas/Gen2Pro/allOf".into(),
                json!([{ "$ref": "#/components/schemas/Gen2Pro" }]),
            )],
            vec![(mood.clone(), json!({ "$ref": "#/components/schemas/AsyncResponse" }))],
            vec![("/components/schemas/Gen2Pro/additionalProperties".into(), json!(true))],
            vec![("/components/schemas/Gen2Pro/x-not-shown".into(), json!(["Bounds of `width`"]))],
            vec![("/components/schemas/GenDev/x-not-shown".into(), json!(["Bounds of `wid`"]))],
            vec![("/components/schemas/GenDev/properties/guidance/default".into(), json!(3.5))],
            vec![("/components/schemas/GenDev/required".into(), json!(["prompt"]))],
            vec![(format!("{fill}/x-needs"), json!([{ "images": 3, "why": "More." }]))],
            vec![(format!("{pro}/x-kind"), json!("paint"))],
            vec![(format!("{pro}/x-needs"), json!([{ "any-of": ["promt"], "why": "A typo." }]))],
            vec![(format!("{pro}/x-needs"), json!([{ "any-of": ["prompt"], "why": "Required." }]))],
            vec![(format!("{pro}/x-needs"), json!([{ "images": 0, "why": "None." }]))],
            vec![(format!("{pro}/x-needs"), json!([{ "why": "Of what?" }]))],
            vec![(
                format!("{fill}/x-needs"),
                json!([{ "any-of": ["mask"], "unless-alpha-in": "prompt", "why": "Text." }]),
            )],
            vec![(format!("{pro}/x-max-reference-images"), json!(7))],
            vec![(format!("{pro}/x-scaled-to-megapixels"), json!(1))],
            vec![(format!("{pro}/x-not-accepted"), json!(["seed"]))],
            vec![(format!("{field}/seed/maximum"), json!(7))],
            vec![(format!("{fill}/{example}/image"), json!("not base64"))],
            vec![(format!("{fill}/{example}/mask"), json!(PIXEL))],
            vec![(format!("{ultra}/{example}/aspect_ratio"), json!("22:9"))],
            vec![(format!("{pro}/{example}/webhook_url"), json!("example.com"))],
            vec![(format!("{pro}/{example}/promt"), json!("a red fox"))],
            vec![(
                "/components/responses/Forbidden/content".into(),
                json!({ "text/plain": { "schema": { "type": "string" } } }),
            )],
            vec![
                (
                    "/components/schemas/One".into(),
                    object(json!({ "a": { "$ref": "#/components/schemas/Other" } })),
                ),
                (
                    "/components/schemas/Other".into(),
                    object(json!({ "b": { "$ref": "#/components/schemas/One" } })),
                ),
            ],
            vec![(
                format!("{webhook}/not"),
                json!({ "required": ["cost"], "properties": { "cost": {} } }),
            )],
            vec![(
                format!("{webhook}/not"),
                json!({ "required": ["other"], "properties": { "other": {} } }),
            )],
            vec![("/components/schemas/TaskStatus/x-success".into(), json!(["Done"]))],
            vec![
                ("/components/schemas/TaskStatus/x-success".into(), json!(["Ready"])),
                (
                    "/components/schemas/TaskStatus/x-extensible-enum".into(),
                    json!(["Ready", "ready"]),
                ),
            ],
            vec![(format!("{finetuned}/name"), json!("base-model"))],
            vec![(format!("{finetuned}/schema/pattern"), json!("^gen-[0-9]+"))],
            vec![("/components/schemas/PollResult/not".into(), json!({}))],
            vec![(
                "/components/schemas/PollResult/properties/status".into(),
                json!({
                    "allOf": [{ "$ref": "#/components/schemas/Nowhere" }],
                    "description": "Status.",
                }),
            )],
            vec![(
                "/components/schemas/TaskResult/properties/outer".into(),
                json!({
                    "allOf": [{ "$ref": "#/components/schemas/PollResult" }],
                    "description": "Itself.",
                }),
            )],
        ];
        let mut messages = vec![
            parse("{ \"openapi\": ").unwrap_err().to_string(),
            parse(r#"{ "info": { "title": "a", "title": "b\rc", "ti\u0000tle": "\u202ea" } }"#)
                .unwrap_err()
                .to_string(),
        ];
        for edits in breaks {
            let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
            let (pointer, value) = edits.last().unwrap().clone();
            edits.into_iter().for_each(|(pointer, value)| set(&mut document, &pointer, value));
            let faults = check(&document).expect_err(&format!("{pointer} = {value} was taken"));
            let faults = faults.to_string().replace('\n', "\n    ");
            messages.push(format!("{pointer} = {value}\n    {faults}"));
        }
        insta::assert_snapshot!(messages.join("\n\n"));
    }
}
