//! Colour schemes, and the sources of everything the page loads.

use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;

use super::{
    bench::small,
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(Config::default(), the_page_follows_the_colour_scheme_of_the_system),
        stage::test(Config::default(), nothing_is_loaded_from_elsewhere_and_no_problems_are_logged),
    ]
}

async fn the_page_follows_the_colour_scheme_of_the_system(stage: &Stage<'_>) {
    let browser = &stage.browser;
    stage.show("docs", ".opblock").await;
    let mut seen = Vec::new();
    for colours in ["light", "dark"] {
        browser.prefer(colours).await;
        let lightness = "['html', '.top', '.viewer']
            .map((selector) => document.querySelector(selector))
            .map((element) => getComputedStyle(element).backgroundColor)
            .map((colour) => colour.match(/[\\d.]+/g).slice(0, 3))
            .map((parts) => parts.reduce((sum, part) => sum + Number(part), 0) / 3)";
        let fits = if colours == "light" { "value > 220" } else { "value < 60" };
        let condition = format!(
            "(() => {{
                const found = {lightness};
                return found.every((value) => {fits}) && found;
            }})()"
        );
        let found = browser.wait(&condition).await;
        seen.push((found, browser.run("return getComputedStyle(document.body).color").await));
    }
    assert!(seen[0].0 != seen[1].0 && seen[0].1 != seen[1].1, "{seen:?}");
}

async fn nothing_is_loaded_from_elsewhere_and_no_problems_are_logged(stage: &Stage<'_>) {
    let (sim, browser) = (&stage.bench.sim, &stage.browser);
    let body = small("x");
    let task = stage.bench.submit("/v1/gen-2-pro", &body).await;
    sim.clock().advance(std::time::Duration::from_secs(1));
    browser.wait("document.querySelector('.card img')?.complete").await;
    let sections = [
        "requests",
        "accounts",
        "keys",
        "finetunes",
        "webhooks",
        "faults",
        "clock",
        "docs",
        "tasks",
    ];
    let mut places: Vec<_> = sections.map(str::to_owned).into();
    places.push(format!("tasks/{}", task["id"].as_str().unwrap()));
    for place in places {
        browser.run(&format!("location.hash = '#/{place}'")).await;
    }
    browser
        .wait(
            "document.querySelector('.opblock')
                && document.querySelector('dialog[open] img')?.complete",
        )
        .await;
    browser.run("location.hash = '#/docs'").await;
    browser.click("#operations-generation-gen_2_pro button").await;
    browser.wait("document.querySelector('.opblock.is-open .opblock-body')").await;

    let requests = browser.requests().await;
    assert!(requests.len() > 10, "{requests:?}");
    for request in &requests {
        let ours =
            request.starts_with(&format!("{}/", sim.control_url())) || request.starts_with("data:");
        assert!(ours, "{request}");
    }
    let entries = browser
        .run(
            "return performance.getEntriesByType('resource')
                .map((entry) => new URL(entry.name).origin)",
        )
        .await;
    for origin in entries.as_array().unwrap() {
        assert_eq!(origin, sim.control_url());
    }
    assert_eq!(browser.problems().await, Vec::<String>::new());
}
