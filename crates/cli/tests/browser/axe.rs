//! axe finds no accessibility problems, in both colour schemes, on a wide and on a narrow screen.

use std::{fs, path::PathBuf};

use imagekiln_testbed::{
    Requirement, Trial,
    browser::{BROWSER, Browser},
};
use serde_json::json;

use super::fixture::{self, Fixture, Shared};

pub const AXE: Requirement = Requirement {
    name: "axe-core",
    is_present: || script().is_file(),
    advice: "npm install --no-save --prefix target/npm axe-core@4.14.1",
    variable: "IMAGEKILN_BROWSER_TESTS",
};

/// Where the advice above puts it.
fn script() -> PathBuf {
    let npm = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/npm/node_modules");
    PathBuf::from(npm).join("axe-core/axe.min.js")
}

pub fn tests(fixture: &Shared) -> Vec<Trial> {
    vec![fixture::test_with(&[BROWSER, AXE], fixture, axe_finds_nothing_on_the_sheet)]
}

pub async fn assert_accessible(browser: &Browser, place: &str) {
    let script = fs::read_to_string(script()).unwrap();
    browser.run(&format!("if (!window.axe) {{ {script} }}")).await;
    for (width, height) in [(1280, 800), (390, 844)] {
        browser.resize(width, height).await;
        for colours in ["light", "dark"] {
            browser.prefer(colours).await;
            // The driver awaits the promise.
            let problems = browser
                .run(
                    "return axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [
                        id,
                        nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
                    ]))",
                )
                .await;
            assert_eq!(problems, json!([]), "{place}, {width}, {colours}");
        }
    }
}

async fn axe_finds_nothing_on_the_sheet(browser: &Browser, _: &Fixture) {
    assert_accessible(browser, "the sheet").await;
    browser.click(".job button").await;
    assert_accessible(browser, "a job").await;
    browser.click("#close").await;
    browser
        .run(
            "document.querySelectorAll('.pick input').forEach((box, index) => {
        if (index < 2) box.click();
    })",
        )
        .await;
    assert_accessible(browser, "two chosen jobs").await;
    browser.click("#compare").await;
    assert_accessible(browser, "the comparison").await;
}
