//! "Try it out" in the documentation calls the service.

use serde_json::json;

use imagekiln_simulator::{Config, Region};
use imagekiln_testbed::Trial;

use super::stage::{self, Stage};

pub fn tests() -> Vec<Trial> {
    let config = Config { model_prefix: "xyz".to_owned(), ..Config::default() };
    vec![
        stage::test(config, try_it_out_calls_the_service),
        stage::test(Config::default(), the_documentation_reveals_no_key),
    ]
}

async fn try_it_out_calls_the_service(stage: &Stage<'_>) {
    let (sim, browser) = (&stage.bench.sim, &stage.browser);
    stage.show("docs", ".swagger-ui .btn.authorize").await;
    for (operation, tag, region) in [
        ("gen_2_pro", "generation", Region::Global),
        ("gen_pro_1_1_ultra_finetuned", "finetuned", Region::Regional),
    ] {
        let block = format!("[id^='operations-{tag}-{operation}']");
        stage.try_out(&block).await;
        let status = ".live-responses-table .response .response-col_status";
        let found = format!("document.querySelector(\"{block} {status}\")");
        browser.wait(&format!("{found}?.textContent.startsWith('200')")).await;
        let curl = format!("document.querySelector(\"{block} .curl-command\").textContent");
        let curl = browser.run(&format!("return {curl}")).await;
        let curl_key = format!("'x-key: {}'", sim.api_key());
        assert!(curl.as_str().unwrap().contains(&curl_key), "{curl}");
        let base = match region {
            Region::Global => sim.base_url(),
            _ => sim.regional_base_url(),
        };
        assert!(curl.as_str().unwrap().contains(&format!("'{base}/v1/xyz-")), "{curl}");
        let task = sim.tasks().pop().unwrap();
        assert_eq!(task.region, region);
    }
    assert_eq!(sim.counts().accepted, 2);
    browser.click("nav a[href='#/tasks']").await;
    browser.wait("document.querySelectorAll('.card').length === 2").await;
    let operations = "return document.querySelectorAll('.opblock').length > 20";
    assert_eq!(browser.run(operations).await, json!(true));
}

async fn the_documentation_reveals_no_key(stage: &Stage<'_>) {
    let (sim, browser) = (&stage.bench.sim, &stage.browser);
    let audit = async || {
        let url = format!("{}/api/audit", sim.control_url());
        stage.bench.fetch(&url).await.json().to_string()
    };
    browser.click("nav a[href='#/docs']").await;
    browser.wait("document.querySelectorAll('.opblock').length > 20").await;
    assert!(!audit().await.contains("reveal"), "{}", audit().await);
    stage.try_out("[id^='operations-generation-gen_2_pro']").await;
    browser.wait("document.querySelector('.live-responses-table')").await;
    assert!(audit().await.contains("reveal"), "trying a request is recorded");
}
