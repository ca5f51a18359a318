//! Totals, filters and sorting.

use imagekiln_cli::fuzzing::Item;
use imagekiln_testbed::{
    Trial,
    browser::{Browser, DOWN, END, ENTER, RIGHT},
};
use serde_json::{Value, json};

use super::fixture::{self, Fixture, JOBS, Shared};

pub fn tests(fixture: &Shared) -> Vec<Trial> {
    vec![
        fixture::test(fixture, totals_are_at_the_top),
        fixture::test(fixture, filters_combine_and_announce_the_count),
        fixture::test(fixture, the_keyboard_chooses_a_state),
        fixture::test(fixture, jobs_are_sorted),
        fixture::test(fixture, days_costs_and_groups_are_conditions),
        fixture::test(fixture, only_what_is_on_the_screen_is_in_the_document),
        fixture::test(fixture, arrows_and_a_slash_move_the_focus),
        fixture::test(fixture, failed_jobs_show_why),
    ]
}

/// Sets a field as a user does.
async fn set(browser: &Browser, name: &str, value: &str) {
    let script = format!(
        "const field = document.querySelector('#controls').elements[{name:?}];
         field.value = {value:?};
         document.querySelector('#controls').dispatchEvent(new Event('input'));"
    );
    browser.run(&script).await;
}

/// The names of the jobs that match, in their order.
async fn shown(browser: &Browser) -> Vec<String> {
    let script = "chunks.forEach(load); return shown.map((position) => items[position].name)";
    let names = browser.run(script).await;
    serde_json::from_value(names).unwrap()
}

/// The text of an element. Cards have none until the browser has rendered them.
async fn text(browser: &Browser, selector: &str) -> Value {
    browser.wait(&format!("document.querySelector({selector:?}).innerText")).await
}

fn names<'a>(entries: impl IntoIterator<Item = &'a Item>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.name.clone()).collect()
}

async fn totals_are_at_the_top(browser: &Browser, fixture: &Fixture) {
    let saved = fixture.count(|entry| entry.state == "saved");
    let credits: f64 = fixture.entries.iter().filter_map(|entry| entry.credits).sum();
    // All others but the queued job were submitted.
    let unknown = JOBS - saved - 1;
    let figures = browser
        .run(
            "return [...document.querySelectorAll('header .figures dd')]
                .map((figure) => figure.innerText.replace(/\\s+/g, ' '))",
        )
        .await;
    let credits = format!("{credits:.2} and {unknown} of unknown cost");
    assert_eq!(figures, json!([JOBS.to_string(), saved.to_string(), credits]));

    let rows = browser
        .run(
            "return [...document.querySelectorAll('header tbody tr')].map((row) =>
                [...row.children].slice(0, 3).map((cell) => cell.textContent))",
        )
        .await;
    let expected = ["gen-2-pro", "gen-kontext-max", "gen-pro-1.1-ultra"].map(|model| {
        let jobs = fixture.count(|entry| entry.model == model);
        let saved = fixture.count(|entry| entry.model == model && entry.state == "saved");
        json!([model, jobs.to_string(), saved.to_string()])
    });
    assert_eq!(rows, json!(expected));
    assert_eq!(shown(browser).await.len(), JOBS);
}

async fn filters_combine_and_announce_the_count(browser: &Browser, fixture: &Fixture) {
    for state in ["saved", "failed", "moderated", "unknown", "queued"] {
        set(browser, "state", state).await;
        let expected = fixture.entries.iter().filter(|entry| entry.state == state);
        assert_eq!(shown(browser).await, names(expected), "{state}");
    }
    set(browser, "state", "failed").await;
    set(browser, "model", "gen-2-pro").await;
    set(browser, "text", "FOX  snow ").await;
    let is_match = |entry: &&Item| {
        let is_fox = entry.prompt.as_ref().is_some_and(|prompt| prompt.contains("fox"));
        is_fox && entry.state == "failed" && entry.model == "gen-2-pro"
    };
    let expected = names(fixture.entries.iter().filter(is_match));
    assert!(expected.len() > 1, "{expected:?}");
    assert_eq!(shown(browser).await, expected);
    assert_eq!(
        text(browser, "#count").await,
        format!("{} of 1000 jobs, 0.00 credits", expected.len())
    );
    assert_eq!(browser.run("return document.querySelector('#count').tagName").await, "OUTPUT");

    // The other texts of a job are found, too.
    set(browser, "model", "").await;
    for words in ["refused job 707", "task-707", "job-707", "seed 707"] {
        set(browser, "text", words).await;
        assert_eq!(shown(browser).await, ["job-707"], "{words}");
    }
    set(browser, "text", "nothing has this text").await;
    assert_eq!(shown(browser).await, [""; 0]);
    browser.tab_to("#none button").await;
    browser.press(&[ENTER]).await;
    browser.wait("document.querySelector('#none').hidden").await;
    assert_eq!(shown(browser).await.len(), JOBS);
}

async fn the_keyboard_chooses_a_state(browser: &Browser, fixture: &Fixture) {
    browser.tab_to("[name=state]").await;
    browser.press(&[RIGHT, RIGHT]).await;
    let chosen = browser.run("return document.activeElement.value").await;
    assert_eq!(chosen, "failed");
    let failed = fixture.count(|entry| entry.state == "failed");
    assert_eq!(shown(browser).await.len(), failed);
}

/// Jobs without a cost come last.
fn cost(entry: &Item) -> f64 {
    entry.credits.unwrap_or(-1.0)
}

async fn jobs_are_sorted(browser: &Browser, fixture: &Fixture) {
    let sorted = |compare: fn(&Item, &Item) -> std::cmp::Ordering| {
        let mut entries: Vec<_> = fixture.entries.iter().collect();
        entries.sort_by(|one, other| compare(one, other));
        names(entries)
    };
    let cases: [(&str, Vec<String>); 4] = [
        ("credits", sorted(|one, other| cost(other).total_cmp(&cost(one)))),
        ("model", sorted(|one, other| one.model.cmp(&other.model))),
        ("state", sorted(|one, other| one.state.cmp(&other.state))),
        ("", names(&fixture.entries)),
    ];
    for (by, expected) in cases {
        set(browser, "sort", by).await;
        assert_eq!(shown(browser).await, expected, "sorted by {by}");
    }
    // Numbers in prompts are compared as numbers.
    set(browser, "sort", "prompt").await;
    set(browser, "text", "number").await;
    let numbered = fixture.entries.iter().filter(|entry| entry.name.starts_with("job-"));
    assert_eq!(shown(browser).await, names(numbered));
}

async fn failed_jobs_show_why(browser: &Browser, _: &Fixture) {
    set(browser, "text", "job-32").await;
    set(browser, "state", "failed").await;
    let card = text(browser, ".job:not([hidden])").await;
    let card = card.as_str().unwrap();
    for part in ["job-32", "Failed", "the service refused job 32", "no picture"] {
        assert!(card.contains(part), "{card}");
    }
}

async fn days_costs_and_groups_are_conditions(browser: &Browser, fixture: &Fixture) {
    set(browser, "since", "2026-11-03").await;
    set(browser, "until", "2026-11-04").await;
    assert_eq!(shown(browser).await, names(&fixture.entries[200..400]));
    set(browser, "least", "2").await;
    set(browser, "most", "2.5").await;
    let is_match = |entry: &&Item| entry.credits == Some(2.0);
    assert_eq!(shown(browser).await, names(fixture.entries[200..400].iter().filter(is_match)));
    // A picture leads to those of its command.
    browser.click(".job button").await;
    browser.click("dialog .actions button").await;
    let group = browser.run("return items[shown[0]].group[1]").await;
    let is_match = |entry: &&Item| entry.group.as_ref().is_some_and(|(_, name)| group == **name);
    let expected = names(fixture.entries.iter().filter(is_match));
    assert_eq!((shown(browser).await, expected.len()), (expected, 4));
    browser.click("#group input").await;
    assert_eq!(shown(browser).await.len(), JOBS);
}

async fn only_what_is_on_the_screen_is_in_the_document(browser: &Browser, _: &Fixture) {
    let cards = "return document.querySelectorAll('.job').length";
    for top in ["0", "document.body.scrollHeight / 2", "document.body.scrollHeight"] {
        browser.run(&format!("scrollTo(0, {top})")).await;
        browser.wait("document.elementFromPoint(300, innerHeight - 200)?.closest('.job')").await;
        assert!(browser.run(cards).await.as_u64().unwrap() < 60);
    }
    browser.wait("document.querySelector('[aria-posinset=\"1000\"]')").await;
    let last = "return document.querySelector('.job:last-child .name').textContent";
    assert_eq!(browser.run(last).await, "job-999");
}

async fn arrows_and_a_slash_move_the_focus(browser: &Browser, _: &Fixture) {
    let focused = "return Number(document.activeElement.closest('.job')?.dataset.index)";
    let columns = browser.run("return columns").await.as_u64().unwrap();
    browser.tab_to(".job button").await;
    browser.press(&[DOWN, DOWN, RIGHT]).await;
    assert_eq!(browser.run(focused).await, 2 * columns + 1);
    browser.press(&[END]).await;
    assert_eq!(browser.run(focused).await, JOBS - 1);
    let is_seen = "const { top, bottom } = document.activeElement.getBoundingClientRect();
         return top >= 0 && bottom <= innerHeight";
    assert_eq!(browser.run(is_seen).await, true);
    browser.press(&["/"]).await;
    assert_eq!(browser.run("return document.activeElement.name").await, "text");
    browser.press(&["/"]).await;
    assert_eq!(browser.run("return document.activeElement.value").await, "/");
}
