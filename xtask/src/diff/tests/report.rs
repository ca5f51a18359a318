//! The reports for sample listings.

use std::path::Path;

use clap::Parser;
use serde_json::json;

use super::service;
use crate::diff::{
    Arguments,
    compare::{Change, Difference},
    examine,
    load::{Listing, load},
    prefix::Prefix,
    report,
};

#[derive(clap::Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// Runs the command in the folder of the fixtures. The arguments are separated by spaces.
fn run_with(ours: Listing, arguments: &str) -> anyhow::Result<(String, bool)> {
    let words = std::iter::once("diff").chain(arguments.split(' '));
    let Command { mut arguments } = Command::try_parse_from(words)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diff/fixtures");
    arguments.other = arguments.other.map(|name| folder.join(name));
    let (text, code) = examine(&arguments, &ours)?;
    // The path of a file depends on the machine.
    Ok((text.replace(&format!("{}/", folder.display()), ""), code))
}

fn listing(path: &str) -> Listing {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listing = load(&folder.join(path)).expect("no document");
    Listing { name: path.rsplit('/').next().unwrap().to_owned(), ..listing }
}

/// The report on the differences from the fixture `ours.json`.
fn run(arguments: &str) -> (String, bool) {
    run_with(listing("src/diff/fixtures/ours.json"), arguments).expect("could not compare")
}

#[test]
fn people_read_one_line_for_each_change() {
    let (text, code) = run("theirs.json");
    assert!(code);
    insta::assert_snapshot!(text);
    assert_eq!(run("ours.json"), ("No differences.\n".to_owned(), false));
}

#[test]
fn only_common_operations_are_compared_on_request() {
    let (text, _) = run("theirs.json --only-common");
    assert!(!text.contains("added: operation") && !text.contains("removed: operation"), "{text}");
    let counts = "3 operations compared; 1 only in ours.json, 1 only in theirs.json\n";
    assert!(text.contains(counts), "{text}");
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let message = |arguments: &str| {
        let ours = Listing { name: "ours.json".into(), document: service(json!({})) };
        format!("{:#}", run_with(ours, arguments).expect_err("accepted"))
    };
    for (arguments, expected) in [
        ("nowhere.json", "could not read "),
        ("broken.json", "broken.json: expected `,` or `}` at line 3 column 3"),
        ("theirs.json --only-common", "have no operation in common: use --prefix"),
        ("theirs.json --against HEAD", "cannot be used with"),
    ] {
        assert!(message(arguments).contains(expected), "{}", message(arguments));
    }
    for prefix in ["xyz", "=gen", "xyz=", "xyz=a=b", "xyz-=gen", "/v1/xyz=gen"] {
        let message = message(&format!("theirs.json --prefix {prefix}"));
        assert!(message.contains("expected THEIRS=OURS, for example xyz=gen"), "{message}");
    }
}

#[test]
fn a_git_revision_is_the_earlier_document() {
    let mut ours = listing("../openapi.json");
    let steps = &mut ours.document["components"]["schemas"]["Gen2Flex"]["properties"]["steps"];
    steps["maximum"] = 70.into();
    let (text, code) = run_with(ours, "--against HEAD").unwrap();
    assert!(code && text.starts_with("Changes from HEAD:openapi.json to openapi.json\n"), "{text}");
    assert!(text.contains("  body.steps: maximum: 50 -> 70 [gen-2-flex]\n"), "{text}");
    let ours = listing("../openapi.json");
    let error = run_with(ours, "--against no-such-revision").expect_err("accepted");
    assert!(error.to_string().contains("no-such-revision:openapi.json"), "{error}");
}

#[test]
fn the_first_segment_of_a_path_is_mapped() {
    let prefix: Prefix = "xyz=gen".parse().unwrap();
    for (theirs, ours) in [
        ("/v1/xyz-2-pro", "/v1/gen-2-pro"),
        ("/v1/xyz-tools/deblur-v1", "/v1/gen-tools/deblur-v1"),
        ("/v1/xyz", "/v1/xyz"),
        ("/v1/xyzzy-2", "/v1/xyzzy-2"),
        ("/v1/tools/xyz-2", "/v1/tools/xyz-2"),
        ("/v1/{base_model}-finetuned", "/v1/{base_model}-finetuned"),
    ] {
        assert_eq!(prefix.path(theirs), ours);
    }
}

#[test]
fn names_do_not_control_the_terminal() {
    let ours = Listing { name: "a\u{1b}[31m".into(), document: service(json!({})) };
    let (text, _) = run_with(ours, "ours.json").expect("could not compare");
    assert!(text.starts_with("Changes from a?[31m to "), "{text}");
}

/// The listing of a provider, as a web framework generates it.
#[test]
fn the_report_on_a_provider_fits_on_one_screen() {
    let arguments = "provider.yaml --prefix xyz=gen --only-common";
    let (text, _) = run_with(listing("../openapi.json"), arguments).unwrap();
    assert!(text.lines().count() <= 50, "{text}");
    // The report also has every other difference from the contract, which may change.
    for line in [
        "  removed: body.disable_pup (optional, boolean) [gen-2-pro]",
        "  body.guidance: minimum: 1.5 -> above 1.5 [gen-dev]",
        "  servers: none -> https://api.xyz.example [all 13 operations]",
        "  body.output_format: enum: + \"avif\" [all except GET get_result]",
        "  authentication: key in header x-key -> none [GET get_result]",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
    }
}

/// The line for a change in the first operations of 30.
fn line_of(count: usize) -> String {
    let names: Vec<_> = (0..30).map(|index| format!("POST /v1/gen-{index:02}")).collect();
    let [from, to] = ["9", "8"].map(str::to_owned);
    let change = Change::Changed { aspect: "maximum", from, to };
    let (operations, place) = (names[..count].to_vec(), "body.steps".to_owned());
    report::line(&[&Difference { operations, place, change, is_breaking: true }], &names)
}

#[test]
fn a_change_in_many_operations_is_one_line() {
    let change = "body.steps: maximum: 9 -> 8";
    assert_eq!(line_of(30), format!("{change} [all 30 operations]"));
    assert_eq!(line_of(28), format!("{change} [all except gen-28, gen-29]"));
    assert_eq!(line_of(20), format!("{change} [gen-00, gen-01, gen-02 and 17 more]"));
    assert_eq!(line_of(4), format!("{change} [gen-00, gen-01, gen-02, gen-03]"));
    assert_eq!(line_of(1), format!("{change} [gen-00]"));
}
