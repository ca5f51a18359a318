//! The details of a task: its timeline, its request with images, and what can be done with it.

use std::time::Duration;

use serde_json::{Value, json};

use imagekiln_simulator::Config;
use imagekiln_testbed::{
    Trial,
    browser::{LEFT, RIGHT},
};

use super::{
    bench::{png, small},
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(Config::default(), the_timeline_grows_while_the_details_are_open),
        stage::test(Config::default(), a_request_is_shown_with_its_images_and_can_be_repeated),
        stage::test(Config::default(), the_buttons_and_arrows_lead_through_the_listed_tasks),
    ]
}

async fn open(stage: &Stage<'_>, task: &Value) {
    let id = task["id"].as_str().unwrap();
    stage.browser.run(&format!("location.hash = '#/tasks/{id}'")).await;
    stage.browser.wait("document.querySelector('dialog[open] .timeline li')").await;
}

async fn the_timeline_grows_while_the_details_are_open(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    bench.sim.clock().set_speed(0.0);
    let task = bench.submit("/v1/gen-2-pro", &small("a fox [[html-502@poll]]")).await;
    open(stage, &task).await;
    let polling_url = task["polling_url"].as_str().unwrap();
    assert_eq!(bench.get(polling_url).await.status, 502);
    bench.poll(&task).await;
    bench.sim.clock().advance(Duration::from_secs(3));
    let poll = bench.poll(&task).await;
    bench.poll(&task).await;
    bench.fetch(poll["result"]["sample"].as_str().unwrap()).await;
    browser.wait("document.querySelector('.timeline [data-event=delivered]')").await;
    let lines = "[...document.querySelectorAll('.timeline li')]
        .map((line) => [...line.children].slice(1).map((part) => part.textContent).join(' '))";
    assert_eq!(
        browser.run(&format!("return {lines}")).await,
        json!([
            "+0 s Accepted, and charged 3.00 credits",
            "+0 s The fault html-502 replaced the response to a poll",
            "+0 s Polled: Pending",
            "+1 s Ended: Ready",
            "+3 s Polled: Ready, 2 times, last after 3 s",
            "+3 s Delivered completely",
        ])
    );
    // The task was ready after one of the three seconds.
    let facts = "Object.fromEntries([...document.querySelectorAll('dialog dt')]
        .map((name) => [name.textContent, name.nextElementSibling.textContent]))";
    let facts = browser.run(&format!("return {facts}")).await;
    for (name, value) in [
        ("Polled", "3 times"),
        ("Found", "2 s after it was ready"),
        ("Fetched", "2 s after it was ready"),
    ] {
        assert_eq!(facts[name], value, "{facts}");
    }
    let lateness = "On average, clients found a task 2 s after it was ready (p99 2 s), and \
                    fetched its picture 2 s after it was ready (p99 2 s).";
    let shown = "document.querySelector('#lateness')?.textContent";
    browser.wait(&format!("{shown} === '{lateness}'")).await;
}

/// A number of JavaScript has 53 bits.
const SEED: i64 = (1 << 53) + 1;

async fn a_request_is_shown_with_its_images_and_can_be_repeated(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let image = png(48, 32);
    let body = json!({ "prompt": "it's a fox", "input_image": image, "seed": SEED });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    open(stage, &task).await;
    browser.wait("document.querySelector('.images img')?.naturalWidth === 48").await;

    stage.catch_copies().await;
    browser.click("dialog .copy").await;
    let copied = browser.wait("window.copied").await;
    let base = bench.sim.base_url();
    let header = "--header \"x-key: $IMAGEKILN_API_KEY\"";
    let start = format!("curl '{base}/v1/gen-2-pro' {header} --json '");
    let sent = copied.as_str().unwrap().strip_prefix(&start).expect("the start differs");
    let sent = sent.strip_suffix('\'').unwrap().replace("'\\''", "'");
    assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), body);

    browser.click("dialog .again").await;
    browser.wait(&format!("location.hash !== '#/tasks/{}'", task["id"].as_str().unwrap())).await;
    let [first, second] = bench.sim.tasks().try_into().unwrap();
    assert_eq!((&second.request, second.seed), (&first.request, SEED.into()));
    browser.wait(&format!("location.hash === '#/tasks/{}'", second.id)).await;
    browser.wait("document.querySelector('.images img')?.naturalWidth === 48").await;
    assert_eq!(browser.problems().await, Vec::<String>::new());
}

async fn the_buttons_and_arrows_lead_through_the_listed_tasks(stage: &Stage<'_>) {
    let Stage { bench, browser } = stage;
    let mut tasks = Vec::new();
    for prompt in ["first", "second", "third"] {
        tasks.push(bench.submit("/v1/gen-2-pro", &small(prompt)).await);
    }
    browser.wait("document.querySelectorAll('.card').length === 3").await;
    open(stage, &tasks[1]).await;
    let shows = |task: &Value| {
        let id = task["id"].as_str().unwrap();
        format!("document.querySelector('dialog .facts code')?.textContent === '{id}'")
    };
    browser.wait(&shows(&tasks[1])).await;
    browser.press(&[RIGHT]).await;
    browser.wait(&shows(&tasks[0])).await;
    let at_the_end = "document.querySelector('dialog .next').ariaDisabled === 'true'";
    browser.wait(at_the_end).await;
    browser.press(&[RIGHT, LEFT]).await;
    browser.wait(&shows(&tasks[1])).await;
    browser.click("dialog .previous").await;
    browser.wait(&shows(&tasks[2])).await;
    browser.run("location.reload()").await;
    browser.wait("document.querySelector('dialog[open] .facts code')").await;
    browser.wait(&shows(&tasks[2])).await;
}
