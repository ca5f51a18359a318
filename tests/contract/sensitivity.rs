//! Tests that the comparison reports every change of the document, and nothing else.

use serde_json::{Value, json};

use crate::{compare, openapi};

/// Returns the differences that a change of the document adds.
fn reported_after(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut document = openapi();
    let before = compare(&document);
    change(&mut document);
    compare(&document).into_iter().filter(|line| !before.contains(line)).collect()
}

fn at<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Value {
    document.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} does not exist"))
}

#[test]
fn a_changed_bound_is_reported() {
    let found = reported_after(|document| {
        *at(document, "/components/schemas/GenPro10Fill/properties/guidance/minimum") = json!(1.6);
    });
    assert_eq!(
        found,
        ["/v1/gen-pro-1.0-fill guidance: minimum: the listing says `1.5`, the document says `1.6`"]
    );
}

#[test]
fn a_changed_default_is_reported() {
    let found = reported_after(|document| {
        *at(document, "/components/schemas/GenToolsDeblurV1/properties/output_format/default") =
            json!("jpeg");
    });
    assert_eq!(
        found,
        [concat!(
            r#"/v1/gen-tools/deblur-v1 output_format: default: "#,
            r#"the listing says `"png"`, the document says `"jpeg"`"#,
        )]
    );
}

#[test]
fn a_changed_required_flag_is_reported() {
    let found = reported_after(|document| {
        at(document, "/components/schemas/GenKontextPro")["required"] = json!(["prompt"]);
    });
    assert_eq!(
        found,
        ["/v1/gen-kontext-pro prompt: required: the listing says `no`, the document says `yes`"]
    );
}

#[test]
fn a_changed_nullability_is_reported() {
    let found = reported_after(|document| {
        at(document, "/components/schemas/GenPro10FillFinetuned/properties/mask")["nullable"] =
            json!(false);
    });
    assert_eq!(
        found,
        [concat!(
            "/v1/gen-pro-1.0-fill-finetuned mask: nullable: ",
            "the listing says `yes`, the document says `no`",
        )]
    );
}

#[test]
fn a_dropped_field_is_reported() {
    let found = reported_after(|document| {
        let properties = at(document, "/components/schemas/GenPro11Ultra/properties");
        properties.as_object_mut().expect("properties").remove("raw");
    });
    assert_eq!(found, ["/v1/gen-pro-1.1-ultra raw: in the listing, not in the document"]);
}

#[test]
fn an_added_field_is_reported() {
    let found = reported_after(|document| {
        at(document, "/components/schemas/Gen3Video/properties")["duration"] =
            json!({ "type": "integer" });
    });
    assert_eq!(found, ["/v1/gen-3-video duration: in the document, not in the listing"]);
}

#[test]
fn an_added_restriction_is_reported() {
    let found = reported_after(|document| {
        at(document, "/components/schemas/GenPro11Ultra/properties/prompt")["pattern"] =
            json!("fox");
    });
    assert_eq!(
        found,
        [concat!(
            "/v1/gen-pro-1.1-ultra prompt: other keywords: ",
            "the listing says `-`, the document says `pattern`",
        )]
    );
}

#[test]
fn a_dropped_deprecation_is_reported() {
    let found = reported_after(|document| {
        *at(document, "/paths/~1v1~1finetune/post/deprecated") = json!(false);
    });
    assert_eq!(
        found,
        ["POST /v1/finetune: deprecated: the listing says `yes`, the document says `no`"]
    );
}

#[test]
fn a_changed_response_field_is_reported() {
    let found = reported_after(|document| {
        *at(document, "/components/schemas/TaskResult/properties/sample/type") = json!("object");
    });
    assert_eq!(
        found,
        ["PollResult result.sample: type: the listing says `string`, the document says `object`"]
    );
}
