//! "Try it" in the documentation reaches the service.

use imagekiln_simulator::{Config, Region};
use serde_json::json;

use super::stage::play;

#[tokio::test]
async fn an_operation_can_be_tried_at_the_service() {
    let config = Config { model_prefix: "xyz".to_owned(), ..Config::default() };
    play(config, async |stage| {
        let (sim, browser) = (&stage.bench.sim, &stage.browser);
        browser.click("nav a[href='#/docs']").await;
        browser.wait("document.querySelector('.swagger-ui .btn.authorize')").await;
        for (operation, tag, region) in [
            ("gen_2_pro", "generation", Region::Global),
            ("gen_pro_1_1_ultra_finetuned", "finetuned", Region::Regional),
        ] {
            let block = format!("[id^='operations-{tag}-{operation}']");
            browser.click(&format!("{block} button.opblock-summary-control")).await;
            browser.click(&format!("{block} button.execute")).await;
            browser.wait(&format!("document.querySelector(\"{block} .live-responses-table .response .response-col_status\")?.textContent.startsWith('200')")).await;
            let curl = browser.run(&format!("return document.querySelector(\"{block} .curl-command\").textContent")).await;
            let base = if region == Region::Global { sim.base_url() } else { sim.regional_base_url() };
            assert!(curl.as_str().unwrap().contains(&format!("'{base}/v1/xyz-")), "{curl}");
            let task = sim.tasks().pop().unwrap();
            assert_eq!(task.region, region);
        }
        assert_eq!(sim.counts().accepted, 2);
        browser.click("nav a[href='#/tasks']").await;
        browser.wait("document.querySelectorAll('.card').length === 2").await;
        assert_eq!(browser.run("return document.querySelectorAll('.opblock').length > 20").await, json!(true));
    })
    .await;
}
