//! The pages of the simulator that the book shows. Their pictures have times, so only what they
//! show is tested.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{commands, pictures};
use crate::{bench::Bench, server::Server};
use imagekiln_simulator::WebhookState;

const TASKS: &str = "docs/simulator-page.png";
const REQUESTS: &str = "docs/pictures/requests.png";
const WEBHOOKS: &str = "docs/pictures/webhooks.png";

#[test]
fn the_simulator_shows_requests_and_webhooks() {
    let bench = Bench::new();
    if !commands::has_curl(&bench) {
        eprintln!("not run, because it needs curl 7.82");
        return;
    }
    let receiver = Server::new();
    let url = format!("{}/hooks", receiver.url());
    let answering = thread::spawn(move || receiver.next().respond(200, &json!({})));
    let outcome = bench.shell(&format!(
        r#"
        export IMAGEKILN_WEBHOOK_SECRET="a secret"
        kiln generate "a lighthouse [[html-502@poll:2x]]" --seed 3 --webhook-url {url}
        curl --silent --header "x-key: $IMAGEKILN_API_KEY" \
            --json '{{"prompt": "a red fox", "width": 16}}' "$IMAGEKILN_BASE_URL/v1/gen-2-pro"
        "#
    ));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    answering.join().unwrap();
    let delivered = bench.simulator.webhooks_when(|webhooks| {
        webhooks.iter().any(|webhook| webhook.state == WebhookState::Delivered)
    });
    Runtime::new().unwrap().block_on(delivered);
    let requests = bench.simulator.requests();
    let with = |status: u16| requests.iter().filter(|it| it.status == Some(status)).count();
    assert_eq!((with(422), with(502)), (1, 2));
    if pictures::is_session() {
        let page = bench.simulator.control_url();
        let shows = |text: &str| format!("document.body.innerText.includes('{text}')");
        pictures::photograph(&format!("{page}#/requests"), &shows("422"), 620, REQUESTS);
        pictures::photograph(&format!("{page}#/webhooks"), &shows("attempt 1"), 460, WEBHOOKS);
    }
}

/// Submits tasks with curl, given their operations and bodies.
fn submit(bench: &Bench, tasks: &[(&str, Value)]) {
    for (operation, body) in tasks {
        let outcome = bench.shell(&format!(
            r#"curl --fail --silent --header "x-key: $IMAGEKILN_API_KEY" \
                "$IMAGEKILN_BASE_URL/v1/{operation}" --json '{body}'"#
        ));
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    }
}

#[test]
fn the_simulator_shows_tasks() {
    let ready_after = Duration::from_secs(60);
    let bench = Bench::ready_after(ready_after);
    if !commands::has_curl(&bench) {
        eprintln!("not run, because it needs curl 7.82");
        return;
    }
    let body = |prompt: &str| json!({ "prompt": prompt, "width": 1024, "height": 768, "seed": 7 });
    let mut coffee = body("a robot with a cup of coffee");
    coffee["quality"] = "high".into();
    let done = [
        ("gen-2-pro", body("a castle in the mountains, night, aurora")),
        ("gen-2-pro", body("a lighthouse at sunset, two sailboats")),
        ("gen-2-pro", body("a red fox in the snow")),
        ("gen-2-flex", coffee),
        ("gen-2-pro", body("gore in the woods")),
    ];
    submit(&bench, &done);
    bench.simulator.clock().advance(ready_after);
    submit(&bench, &[("gen-2-pro", body("waves at the beach"))]);
    let statuses: Vec<_> = bench.simulator.tasks().into_iter().map(|task| task.status).collect();
    assert_eq!(statuses[3..], ["Ready", "Request Moderated", "Pending"]);
    if pictures::is_session() {
        let shown = "[...document.querySelectorAll('.card img')].filter((one) => one.naturalWidth)";
        let is_drawn = format!("{shown}.length === 4 && document.querySelector('.live').innerText");
        pictures::photograph(bench.simulator.control_url(), &is_drawn, 930, TASKS);
    }
}
