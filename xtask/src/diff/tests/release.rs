//! The version that a release demands.

use std::{path::Path, process::ExitCode};

use semver::Version;

use super::report::{arguments, fixture};
use crate::diff::{
    Arguments, examine,
    load::{Listing, load},
    release::{demanded, version_in},
    rust_api::Effect::{self, Additive, Breaking, None},
};

fn version(text: &str) -> Version {
    text.parse().expect("not a version")
}

#[test]
fn the_effect_demands_a_version() {
    let cases: [(&str, Effect, &str); 6] = [
        ("0.1.2", Breaking, "0.2.0"),
        ("0.1.2", Additive, "0.1.3"),
        ("0.1.2", None, "0.1.3"),
        ("1.1.2", Breaking, "2.0.0"),
        ("1.1.2", Additive, "1.2.0"),
        ("1.1.2", None, "1.1.3"),
    ];
    for (released, effect, expected) in cases {
        assert_eq!(
            demanded(&version(released), effect),
            version(expected),
            "{released} {effect:?}"
        );
    }
}

/// The last line of the report on a release, for a workspace of this version.
fn verdict(other: &str, ours: &str, workspace: &str) -> (String, ExitCode) {
    let arguments = Arguments { released: Some(version("0.1.0")), ..arguments(other) };
    let ours = Listing { name: "openapi.json".into(), ..load(&fixture(ours)).expect("no fixture") };
    let (text, code) =
        examine(&arguments, &ours, version(workspace)).expect("could not compare the documents");
    (text.lines().last().unwrap_or_default().to_owned(), code)
}

#[test]
fn the_version_of_the_workspace_is_checked() {
    let too_low = "The version 0.1.5 of the workspace is too low: set it to 0.2.0 or higher in \
                   Cargo.toml";
    assert_eq!(verdict("theirs.json", "ours.json", "0.1.5"), (too_low.into(), ExitCode::from(1)));
    for workspace in ["0.2.0", "0.2.0-rc.1", "0.2.1", "1.0.0"] {
        let enough = format!("The version {workspace} of the workspace is high enough");
        let found = verdict("theirs.json", "ours.json", workspace);
        assert_eq!(found, (enough, ExitCode::SUCCESS));
    }
    let enough = "The version 0.1.0 of the workspace is high enough";
    assert_eq!(verdict("ours.json", "ours.json", "0.1.0"), (enough.into(), ExitCode::SUCCESS));
    let (_, code) = verdict("ours.json", "ours.json", "0.0.9");
    assert_eq!(code, ExitCode::from(1));
}

#[test]
fn a_release_is_compared_from_the_older_document() {
    let arguments = Arguments { released: Some(version("0.1.0")), ..arguments("theirs.json") };
    let ours = load(&fixture("ours.json")).expect("no fixture");
    let (text, _) = examine(&arguments, &ours, version("0.1.0")).expect("could not compare");
    assert!(text.contains("removed: operation [gen-new]"), "{text}");
    assert!(text.contains("added: operation [gen-old]"), "{text}");
}

/// The type of the field is not in what the documents have in common with those of providers.
#[test]
fn generated_types_are_compared() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let mut ours = load(&path).expect("could not read openapi.json");
    let fields = "/components/schemas/GenKontextPro/properties/input_image";
    let field = ours.document.pointer_mut(fields).and_then(|field| field.as_object_mut());
    field.expect("no field").remove("x-image");
    let arguments =
        Arguments { other: path, released: Some(version("0.1.0")), ..arguments("theirs.json") };
    let (text, _) = examine(&arguments, &ours, version("0.1.0")).expect("could not compare");
    let line = "Rust breaking  input_image: type: Option<ImageInput> -> Option<String>";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("set it to 0.2.0 or higher"), "{text}");
}

#[test]
fn the_version_is_read_from_the_manifest() {
    let manifest = "[package]\nversion = \"9.9.9\"\n\n[workspace.package]\nedition = \"2024\"\n\
                    version = \"0.3.1-rc.1\" # next\n\n[dependencies]\nversion = \"7\"\n";
    assert_eq!(version_in(manifest).expect("no version"), version("0.3.1-rc.1"));
    let message = |manifest: &str| format!("{:#}", version_in(manifest).expect_err("accepted"));
    let missing = "[workspace.package]\n[package]\nversion = \"1.0.0\"";
    assert_eq!(message(missing), "`version` of `[workspace.package]` is missing");
    let wrong = message("[workspace.package]\nversion = \"1\"");
    assert!(wrong.starts_with("`1` is not a version"), "{wrong}");
}
