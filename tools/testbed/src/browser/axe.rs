//! axe: what it finds on a page, in both colour schemes, on a wide and on a narrow screen.

use std::{fs, path::PathBuf};

use serde_json::json;

use super::Browser;
use crate::Requirement;

/// The linter of pages.
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

/// The rules that are broken, and the elements, as a promise that the driver awaits. The page has
/// the new size and colours after two frames.
const PROBLEMS: &str = "
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    return frame().then(frame).then(() => axe.run()).then(({ violations }) =>
        violations.map(({ id, nodes }) => [
            id,
            nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
        ]),
    )";

/// Asserts that axe finds no accessibility problems. `place` names what is shown.
pub async fn assert_accessible(browser: &Browser, place: &str) {
    let script = fs::read_to_string(script()).unwrap();
    browser.run(&format!("if (!window.axe) {{ {script} }}")).await;
    for (width, height) in [(1280, 800), (390, 844)] {
        browser.resize(width, height).await;
        for colours in ["light", "dark"] {
            browser.prefer(colours).await;
            let problems = browser.run(PROBLEMS).await;
            assert_eq!(problems, json!([]), "{place}, {width}, {colours}");
        }
    }
}
