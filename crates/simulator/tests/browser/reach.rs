//! The page works with the keyboard alone, and on a narrow screen.

use std::time::Duration;

use serde_json::json;

use imagekiln_simulator::Config;
use imagekiln_testbed::{
    Trial,
    browser::{ENTER, ESCAPE, TAB},
};

use super::{
    bench::small,
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(Config::default(), the_keyboard_reaches_sections_and_a_tasks_detail),
        stage::test(Config::default(), a_narrow_screen_scrolls_only_downwards_and_cuts_nothing),
        stage::test(Config::default(), a_narrow_screen_starts_with_the_tasks),
    ]
}

async fn the_keyboard_reaches_sections_and_a_tasks_detail(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    let body = small("a fox");
    bench.submit("/v1/gen-2-pro", &body).await;
    bench.sim.clock().advance(Duration::from_secs(1));
    browser.wait("document.querySelector('.card img')").await;

    browser.press(&[TAB]).await;
    let focused = browser.run("return document.activeElement.textContent").await;
    assert_eq!(focused, "Skip to the content");
    browser.tab_to("nav a[href='#/clock']").await;
    browser.press(&[ENTER]).await;
    browser
        .wait(
            "document.activeElement.textContent === 'Clock'
                && document.activeElement.matches('h2')",
        )
        .await;
    let current = browser.run("return document.querySelector('[aria-current]').textContent");
    assert_eq!(current.await, "Clock");

    browser.run("document.activeElement.blur(); location.hash = '#/tasks'").await;
    browser.wait("document.activeElement.matches('#heading-tasks')").await;
    browser.tab_to(".card a").await;
    browser.press(&[ENTER]).await;
    browser.wait("document.querySelector('dialog[open]')?.contains(document.activeElement)").await;
    // Tab never moves the focus out of the dialog, except to the browser itself.
    for _ in 0..6 {
        browser.press(&[TAB]).await;
        let inside = "const at = document.activeElement;
             return at === document.body
                 || document.querySelector('dialog[open]').contains(at)";
        assert_eq!(browser.run(inside).await, true);
    }
    browser.press(&[ESCAPE]).await;
    browser.wait("!document.querySelector('dialog[open]')").await;
    browser.wait("document.activeElement.matches('.card a')").await;
    assert_eq!(browser.run("return location.hash").await, "#/tasks");
}

async fn a_narrow_screen_scrolls_only_downwards_and_cuts_nothing(stage: &Stage<'_>) {
    let browser = &stage.browser;
    let prompt = "word".repeat(200);
    let task = stage.bench.submit("/v1/gen-2-pro", &small(&prompt)).await;
    stage.bench.sim.clock().advance(Duration::from_secs(1));
    stage.bench.sim.faults().add("webhook-late:0.5").unwrap();
    browser.resize(390, 844).await;
    browser.wait("document.querySelector('.card img')").await;
    let details = format!("tasks/{}", task["id"].as_str().unwrap());
    for (place, shown) in [
        ("requests", ".request"),
        ("accounts", ".organization"),
        ("keys", "#section-keys td"),
        ("finetunes", "#section-finetunes td"),
        ("webhooks", "#section-webhooks .note"),
        ("faults", ".rules td"),
        ("clock", ".face"),
        ("docs", ".opblock"),
        ("tasks", ".card"),
        (&*details, "dialog[open] pre"),
    ] {
        browser.run(&format!("location.hash = '#/{place}'")).await;
        browser.wait(&format!("document.querySelector('{shown}')?.checkVisibility()")).await;
        if place == "docs" {
            browser.click("#operations-generation-gen_2_pro button").await;
            browser.wait("document.querySelector('.opblock.is-open .execute')").await;
        }
        stage.unfold().await;
        assert_eq!(browser.run(TOO_WIDE).await, json!([]), "{place}");
    }
}

async fn a_narrow_screen_starts_with_the_tasks(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    bench.submit("/v1/gen-2-pro", &small("x")).await;
    browser.resize(390, 844).await;
    browser.wait("document.querySelector('.card')").await;
    let top = browser.run("return document.querySelector('.card').offsetTop").await;
    assert!(top.as_f64().unwrap() <= 200.0, "{top}");
    let visible = async |selector: &str| {
        browser
            .run(&format!("return document.querySelector(\"{selector}\").checkVisibility()"))
            .await
    };
    let (link, filter) = ("nav a[href='#/clock']", ".filters [name=progress]");
    assert_eq!((visible(link).await, visible(filter).await), (json!(false), json!(false)));
    stage.unfold().await;
    assert_eq!((visible(link).await, visible(filter).await), (json!(true), json!(true)));
    browser.click(link).await;
    browser.wait("document.activeElement.matches('#heading-clock')").await;
    assert_eq!(visible(link).await, false, "the menu closes");
}

/// The elements that scroll horizontally, and the controls that are not completely within the
/// width of the screen.
const TOO_WIDE: &str = "
    const visible = [...document.querySelectorAll('body, body *')]
        .filter((one) => one.checkVisibility() && !one.matches('.skip, .unseen'));
    const scrolls = visible
        .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
        .filter((one) => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX));
    const cut = visible
        .filter((one) => one.matches('a, button, input, select, summary, textarea'))
        .filter((one) => {
            const { left, right } = one.getBoundingClientRect();
            return left < 0 || right > document.documentElement.clientWidth;
        });
    const page = document.documentElement;
    return [...scrolls, ...cut, ...(page.scrollWidth > page.clientWidth ? [page] : [])]
        .map((one) => one.outerHTML.slice(0, 200));";
