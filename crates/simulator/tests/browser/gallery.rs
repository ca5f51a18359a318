//! The gallery shows the tasks.

use std::time::Duration;

use serde_json::json;

use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;

use super::stage::{self, Stage};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(slow(), a_task_appears_and_turns_into_a_picture_without_a_reload),
        stage::test(slow(), a_failed_task_has_its_status_and_filters_find_it),
        stage::test(slow(), markup_in_a_prompt_is_text),
        stage::test(slow(), a_task_shows_the_time_left_and_can_be_finished),
        stage::test(slow(), cards_say_why_a_task_failed_and_what_was_ignored),
        stage::test(slow(), filters_find_tasks_by_operation_project_and_region),
        stage::test(slow(), pictures_leave_connections_for_the_rest_and_have_their_space),
    ]
}

fn slow() -> Config {
    Config { ready_after: Duration::from_secs(3600), ..Config::default() }
}

/// Submits a task over HTTP.
async fn submit(stage: &Stage<'_>, prompt: &str) -> String {
    let body = json!({ "prompt": prompt, "width": 96, "height": 64 });
    let task = stage.bench.submit("/v1/gen-2-pro", &body).await;
    task["id"].as_str().unwrap().to_owned()
}

async fn a_task_appears_and_turns_into_a_picture_without_a_reload(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    browser.run("window.untouched = true").await;
    let id = submit(stage, "a fox in the snow").await;
    let card = format!("document.querySelector('.card[data-key=\"{id}\"]')");
    assert_eq!(
        browser.wait(&format!("{card}?.querySelector('.status').textContent")).await,
        "Pending"
    );
    let text = browser.run(&format!("return {card}.textContent")).await;
    for part in ["a fox in the snow", "gen-2-pro", "global", "3.01 credits"] {
        assert!(text.as_str().unwrap().contains(part), "{text}");
    }
    assert_eq!(browser.run(&format!("return {card}.querySelector('img')")).await, json!(null));

    bench.sim.clock().advance(Duration::from_secs(3600));
    browser.wait(&format!("{card}.querySelector('.status').textContent === 'Ready'")).await;
    browser.wait(&format!("{card}.querySelector('img')?.naturalWidth === 96")).await;
    assert_eq!(
        browser.wait("document.querySelector('#count-ready').textContent === '1'").await,
        true
    );
    let spent = "document.querySelector('.counters div:last-child').textContent";
    assert_eq!(browser.run(&format!("return {spent}")).await, "credits spent3.01");
    assert_eq!(browser.run("return window.untouched").await, true);
    assert_eq!(bench.sim.counts().delivered, 0, "viewing is not a delivery");
}

async fn a_failed_task_has_its_status_and_filters_find_it(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    submit(stage, "kept").await;
    submit(stage, "lost [[error]]").await;
    bench.sim.clock().advance(Duration::from_secs(3600));
    submit(stage, "new").await;
    browser.wait("document.querySelectorAll('.card').length === 3").await;
    let cases = [("failed", "lost [[error]]"), ("ready", "kept"), ("active", "new")];
    for (progress, prompt) in cases {
        stage.choose("progress", progress).await;
        let shown = "[...document.querySelectorAll('.card .prompt')]
            .map((prompt) => prompt.textContent)";
        browser.wait(&format!("String({shown}) === {prompt:?}")).await;
    }
}

async fn markup_in_a_prompt_is_text(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let prompt = concat!(
        "<img src=x onerror=\"window.caught=1\">",
        "<script>window.caught=1</script><b>bold</b>",
    );
    let id = submit(stage, prompt).await;
    browser.wait("document.querySelector('.card')").await;
    bench.sim.clock().advance(Duration::from_secs(3600));
    browser.wait("document.querySelector('.card img')?.complete").await;
    browser.run(&format!("location.hash = '#/tasks/{id}'")).await;
    browser.wait("document.querySelector('dialog[open] pre')").await;
    let shown = browser.run("return document.querySelector('.card .prompt').textContent").await;
    assert_eq!(shown, prompt);
    let request = browser.run("return document.querySelector('dialog pre').textContent").await;
    let request = request.as_str().unwrap();
    assert!(request.contains("<script>window.caught=1</script>"), "{request}");
    let made = browser
        .run(
            "return [
                window.caught,
                document.querySelectorAll('main b, dialog b, main script').length,
            ]",
        )
        .await;
    assert_eq!(made, json!([null, 0]));
}

async fn a_task_shows_the_time_left_and_can_be_finished(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let (id, _other) = (submit(stage, "first").await, submit(stage, "second").await);
    let card = format!("document.querySelector('.card[data-key=\"{id}\"]')");
    browser.wait(&format!("{card}?.querySelector('.left').textContent === '59 min left'")).await;
    bench.sim.clock().advance(Duration::from_secs(3570));
    bench.sim.clock().set_speed(0.0);
    let stopped = "s left, but the clock is stopped";
    browser.wait(&format!("{card}.querySelector('.left').textContent.endsWith('{stopped}')")).await;
    browser.wait(&format!("{card}.querySelector('.finish').checkVisibility()")).await;
    browser.click(&format!(".card[data-key='{id}'] .finish")).await;
    browser.wait(&format!("{card}.querySelector('img')?.naturalWidth === 96")).await;
    assert_eq!(
        browser.run(&format!("return {card}.querySelector('.finish').checkVisibility()")).await,
        false
    );
    let statuses: Vec<_> = bench.sim.tasks().into_iter().map(|task| task.status).collect();
    assert_eq!(statuses, ["Ready", "Pending"]);
}

async fn cards_say_why_a_task_failed_and_what_was_ignored(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let body = json!({ "prompt": "gore", "width": 64, "height": 64, "quality": "high" });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    browser
        .wait("document.querySelector('.card .ignored')?.textContent === 'Ignored: quality'")
        .await;
    bench.sim.clock().advance(Duration::from_secs(3600));
    let why = "document.querySelector('.card .why').textContent";
    let why = browser.wait(why).await;
    assert!(why.as_str().unwrap().contains("\u{201c}gore\u{201d} in the request"), "{why}");
    browser.run(&format!("location.hash = '#/tasks/{}'", task["id"].as_str().unwrap())).await;
    let warning = browser.wait("document.querySelector('dialog .warning')?.textContent").await;
    assert!(warning.as_str().unwrap().contains("no field quality"), "{warning}");
    let facts = browser.run("return document.querySelector('dialog .facts').textContent").await;
    assert!(facts.as_str().unwrap().contains(why.as_str().unwrap()), "{facts}");
}

async fn filters_find_tasks_by_operation_project_and_region(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    submit(stage, "first").await;
    bench.submit("/v1/gen-2-flex", &json!({ "prompt": "second" })).await;
    let third = r#"{ "prompt": "third" }"#;
    bench.post_at(bench.sim.regional_base_url(), "/v1/gen-2-pro", third).await;
    browser.wait("document.querySelectorAll('.card').length === 3").await;
    let options = "[...document.querySelectorAll('[name=project] option')].map((one) => one.value)";
    assert_eq!(browser.run(&format!("return {options}")).await, json!(["", "default/default"]));
    for (name, value, found) in [
        ("operation", "gen-2-flex", "second"),
        ("region", "regional", "third"),
        ("project", "default/default", "third,second,first"),
    ] {
        stage.choose(name, value).await;
        let prompts = "[...document.querySelectorAll('.card .prompt')]
            .map((prompt) => prompt.textContent)";
        browser.wait(&format!("String({prompts}) === '{found}'")).await;
        stage.choose(name, "").await;
        browser.wait("document.querySelectorAll('.card').length === 3").await;
    }
}

async fn pictures_leave_connections_for_the_rest_and_have_their_space(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    for prompt in 0..9 {
        submit(stage, &prompt.to_string()).await;
    }
    browser.resize(1280, 2000).await;
    browser.wait("document.querySelectorAll('.card').length === 9").await;
    let frame = "document.querySelector('.frame').offsetHeight";
    let height = browser.run(&format!("return {frame}")).await;
    browser
        .run(
            "window.most = 0;
             window.waited = false;
             new MutationObserver(() => {
                 const images = [...document.querySelectorAll('.card img')];
                 most = Math.max(most, images.filter(({ complete }) => !complete).length);
                 waited ||= document.querySelectorAll('.frame .loading').length > 3;
             }).observe(document.querySelector('.gallery'), { childList: true, subtree: true });",
        )
        .await;
    bench.sim.clock().advance(Duration::from_secs(3600));
    let shown = "[...document.querySelectorAll('.card img')].filter((one) => one.naturalWidth)";
    browser.wait(&format!("{shown}.length === 9")).await;
    let most = browser.run("return most").await.as_u64().unwrap();
    assert!((1..=3).contains(&most), "{most} pictures were loaded at once");
    assert_eq!(browser.run("return waited").await, true);
    browser.wait("!document.querySelector('.loading')").await;
    assert_eq!(browser.run(&format!("return {frame}")).await, height);
}
