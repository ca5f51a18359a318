//! The contract and its code generator, the one that `build.rs` runs.

use anyhow::{Context, Result};

use crate::repository::CONTRACT;

/// The SDK's own generator, from the same source files, so that its output is the same as in the
/// build.
#[path = "../../build/mod.rs"]
mod generator;

pub use self::generator::{METHODS, Place, capitalized};

/// The contract at the time xtask was built.
#[cfg(test)]
pub const DOCUMENT: &str = include_str!("../../openapi.json");

/// Generates code from a document.
pub fn generate(document: &str) -> Result<String> {
    let options = generator::Options { json_schema: false };
    generator::generate(document, &options)
        .with_context(|| format!("could not generate code from {CONTRACT}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The build errors for invalid documents. Each message contains the location.
    #[test]
    fn a_fault_of_the_document_is_named_with_its_place() {
        let field = "/components/schemas/Gen2Pro/properties";
        let breaks: [(&str, Value); 14] = [
            ("/openapi", json!("3.1.0")),
            ("/paths/~1v1~1gen-2-pro/post/operationId", json!("gen-2-pro")),
            ("/paths/~1v1~1gen-2-pro/post/operationId", json!("gen_dev")),
            ("/paths/~1v1~1gen-pro-1.0-fill-finetuned/post/x-region", json!("eu")),
            (
                "/paths/~1v1~1gen-2-pro/post/requestBody/content/application~1json/schema/$ref",
                json!("#/components/schemas/Nowhere"),
            ),
            (&format!("{field}/width/minimum"), json!("64")),
            (&format!("{field}/safety_tolerance/maximum"), json!(-1)),
            (&format!("{field}/seed/type"), json!("array")),
            (
                &format!("{field}/prompt"),
                json!({ "type": "string", "description": "Text.", "pattern": "^a" }),
            ),
            (&format!("{field}/input_image/x-image"), json!("jpeg")),
            ("/components/schemas/Gen3Video/properties/mode/enum", json!(["fast", "high"])),
            ("/components/schemas/OutputFormat/enum", json!(["png", "Png"])),
            ("/components/schemas/Gen2Pro/required", json!(["prompt", "colour"])),
            (
                "/components/schemas/PollResult/properties/status",
                json!({ "$ref": "#/components/schemas/Nowhere" }),
            ),
        ];
        let mut messages = vec![format!("{:#}", generate("{ \"openapi\": ").unwrap_err())];
        for (pointer, value) in breaks {
            let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
            *document.pointer_mut(pointer).unwrap() = value.clone();
            let error = generate(&document.to_string())
                .expect_err(&format!("{pointer} = {value} was taken"));
            messages.push(format!("{pointer} = {value}\n    {error:#}"));
        }
        insta::assert_snapshot!(messages.join("\n\n"));
    }
}
