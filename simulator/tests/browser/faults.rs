//! Faults can be switched on and off in the page.

use serde_json::json;

use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;

use super::stage::{self, Stage};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(
            Config::default(),
            a_fault_that_is_switched_on_takes_effect_on_the_next_request,
        ),
        stage::test(Config::default(), a_switch_uses_the_place_value_and_count_in_its_fields),
    ]
}

async fn a_fault_that_is_switched_on_takes_effect_on_the_next_request(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    let submit = async || {
        let body = json!({ "prompt": "x", "width": 64, "height": 64 });
        bench.post("/v1/gen-2-pro", &body).await.status.as_u16()
    };
    assert_eq!(submit().await, 200);
    browser.click("nav a[href='#/faults']").await;
    let switch = "[data-key='error-before'] [role=switch]";
    browser.click(switch).await;
    browser
        .wait(&format!(
            "document.querySelector(\"{switch}\").getAttribute('aria-checked') === 'true'"
        ))
        .await;
    assert_eq!(bench.sim.faults().rules()[0].text, "error-before:always");
    assert_eq!(submit().await, 500);
    assert_eq!(submit().await, 500);
    // The rule shows how often it was applied, without a reload.
    browser.wait("document.querySelector('.rules td:nth-child(2)')?.textContent === '2'").await;
    browser.click(switch).await;
    browser
        .wait(&format!(
            "document.querySelector(\"{switch}\").getAttribute('aria-checked') === 'false'"
        ))
        .await;
    assert_eq!(submit().await, 200);
    assert_eq!(bench.sim.faults().rules(), []);
}

async fn a_switch_uses_the_place_value_and_count_in_its_fields(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    browser.click("nav a[href='#/faults']").await;
    browser.wait("document.querySelector('[data-key=\"rate-limited\"]')").await;
    browser
        .run(
            "const fault = document.querySelector('[data-key=\"rate-limited\"]');
             fault.querySelector('[name=place]').value = 'poll';
             fault.querySelector('[name=value]').value = '7';
             const often = fault.querySelector('[name=often]');
             often.value = 'times';
             often.dispatchEvent(new Event('change'));
             fault.querySelector('[name=number]').value = '2';
             fault.querySelector('[role=switch]').click();",
        )
        .await;
    browser
        .wait("document.querySelector('.rules code')?.textContent === 'rate-limited@poll=7:2x'")
        .await;
    let task =
        bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x", "width": 64, "height": 64 })).await;
    let poll = task["polling_url"].as_str().unwrap();
    for (status, left) in [(429, "1"), (429, "0"), (200, "0")] {
        let response = bench.get(poll).await;
        assert_eq!(response.status, status);
        assert_eq!(
            response.headers.get("retry-after").map(|wait| wait == "7"),
            (status == 429).then_some(true)
        );
        browser
            .wait(&format!(
                "document.querySelector('.rules td:nth-child(3)').textContent === '{left}'"
            ))
            .await;
    }
}
