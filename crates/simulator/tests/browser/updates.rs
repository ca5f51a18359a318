//! Live updates do not disturb what a person does: the focus, typed and selected text, and opened
//! parts stay.

use serde_json::json;

use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;

use super::{
    bench::small,
    stage::{self, Stage},
};

pub fn tests() -> Vec<Trial> {
    vec![
        stage::test(Config::default(), what_is_typed_and_opened_stays_when_credits_are_spent),
        stage::test(Config::default(), a_selection_and_the_focus_stay_when_requests_arrive),
        stage::test(Config::default(), a_button_keeps_the_focus_when_other_rules_come_and_go),
    ]
}

async fn submit(stage: &Stage<'_>) {
    let body = small("a fox");
    stage.bench.submit("/v1/gen-2-pro", &body).await;
}

async fn what_is_typed_and_opened_stays_when_credits_are_spent(stage: &Stage<'_>) {
    let browser = &stage.browser;
    stage.show("accounts", ".organization").await;
    browser
        .run(
            "document.querySelector('.organization .panel details').open = true;
             window.field = document.querySelector('.organization [name=endpoints]');
             field.focus();
             field.value = 'gen-2-pro';
             field.setSelectionRange(2, 5);",
        )
        .await;
    submit(stage).await;
    browser.wait("document.querySelector('.usage').textContent.includes('3.00 credits')").await;
    let state = "return [
        document.activeElement === field,
        field.value,
        field.selectionStart,
        field.selectionEnd,
        document.querySelector('.organization .panel details').open,
    ]";
    assert_eq!(browser.run(state).await, json!([true, "gen-2-pro", 2, 5, true]));
}

async fn a_selection_and_the_focus_stay_when_requests_arrive(stage: &Stage<'_>) {
    let browser = &stage.browser;
    browser.click("nav a[href='#/requests']").await;
    submit(stage).await;
    browser.wait("document.querySelector('.request')").await;
    browser
        .run(
            "getSelection().selectAllChildren(document.querySelector('.request .call'));
             window.link = document.querySelector('.request .of');
             link.focus();",
        )
        .await;
    submit(stage).await;
    browser.wait("document.querySelectorAll('.request').length === 2").await;
    let state = "return [
        document.activeElement === link,
        String(getSelection()),
        link.closest('.request') === document.querySelector('.request:last-child'),
    ]";
    assert_eq!(browser.run(state).await, json!([true, "POST /v1/gen-2-pro", true]));
}

async fn a_button_keeps_the_focus_when_other_rules_come_and_go(stage: &Stage<'_>) {
    let (bench, browser) = (&stage.bench, &stage.browser);
    bench.sim.faults().add("html-502:once").unwrap();
    bench.sim.faults().add("truncated:once").unwrap();
    browser.click("nav a[href='#/faults']").await;
    let button = "document.querySelector('[aria-label=\"Remove truncated:once\"]')";
    browser.wait(button).await;
    browser.run(&format!("window.button = {button}; button.focus()")).await;
    browser.click("[aria-label='Remove html-502:once']").await;
    browser.wait("document.querySelectorAll('.rules tbody tr').length === 1").await;
    bench.sim.faults().add("error-before:once").unwrap();
    browser.wait("document.querySelectorAll('.rules tbody tr').length === 2").await;
    assert_eq!(browser.run("return document.activeElement === button").await, true);
}
