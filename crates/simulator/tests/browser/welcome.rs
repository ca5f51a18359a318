//! The first screen says how to connect, and makes a picture.

use serde_json::json;

use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;

use super::stage::{self, Stage};

pub fn tests() -> Vec<Trial> {
    let config = Config { model_prefix: "xyz".to_owned(), ..Config::default() };
    let control_token = Some("a-token-of-24-characters".into());
    vec![
        stage::test(config, the_first_screen_says_how_to_connect_and_makes_a_picture),
        stage::test(
            Config { control_token, ..Config::default() },
            with_a_token_the_page_works_and_its_url_does_not_show_it,
        ),
        stage::test(Config::default(), nothing_is_said_about_tasks_before_they_are_read),
    ]
}

async fn the_first_screen_says_how_to_connect_and_makes_a_picture(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
    browser.wait("document.querySelector('.welcome .connection')").await;
    let facts = "[...document.querySelectorAll('.connection code')].map((one) => one.textContent)";
    let facts = browser.run(&format!("return {facts}")).await;
    assert_eq!(facts, json!([base, bench.sim.regional_base_url(), key]));
    stage.catch_copies().await;
    browser.click(".command button").await;
    let command = format!(
        "curl '{base}/v1/xyz-2-pro' --header 'x-key: {key}' \
         --json '{{\"prompt\":\"a red fox in the snow\"}}'"
    );
    assert_eq!(browser.wait("window.copied").await, command);
    assert_eq!(
        browser.run("return document.querySelector('.command pre').textContent").await,
        command
    );

    browser.click(".welcome .primary").await;
    browser.wait("document.querySelector('.card')").await;
    assert_eq!(bench.sim.tasks().len(), 1);
    browser.wait("!document.querySelector('.welcome')").await;
    // The same facts are still there, in a closed part.
    let visible = "document.querySelector('.connection').checkVisibility()";
    assert_eq!(browser.run(&format!("return {visible}")).await, false);
    browser.click(".connect summary").await;
    browser.wait(visible).await;
    assert_eq!(bench.sim.counts().accepted, 1, "one click makes one picture");
}

async fn with_a_token_the_page_works_and_its_url_does_not_show_it(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let shown = browser.run("return [location.pathname, location.search, document.cookie]").await;
    assert_eq!(shown, json!(["/", "", ""]));
    browser.wait("document.querySelector('.welcome .connection')").await;
    browser.click(".welcome .primary").await;
    browser.wait("document.querySelector('.card')").await;
    bench.sim.clock().advance(std::time::Duration::from_secs(1));
    browser.wait("document.querySelector('.card img')?.naturalWidth > 0").await;
    stage.show("docs", ".opblock").await;
}

async fn nothing_is_said_about_tasks_before_they_are_read(stage: &Stage<'_>) {
    // The section draws itself without the responses that it waits for.
    let drawn = stage.browser.run(
        "window.fetch = () => new Promise(() => {});
         const modules = [import('/tasks.js'), import('/vendor/preact.js')];
         return Promise.all(modules).then(([{ Tasks }, { createElement, render }]) => {
             const root = document.createElement('section');
             document.body.append(root);
             render(createElement(Tasks, { item: '' }), root);
             return root.innerText.trim();
         })",
    );
    assert_eq!(drawn.await, "Loading…");
}
