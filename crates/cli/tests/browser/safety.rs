//! Text stays text, and nothing is loaded from elsewhere.

use imagekiln_testbed::{Trial, browser::Browser};
use serde_json::json;

use super::fixture::{self, Fixture, HOSTILE, HOSTILE_JOB, Shared};

pub fn tests(fixture: &Shared) -> Vec<Trial> {
    vec![
        fixture::test(fixture, markup_in_texts_is_text),
        fixture::test(fixture, nothing_is_loaded_from_elsewhere_and_no_problems_are_logged),
        fixture::test(fixture, the_policy_blocks_other_scripts_and_hosts),
    ]
}

async fn markup_in_texts_is_text(browser: &Browser, _: &Fixture) {
    let shown = browser
        .run(&format!(
            "focusCard({HOSTILE_JOB});
             const card = document.querySelector('.job[data-index=\"{HOSTILE_JOB}\"]');
             card.querySelector('button').click();
             const texts = (within) => ['.name', '.prompt', '.reason']
                 .map((selector) => within.querySelector(selector).textContent);
             return [document.title, document.querySelector('h1').textContent,
                 ...texts(card), ...texts(document.querySelector('#detail-text')),
                 document.querySelector('#detail-picture').alt];",
        ))
        .await;
    // A browser collapses white space in the title.
    let title = shown[0].as_str().unwrap();
    assert!(title.starts_with("\"><img src=x"), "{title}");
    for text in &shown.as_array().unwrap()[1..] {
        assert_eq!(text, HOSTILE);
    }
    let made = browser
        .run(
            "return [window.caught, document.querySelectorAll('script:not([type])').length,
                document.querySelectorAll(
                    'h1 *, .name *, .prompt *, .reason *, .side dd *').length]",
        )
        .await;
    assert_eq!(made, json!([null, 1, 0]));
}

async fn nothing_is_loaded_from_elsewhere_and_no_problems_are_logged(
    browser: &Browser,
    fixture: &Fixture,
) {
    browser.click(".job:nth-child(2) button").await;
    browser.wait("document.querySelector('#detail-picture').src.startsWith('file:')").await;
    for _ in 0..3 {
        browser.click("#next").await;
    }
    browser.click("#close").await;
    browser.run("focusCard(999)").await;
    browser.wait("document.querySelector('.job:last-child img').complete").await;
    let requests = browser.requests().await;
    assert!(requests.iter().any(|request| request.contains("/pictures/")), "{requests:?}");
    for request in &requests {
        let is_local = request.starts_with("data:") || request.starts_with(&fixture.base());
        assert!(is_local, "{request}");
    }
    assert_eq!(browser.problems().await, Vec::<String>::new());
}

async fn the_policy_blocks_other_scripts_and_hosts(browser: &Browser, _: &Fixture) {
    browser
        .run(
            "window.blocked = [];
             addEventListener('securitypolicyviolation', (violation) =>
                 window.blocked.push(violation.effectiveDirective));
             const script = document.createElement('script');
             script.textContent = 'window.caught = 1';
             document.body.append(script);
             new Image().src = 'http://127.0.0.1:9/pixel.png';
             fetch('http://127.0.0.1:9/').catch(() => {});",
        )
        .await;
    browser.wait("window.blocked.length === 3").await;
    let seen = browser.run("return [window.caught, window.blocked.sort()]").await;
    assert_eq!(seen, json!([null, ["connect-src", "img-src", "script-src-elem"]]));
}
