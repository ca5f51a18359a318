//! A thumbnail can be enlarged, with the mouse and with the keyboard.

use imagekiln_testbed::{
    Trial,
    browser::{Browser, ENTER, ESCAPE, LEFT, RIGHT, TAB},
};
use serde_json::{Value, json};

use super::fixture::{self, DAMAGED_JOB, Fixture, LOST_JOB, Shared, VIDEO_JOB};

pub fn tests(fixture: &Shared) -> Vec<Trial> {
    vec![
        fixture::test(fixture, a_click_shows_the_thumbnail_and_then_the_file),
        fixture::test(fixture, the_keyboard_opens_turns_and_closes),
        fixture::test(fixture, next_and_previous_follow_the_filter_and_the_order),
        fixture::test(fixture, a_picture_without_a_file_stays_a_thumbnail),
        fixture::test(fixture, what_has_no_thumbnail_has_a_note),
    ]
}

/// Scrolls to a job and enlarges it. Returns what the script says then.
async fn enlarge(browser: &Browser, number: usize, then: &str) -> Value {
    let button = format!(".job[data-index='{number}'] button");
    browser
        .run(&format!("focusCard({number}); document.querySelector({button:?}).click(); {then}"))
        .await
}

async fn wait_for_name(browser: &Browser, name: &str) {
    let shown = "document.querySelector('dialog[open] #detail-text .name')?.textContent";
    browser.wait(&format!("{shown} === {name:?}")).await;
}

async fn a_click_shows_the_thumbnail_and_then_the_file(browser: &Browser, fixture: &Fixture) {
    let source = "return document.querySelector('#detail-picture').src.slice(0, 22)";
    let first = enlarge(browser, 12, source).await;
    assert_eq!(first, "data:image/jpeg;base64");
    wait_for_name(browser, "job-12").await;
    let source = browser
        .wait(
            "(({ naturalWidth, src }) =>
                 src.startsWith('file:') && naturalWidth === 288 && src
             )(document.querySelector('#detail-picture'))",
        )
        .await;
    assert!(source.as_str().unwrap().starts_with(&fixture.base()), "{source}");
    let detail = browser.run("return document.querySelector('dialog').innerText").await;
    for part in [
        "number 12: a fox in the snow",
        "gen-pro-1.1-ultra",
        "1.00 credits",
        "task-12",
        "288 × 594",
        "kiln again 'pictures/12'",
    ] {
        assert!(detail.as_str().unwrap().contains(part), "{detail}");
    }
    browser.click("#close").await;
    browser.wait("!document.querySelector('dialog').open").await;
}

async fn the_keyboard_opens_turns_and_closes(browser: &Browser, _: &Fixture) {
    browser.tab_to(".job button").await;
    browser.press(&[RIGHT, ENTER]).await;
    wait_for_name(browser, "job-1").await;
    browser.press(&[RIGHT]).await;
    wait_for_name(browser, "job-2").await;
    let announced = browser.run("return document.querySelector('#announcement').textContent").await;
    assert_eq!(announced, "job-2, saved");
    browser.press(&[LEFT, LEFT, LEFT]).await;
    wait_for_name(browser, "job-999").await;
    // Tab never moves the focus out of the dialog, except to the browser itself.
    for _ in 0..6 {
        browser.press(&[TAB]).await;
        let inside = "const at = document.activeElement;
             return at === document.body || document.querySelector('dialog').contains(at)";
        assert_eq!(browser.run(inside).await, true);
    }
    browser.press(&[ESCAPE]).await;
    browser.wait("!document.querySelector('dialog').open").await;
    // The focus is on the job that was shown last.
    browser.wait("document.activeElement.getAttribute('aria-label') === 'Show job-999'").await;
}

async fn next_and_previous_follow_the_filter_and_the_order(browser: &Browser, _: &Fixture) {
    browser
        .run(
            "const form = document.querySelector('#controls');
             form.elements.state.value = 'moderated';
             form.elements.sort.value = 'prompt';
             form.dispatchEvent(new Event('input'));
             document.querySelector('.job:not([hidden]) button').click();",
        )
        .await;
    wait_for_name(browser, "job-3").await;
    browser.click("#next").await;
    wait_for_name(browser, "job-43").await;
    let position = browser.run("return document.querySelector('#position').textContent").await;
    assert!(position.as_str().unwrap().starts_with("2 of "), "{position}");
    browser.click("#previous").await;
    wait_for_name(browser, "job-3").await;
}

async fn a_picture_without_a_file_stays_a_thumbnail(browser: &Browser, fixture: &Fixture) {
    std::fs::remove_file(fixture.file(14)).unwrap();
    enlarge(browser, 14, "").await;
    wait_for_name(browser, "job-14").await;
    // Another request for the file fails after that of the sheet.
    browser
        .run(
            "const image = new Image();
             image.addEventListener('error', () => { window.failed = true; });
             image.src = document.querySelector('#detail-text a').href",
        )
        .await;
    browser.wait("window.failed").await;
    let picture = "const { src, hidden } = document.querySelector('#detail-picture');
         return [src.slice(0, 5), hidden]";
    assert_eq!(browser.run(picture).await, json!(["data:", false]));
}

async fn what_has_no_thumbnail_has_a_note(browser: &Browser, _: &Fixture) {
    let cases = [
        (DAMAGED_JOB, "PNG file without a preview"),
        (VIDEO_JOB, "MP4 video"),
        (LOST_JOB, "the file was not found"),
    ];
    for (number, note) in cases {
        let texts = format!(
            "const button = document.querySelector(\".job[data-index='{number}'] button\");
             const shown = document.querySelector('#detail-note');
             const texts = [button.textContent, shown.textContent, shown.hidden];
             document.querySelector('dialog').close();
             return texts;"
        );
        let shown = enlarge(browser, number, &texts).await;
        assert_eq!(shown, json!([note, note, false]));
    }
}
