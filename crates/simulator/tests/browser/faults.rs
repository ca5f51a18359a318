//! Faults can be switched on and off in the page.

use serde_json::json;

use imagekiln_simulator::{Config, Faults};
use imagekiln_testbed::Trial;

use super::{
    bench::small,
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(
            Config::default(),
            a_fault_that_is_switched_on_takes_effect_on_the_next_request,
        ),
        stage::test(Config::default(), a_switch_uses_the_place_value_and_count_in_its_fields),
        stage::test(Config::default(), every_fault_is_in_one_group),
        stage::test(Config::default(), a_preset_adds_and_removes_its_rules),
        stage::test(Config::default(), an_invalid_rule_or_value_is_explained_beside_its_field),
    ]
}

async fn a_fault_that_is_switched_on_takes_effect_on_the_next_request(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    let submit = async || {
        let body = small("x");
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
    browser
        .wait("document.querySelector('.rules td:nth-child(2)')?.textContent === '2 times'")
        .await;
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
             fault.querySelector('[name=times]').value = '2';
             fault.querySelector('[role=switch]').click();",
        )
        .await;
    browser
        .wait("document.querySelector('.rules code')?.textContent === 'rate-limited@poll=7:2x'")
        .await;
    let task = bench.submit("/v1/gen-2-pro", &small("x")).await;
    let poll = task["polling_url"].as_str().unwrap();
    for (status, left) in [(429, "1 more"), (429, "0 more"), (200, "0 more")] {
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

async fn every_fault_is_in_one_group(stage: &Stage<'_>) {
    let browser = &stage.browser;
    stage.show("faults", ".fault").await;
    let shown = browser
        .run("return [...document.querySelectorAll('.fault')].map((one) => one.dataset.key)")
        .await;
    let mut shown: Vec<_> =
        shown.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let mut known: Vec<_> = Faults::known().iter().map(|fault| fault.name).collect();
    shown.sort_unstable();
    known.sort_unstable();
    assert_eq!(shown, known);
    let groups = "return [...document.querySelectorAll('.group')]
        .map((group) => group.querySelectorAll('.fault').length > 0)";
    assert_eq!(browser.run(groups).await, json!([true, true, true, true, true]));
}

async fn a_preset_adds_and_removes_its_rules(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    stage.show("faults", ".preset").await;
    let names = browser
        .run("return [...document.querySelectorAll('.presets li')].map((one) => one.dataset.key)")
        .await;
    for wanted in ["Bad network", "429 storm", "Lost replies"] {
        assert!(names.as_array().unwrap().contains(&json!(wanted)), "{names}");
    }
    for name in names.as_array().unwrap() {
        let preset = format!(".presets [data-key={name}] button");
        let pressed = format!("document.querySelector({preset:?}).ariaPressed");
        browser.click(&preset).await;
        browser.wait(&format!("{pressed} === 'true'")).await;
        assert!(bench.sim.faults().rules().len() > 1, "{name}");
        browser.click(&preset).await;
        browser.wait(&format!("{pressed} === 'false'")).await;
        assert_eq!(bench.sim.faults().rules(), [], "{name}");
    }
    bench.sim.faults().add("html-502:0.300").unwrap();
    let preset = ".presets [data-key='Failing gateway'] button";
    let pressed =
        |state: &str| format!("document.querySelector({preset:?}).ariaPressed === {state:?}");
    browser.wait(&pressed("mixed")).await;
    browser.click(preset).await;
    browser.wait(&pressed("true")).await;
    assert_eq!(bench.sim.faults().rules().len(), 2);
}

async fn an_invalid_rule_or_value_is_explained_beside_its_field(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    stage.show("faults", ".fault").await;
    browser.run("document.querySelector('[name=rule]').value = 'html-502@home'").await;
    browser.click("#section-faults form [type=submit]").await;
    let error = "document.querySelector('[name=rule][aria-invalid]')
        ?.closest('.field').querySelector('.error').textContent";
    let text = browser.wait(error).await;
    assert!(text.as_str().unwrap().contains("html-502@home"), "{text}");

    let fault = "document.querySelector('[data-key=error-before]')";
    browser.run(&format!("{fault}.querySelector('[name=value]').value = '200'")).await;
    browser.click("[data-key=error-before] [role=switch]").await;
    let shown = |name: &str| {
        format!(
            "{fault}.querySelector('[name={name}][aria-invalid]')
                ?.closest('.field').querySelector('.error').textContent"
        )
    };
    browser.wait(&shown("value")).await;
    let chance = "fault.querySelector('[name=value]').value = '';
        const often = fault.querySelector('[name=often]');
        often.value = 'chance';
        often.dispatchEvent(new Event('change'));
        fault.querySelector('[name=chance]').value = '1.5';
        fault.querySelector('[role=switch]').click();";
    browser.run(&format!("const fault = {fault}; {chance}")).await;
    browser.wait(&shown("chance")).await;
    assert_eq!(browser.run(&format!("return {} ?? null", shown("value"))).await, json!(null));
    assert_eq!(bench.sim.faults().rules(), []);
    browser.run(&format!("{fault}.querySelector('[name=chance]').value = '1'")).await;
    browser.click("[data-key=error-before] [role=switch]").await;
    browser.wait(&format!("{fault}.querySelector('.switch').textContent === 'on'")).await;
    assert_eq!(browser.run(&format!("return {} ?? null", shown("chance"))).await, json!(null));
}
