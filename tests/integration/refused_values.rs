//! Values and fields that the SDK refuses as the service does, with the same kinds of violations.
//! The property tests in `agreement` found these cases.

use serde_json::json;

use crate::limits::{violation, violations};
use imagekiln::{Request, find_operation, types::GenDev};

/// The kinds are those of the service.
#[test]
fn values_of_the_wrong_type_have_the_kind_that_the_service_reports() {
    for (field, value, kind) in [
        ("prompt", json!(7), "string_type"),
        ("prompt", json!(null), "string_type"),
        ("prompt_upsampling", json!("true"), "bool_parsing"),
        ("prompt_upsampling", json!(1), "bool_type"),
        ("width", json!("256"), "int_parsing"),
        ("width", json!(7.5), "int_from_float"),
        ("width", json!(null), "int_type"),
        ("guidance", json!("2"), "float_parsing"),
        ("guidance", json!([]), "float_type"),
        ("output_format", json!(7), "enum"),
        ("output_format", json!(null), "enum"),
        ("image_prompt", json!(7), "string_type"),
    ] {
        let request = Request::new(find_operation("gen-dev").unwrap()).field(field, value);
        assert_eq!(violations(request), violation(field, kind));
    }
}

/// JSON has one type of numbers.
#[test]
fn an_integer_may_be_written_with_a_decimal_point() {
    let width = |width: f64| Request::new(find_operation("gen-dev").unwrap()).field("width", width);
    assert_eq!(violations(width(256.0)), []);
    assert_eq!(violations(width(2048.0)), violation("width", "less_than_equal"));
}

#[test]
fn a_value_that_violates_two_limits_has_two_violations() {
    let both =
        |field: &str, kinds: [&str; 2]| kinds.map(|kind| (field.to_owned(), kind.to_owned()));
    let kinds = ["greater_than_equal", "multiple_of"];
    assert_eq!(violations(GenDev::new().width(33)), both("width", kinds));
    // As a floating-point number, it would be a multiple of 32.
    let kinds = ["less_than_equal", "multiple_of"];
    assert_eq!(violations(GenDev::new().width((1_i64 << 53) + 1)), both("width", kinds));
    let kinds = ["string_too_short", "url_parsing"];
    assert_eq!(violations(GenDev::new().webhook_url("")), both("webhook_url", kinds));
}

#[test]
fn fields_that_the_service_refuses_are_violations() {
    let refused = |operation: &str, name: &str, value: serde_json::Value| {
        violations(Request::new(find_operation(operation).unwrap()).field(name, value))
            .contains(&(name.to_owned(), "extra_forbidden".to_owned()))
    };
    for name in ["prompt", "mask"] {
        assert!(refused("gen-tools/deblur-v1", name, json!("a fox")));
        assert!(!refused("gen-tools/deblur-v1", name, json!(null)));
        assert!(!refused("gen-tools/vto-v1", name, json!("a fox")));
    }
    let url = "https://a.example/fox.png";
    for (operation, most) in [("gen-2-pro", 8), ("gen-2-klein-4b", 4), ("gen-kontext-pro", 4)] {
        assert!(!refused(operation, &format!("input_image_{most}"), json!(url)));
        assert!(refused(operation, &format!("input_image_{}", most + 1), json!(url)));
        assert!(!refused(operation, &format!("input_image_{}", most + 1), json!(null)));
        assert!(!refused(operation, "input_image_x", json!(url)));
        assert!(!refused(operation, "input_image_+9", json!(url)));
    }
    assert!(!refused("gen-dev", "input_image_9", json!(url)), "its maximum is not known");
}
