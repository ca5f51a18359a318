//! axe finds no accessibility problems, in both colour schemes, on a wide and on a narrow screen.

use imagekiln_testbed::{
    Trial,
    browser::{AXE, BROWSER, Browser, assert_accessible},
};

use super::fixture::{self, Fixture, Shared};

pub fn tests(fixture: &Shared) -> Vec<Trial> {
    vec![fixture::test_with(&[BROWSER, AXE], fixture, axe_finds_nothing_on_the_sheet)]
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
