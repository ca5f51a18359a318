//! The reports for people and programs, for sample listings.

use std::{path::Path, process::ExitCode};

use clap::Parser;
use semver::Version;
use serde_json::{Value, json};

use super::{compare, service};
use crate::diff::{Arguments, examine, load::Listing, load::load, prefix::Prefix, report};

#[derive(clap::Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// Runs the command in the folder of the fixtures. The arguments are separated by spaces.
fn run_with(ours: Listing, arguments: &str, workspace: &str) -> anyhow::Result<(String, ExitCode)> {
    let words = std::iter::once("diff").chain(arguments.split(' '));
    let Command { mut arguments } = Command::try_parse_from(words)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diff/fixtures");
    let name = arguments.other.display().to_string();
    arguments.other = folder.join(&name);
    let (text, code) = examine(&arguments, &ours, Version::parse(workspace).unwrap())?;
    // The path of a file depends on the machine.
    Ok((text.replace(&arguments.other.display().to_string(), &name), code))
}

fn listing(path: &str) -> Listing {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listing = load(&folder.join(path)).expect("no document");
    Listing { name: path.rsplit('/').next().unwrap().to_owned(), ..listing }
}

/// The report on the differences from the fixture `ours.json`.
fn run(arguments: &str) -> (String, ExitCode) {
    run_with(listing("src/diff/fixtures/ours.json"), arguments, "0.1.0").expect("could not compare")
}

#[test]
fn people_read_one_line_for_each_change() {
    let (text, code) = run("theirs.json");
    assert_eq!(code, ExitCode::from(1));
    insta::assert_snapshot!(text);
    assert_eq!(run("ours.json"), ("No differences.\n".to_owned(), ExitCode::SUCCESS));
}

#[test]
fn programs_read_json() {
    let (text, code) = run("theirs.json --json");
    assert_eq!(code, ExitCode::from(1));
    let mut read: Value = serde_json::from_str(&text).expect("the report is not JSON");
    let differences = read["differences"].take();
    let expected = json!({
        "from": "ours.json",
        "to": "theirs.json",
        "breaking": 7,
        "compatible": 6,
        "operations": { "common": 3, "only_from": 1, "only_to": 1 },
        "release": { "from": "0.1.0", "demanded": "0.2.0", "rust": "breaking", "workspace": null },
        "differences": null,
    });
    assert_eq!(read, expected);
    assert_eq!(
        differences[0],
        json!({
            "operations": ["GET /v1/get_result"],
            "place": "200.result.sample",
            "change": "changed",
            "aspect": "required",
            "from": "true",
            "to": "false",
            "mark": "breaking",
            "rust": "breaking",
        })
    );
}

#[test]
fn only_common_operations_are_compared_on_request() {
    let (text, _) = run("theirs.json --only-common");
    assert!(!text.contains("added: operation") && !text.contains("removed: operation"), "{text}");
    let counts = "3 operations compared; 1 only in ours.json, 1 only in theirs.json\n";
    assert!(text.contains(counts), "{text}");
    let (text, code) = run("ours.json --only-common");
    assert!(text.ends_with("0 only in ours.json, 0 only in ours.json\n"), "{text}");
    assert_eq!(code, ExitCode::SUCCESS);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let message = |arguments: &str| {
        let ours = Listing { name: "ours.json".into(), document: service(json!({})) };
        format!("{:#}", run_with(ours, arguments, "0.1.0").expect_err("accepted"))
    };
    for (arguments, expected) in [
        ("nowhere.json", "could not read "),
        ("broken.json", "broken.json: expected `,` or `}` at line 3 column 3"),
        ("theirs.json --only-common", "have no operation in common: use --prefix"),
        ("theirs.json --prefix xyz", "expected THEIRS=OURS, for example xyz=gen"),
        ("theirs.json --prefix =gen", "the prefix before `=` is empty"),
        ("theirs.json --prefix xyz=", "the prefix after `=` is empty"),
        ("theirs.json --prefix xyz=a=b", "`a=b` is not a model name prefix"),
        ("theirs.json --prefix xyz-=gen", "`xyz-` is not a model name prefix"),
        ("theirs.json --prefix /v1/xyz=gen", "`/v1/xyz` is not a model name prefix"),
        ("theirs.json --prefix xyz=gen --released 0.1.0", "cannot be used with"),
    ] {
        assert!(message(arguments).contains(expected), "{}", message(arguments));
    }
}

#[test]
fn the_first_segment_of_a_path_is_mapped() {
    let prefix: Prefix = "xyz=gen".parse().unwrap();
    for (theirs, ours) in [
        ("/v1/xyz-2-pro", "/v1/gen-2-pro"),
        ("/v1/xyz-tools/deblur-v1", "/v1/gen-tools/deblur-v1"),
        ("/v1/xyz-{size}-finetuned", "/v1/gen-{size}-finetuned"),
        ("/v1/xyz", "/v1/xyz"),
        ("/v1/xyzzy-2", "/v1/xyzzy-2"),
        ("/v1/tools/xyz-2", "/v1/tools/xyz-2"),
        ("/v2/xyz-2", "/v2/xyz-2"),
        ("/v1/{base_model}-finetuned", "/v1/{base_model}-finetuned"),
    ] {
        assert_eq!(prefix.path(theirs), ours);
    }
}

#[test]
fn names_do_not_control_the_terminal() {
    let ours = Listing { name: "a\u{1b}[31m".into(), document: service(json!({})) };
    let (text, _) = run_with(ours, "ours.json", "0.1.0").expect("could not compare");
    assert!(text.starts_with("Changes from a?[31m to "), "{text}");
}

/// The listing of a provider, as a web framework generates it.
#[test]
fn the_report_on_a_provider_fits_on_one_screen() {
    let arguments = "provider.yaml --prefix xyz=gen --only-common";
    let (text, _) = run_with(listing("../openapi.json"), arguments, "0.1.0").unwrap();
    assert!(text.lines().count() <= 50, "{text}");
    // The report also has every other difference from the contract, which may change.
    for line in [
        "  Rust breaking  removed: body.disable_pup (optional, boolean) [gen-2-pro]",
        "  Rust none      body.guidance: minimum: 1.5 -> above 1.5 [gen-dev]",
        "  Rust none      servers: none -> https://api.xyz.example [all 13 operations]",
        "  Rust additive  body.output_format: enum: + \"avif\" [all except GET get_result]",
        "  Rust none      authentication: key in header x-key -> none [GET get_result]",
        "A release with these changes demands 0.2.0 (from 0.1.0): the Rust API breaks",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
    }
}

/// A service whose operations have these bodies.
fn with_bodies(bodies: &[(String, Value)]) -> Value {
    let operation = |(name, schema): &(String, Value)| {
        let content = json!({ "application/json": { "schema": schema } });
        (format!("/v1/{name}"), json!({ "post": { "requestBody": { "content": content } } }))
    };
    service(bodies.iter().map(operation).collect())
}

/// The lines for operations `gen-00` to `gen-29`, of which the first ones differ in two fields.
fn lines(different: usize) -> Vec<String> {
    let schema = |maximum: u32| {
        let bounded = json!({ "type": "integer", "maximum": maximum });
        json!({ "properties": { "steps": bounded, "width": bounded } })
    };
    let bodies = |maximum: u32| -> Vec<_> {
        let maximum = |index| if index < different { maximum } else { 9 };
        (0..30).map(|index| (format!("gen-{index:02}"), schema(maximum(index)))).collect()
    };
    let found = compare(&with_bodies(&bodies(9)), &with_bodies(&bodies(8)));
    let common: Vec<_> = (0..30).map(|index| format!("POST /v1/gen-{index:02}")).collect();
    let groups = report::groups(&found);
    report::rows(&groups).iter().map(|row| report::line(row, &common)).collect()
}

#[test]
fn a_change_in_many_operations_is_one_line() {
    let change = "Rust none      body.steps, body.width: maximum: 9 -> 8";
    assert_eq!(lines(30), [format!("{change} [all 30 operations]")]);
    assert_eq!(lines(28), [format!("{change} [all except gen-28, gen-29]")]);
    assert_eq!(lines(20), [format!("{change} [gen-00, gen-01, gen-02 and 17 more]")]);
    assert_eq!(lines(5), [format!("{change} [gen-00, gen-01, gen-02 and 2 more]")]);
    assert_eq!(lines(4), [format!("{change} [gen-00, gen-01, gen-02, gen-03]")]);
    assert_eq!(lines(1), [format!("{change} [gen-00]")]);
}

#[test]
fn an_enumeration_shows_only_what_changed() {
    let of = |values: &[&str]| with_bodies(&[("a".to_owned(), json!({ "enum": values }))]);
    let found = compare(&of(&["a, b", "c", "d"]), &of(&["c", "d", "e"]));
    let groups = report::groups(&found);
    let line = report::line(&report::rows(&groups)[0], &[]);
    assert_eq!(line, r#"Rust breaking  body: enum: - "a, b", + "e" [a]"#);
}

#[test]
fn a_release_demands_a_version() {
    // The effects of the differences are breaking, additive and none.
    let stable = json!({ "type": "integer", "maximum": 9 });
    let of = |schema: Value| Listing {
        name: "openapi.json".to_owned(),
        document: with_bodies(&[("a".to_owned(), json!({ "properties": { "f": schema } }))]),
    };
    let folder = tempfile::tempdir().unwrap();
    let older = folder.path().join("older.json");
    std::fs::write(&older, of(stable.clone()).document.to_string()).unwrap();
    let verdict = |ours: &Value, released: &str, workspace: &str| {
        let arguments = format!("{} --released {released}", older.display());
        let (text, code) = run_with(of(ours.clone()), &arguments, workspace).unwrap();
        let is_enough = code == ExitCode::SUCCESS;
        let line = text.lines().last().unwrap().to_owned();
        assert_eq!(line.ends_with("is high enough"), is_enough, "{line}");
        line
    };
    let breaking = json!({ "type": "string" });
    let additive = json!({ "type": "integer", "maximum": 9, "deprecated": true });
    let none = json!({ "type": "integer", "maximum": 8 });
    for (ours, released, demanded) in [
        (&breaking, "0.1.2", "0.2.0"),
        (&additive, "0.1.2", "0.1.3"),
        (&none, "0.1.2", "0.1.3"),
        (&breaking, "1.1.2", "2.0.0"),
        (&additive, "1.1.2", "1.2.0"),
        (&none, "1.1.2", "1.1.3"),
        (&stable, "0.1.2", "0.1.2"),
    ] {
        let expected = format!(
            "The version 0.1.0 of the workspace is too low: set it to {demanded} or higher in \
             Cargo.toml"
        );
        assert_eq!(verdict(ours, released, "0.1.0"), expected);
        for enough in [demanded, &format!("{demanded}-rc.1"), "7.0.0"] {
            let expected = format!("The version {enough} of the workspace is high enough");
            assert_eq!(verdict(ours, released, enough), expected);
        }
    }
}

#[test]
fn a_release_is_compared_from_the_older_document() {
    let (text, _) = run("theirs.json --released 0.1.0");
    assert!(text.contains("removed: operation [gen-new]"), "{text}");
    assert!(text.contains("added: operation [gen-old]"), "{text}");
}

/// The type of the field is not in what the documents have in common with those of providers.
#[test]
fn the_generated_types_of_a_release_are_compared() {
    let mut ours = listing("../openapi.json");
    let fields = "/components/schemas/GenKontextPro/properties/input_image";
    let field = ours.document.pointer_mut(fields).and_then(|field| field.as_object_mut());
    field.expect("no field").remove("x-image");
    let arguments = "../../../../openapi.json --released 0.1.0";
    let (text, _) = run_with(ours, arguments, "0.1.0").unwrap();
    let line = "Rust breaking  input_image: type: Option<ImageInput> -> Option<String>";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("set it to 0.2.0 or higher"), "{text}");
}
