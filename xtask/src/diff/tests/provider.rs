//! The report for the listing of a provider, as a web framework generates it.

use std::path::Path;

use semver::Version;

use super::report::arguments;
use crate::diff::{Arguments, examine, load::load};

#[test]
fn the_report_fits_on_one_screen() {
    let provider = Arguments {
        prefix: Some("xyz=gen".parse().expect("not a prefix")),
        only_common: true,
        ..arguments("provider.yaml")
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let mut ours = load(&path).expect("could not read openapi.json");
    ours.name = "openapi.json".into();
    let (text, _) =
        examine(&provider, &ours, Version::new(0, 1, 0)).expect("could not compare the listings");
    let text = text.replace(&provider.other.display().to_string(), "provider.yaml");
    assert!(text.lines().count() <= 50, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
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
