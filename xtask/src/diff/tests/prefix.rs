//! The mapping of model names.

use clap::Parser;
use serde_json::{Value, json};

use super::{comparison, described, service};
use crate::diff::{Arguments, prefix::Prefix};

fn prefix(text: &str) -> Prefix {
    text.parse().expect("not a prefix")
}

#[test]
fn the_first_segment_of_a_path_is_mapped() {
    let prefix = prefix("xyz=gen");
    let mapped = [
        ("/v1/xyz-2-pro", "/v1/gen-2-pro"),
        ("/v1/xyz-tools/deblur-v1", "/v1/gen-tools/deblur-v1"),
        ("/v1/xyz-{size}-finetuned", "/v1/gen-{size}-finetuned"),
        ("/v1/xyz", "/v1/xyz"),
        ("/v1/xyzzy-2", "/v1/xyzzy-2"),
        ("/v1/tools/xyz-2", "/v1/tools/xyz-2"),
        ("/v2/xyz-2", "/v2/xyz-2"),
        ("/v1/{base_model}-finetuned", "/v1/{base_model}-finetuned"),
    ];
    for (theirs, ours) in mapped {
        assert_eq!(prefix.path(theirs), ours);
    }
}

#[derive(clap::Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// The error of the command line for these arguments.
fn refusal(arguments: &[&str]) -> String {
    let arguments = ["diff", "other.json"].iter().chain(arguments);
    match Command::try_parse_from(arguments) {
        Ok(command) => panic!("{:?} was accepted", command.arguments.prefix),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_malformed_argument_is_refused() {
    for (text, expected) in [
        ("xyz", "expected THEIRS=OURS, for example xyz=gen"),
        ("=gen", "the prefix before `=` is empty"),
        ("xyz=", "the prefix after `=` is empty"),
        ("xyz=a=b", "`a=b` is not a model name prefix"),
        ("xyz-=gen", "`xyz-` is not a model name prefix"),
        ("/v1/xyz=gen", "`/v1/xyz` is not a model name prefix"),
    ] {
        let message = refusal(&["--prefix", text]);
        assert!(message.contains(expected), "{message}");
    }
    let message = refusal(&["--prefix", "xyz=gen", "--released", "0.1.0"]);
    assert!(message.contains("cannot be used with"), "{message}");
}

fn with(path: &str, model: &Value) -> Value {
    let parameter = json!({ "name": "base_model", "in": "path", "schema": model });
    service(json!({
        path: { "post": {} },
        "/v1/{base_model}-finetuned": { "post": { "parameters": [parameter] } },
    }))
}

#[test]
fn the_other_listing_is_read_with_our_names() {
    let ours = with("/v1/gen-2", &json!({ "enum": ["gen-2", "gen-3"], "default": "gen-2" }));
    let theirs = with("/v1/xyz-2", &json!({ "enum": ["xyz-3", "xyz-2"], "default": "xyz-2" }));
    let found = comparison(&ours, &theirs, Some(&prefix("xyz=gen")), false);
    assert_eq!(described(&found.expect("could not compare").differences), []);
}

#[test]
fn a_prefix_without_effect_is_an_error() {
    let ours = with("/v1/gen-2", &json!({}));
    let error = comparison(&ours, &ours, Some(&prefix("xyz=gen")), false).expect_err("accepted");
    let expected = "theirs.json: no path starts with /v1/xyz-: check --prefix";
    assert_eq!(format!("{error:#}"), expected);
}
