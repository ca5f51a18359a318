//! Colours, and where everything comes from.

use imagekiln_simulator::Config;
use serde_json::json;

use super::stage::play;

#[tokio::test]
async fn it_is_light_or_dark_as_the_system_is() {
    play(Config::default(), async |stage| {
        let browser = &stage.browser;
        browser.run("location.hash = '#/docs'").await;
        browser.wait("document.querySelector('.opblock')").await;
        let mut seen = Vec::new();
        for colours in ["light", "dark"] {
            browser.prefer(colours).await;
            let lightness = "[document.documentElement, document.querySelector('.top'), document.querySelector('.viewer')]
                .map((element) => getComputedStyle(element).backgroundColor)
                .map((colour) => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3)";
            let fits = if colours == "light" { "value > 220" } else { "value < 60" };
            let found = browser.wait(&format!("(() => {{ const found = {lightness}; return found.every((value) => {fits}) && found; }})()")).await;
            seen.push((found, browser.run("return getComputedStyle(document.body).color").await));
        }
        assert!(seen[0].0 != seen[1].0 && seen[0].1 != seen[1].1, "{seen:?}");
    })
    .await;
}

#[tokio::test]
async fn nothing_comes_from_elsewhere_and_nothing_is_complained_of() {
    play(Config::default(), async |stage| {
        let (sim, browser) = (&stage.bench.sim, &stage.browser);
        let task = stage.bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x", "width": 64, "height": 64 })).await;
        sim.clock().advance(std::time::Duration::from_secs(1));
        browser.wait("document.querySelector('.card img')?.complete").await;
        let mut places: Vec<_> = ["accounts", "keys", "finetunes", "webhooks", "faults", "clock", "docs", "tasks"]
            .map(str::to_owned)
            .into();
        places.push(format!("tasks/{}", task["id"].as_str().unwrap()));
        for place in places {
            browser.run(&format!("location.hash = '#/{place}'")).await;
        }
        browser.wait("document.querySelector('.opblock') && document.querySelector('dialog[open] img')?.complete").await;
        browser.run("location.hash = '#/docs'").await;
        browser.click("#operations-generation-gen_2_pro button").await;
        browser.wait("document.querySelector('.opblock.is-open .parameters-container, .opblock.is-open .opblock-body')").await;

        let requests = browser.requests().await;
        assert!(requests.len() > 10, "{requests:?}");
        for request in &requests {
            let ours = request.starts_with(&format!("{}/", sim.control_url())) || request.starts_with("data:");
            assert!(ours, "{request}");
        }
        let entries = browser.run("return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).origin)").await;
        for origin in entries.as_array().unwrap() {
            assert_eq!(origin, sim.control_url());
        }
        assert_eq!(browser.complaints().await, Vec::<String>::new());
    })
    .await;
}
