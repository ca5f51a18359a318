//! The key, a webhook's secret and signed queries: in none of what is printed or logged.

use std::fmt::Debug;

use imagekiln::{TaskRef, WaitOptions, WebhookSecret};
use serde_json::json;
use tempfile::TempDir;
use tokio::time;

use crate::support::{
    answer::Answer,
    events::Events,
    samples::{self, KEY, PNG, WEBHOOK_SECRET, assert_no_secret, fox, picture, seconds},
    scripted::ScriptedServer,
};

fn shown(value: &impl Debug) -> String {
    format!("{value:?}\n{value:#?}")
}

#[tokio::test(start_paused = true)]
async fn are_in_no_debug_text() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let builder = samples::builder(&service);
    let client = builder.clone().build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    service.answer(samples::ready(&delivery));
    let task = samples::task(&client, &service);
    let update = task.poll().await.unwrap();
    let updates = task.updates(WaitOptions::default());
    let request = fox().webhook_secret(WEBHOOK_SECRET).extra("token", KEY);

    let texts = [
        shown(&builder),
        shown(&client),
        shown(&task),
        shown(task.reference()),
        shown(&update),
        shown(&updates),
        shown(&picture),
        format!("{} {}", picture.address(), task.reference().polling_url()),
        shown(&request),
        shown(&imagekiln::Submit::into_request(request.clone())),
        shown(&WebhookSecret::from(WEBHOOK_SECRET)),
        shown(
            &imagekiln::Client::builder().base_url(format!("https://u:{KEY}@a.example/?k={KEY}")),
        ),
    ];

    texts.iter().for_each(|text| assert_no_secret(text));
    assert!(texts[0].contains("[redacted]") && texts[1].contains("[redacted]"));
}

/// They are hidden where they are printed, and whole where they are kept.
#[tokio::test(start_paused = true)]
async fn are_kept_where_they_are_needed_again() {
    let service = ScriptedServer::start().await;
    let reference = samples::reference(&service);

    let kept: TaskRef = serde_json::from_str(&serde_json::to_string(&reference).unwrap()).unwrap();

    assert_eq!(kept, reference);
    assert_eq!(kept.polling_url().reveal(), samples::polling_url(&service, "t1"));
    assert_eq!(serde_json::to_value(WebhookSecret::from(WEBHOOK_SECRET)).unwrap(), WEBHOOK_SECRET);
}

/// A run in which nearly everything goes wrong, so that nearly everything is logged.
#[tokio::test(start_paused = true)]
async fn are_in_no_event_and_no_span() {
    let events = Events::capture();
    let directory = TempDir::new().unwrap();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let echo = json!({ "detail": format!("{KEY} {WEBHOOK_SECRET}") });
    service
        .answer(Answer::json(429, &echo))
        .answer(samples::accepted(&service, "t1"))
        .answer(Answer::json(500, &echo))
        .answer(Answer::reset())
        .answer(Answer::html(200))
        .answer(samples::status("Pending"))
        .answer(samples::ready(&delivery))
        .answer(samples::ready(&delivery))
        .answer(Answer::json(500, &echo))
        .answer(Answer::json(403, &echo))
        .answer(Answer::redirect(302, &samples::delivery_url(&delivery)));
    delivery
        .answer(Answer::html(200))
        .answer(Answer::redirect(302, &samples::delivery_url(&delivery)))
        .answer(Answer::png(PNG))
        .answer(Answer::status(403));
    let client = samples::builder(&service).build().unwrap();
    let request = || {
        fox()
            .webhook_url("https://hooks.example.com/done?k=1")
            .webhook_secret(WEBHOOK_SECRET)
            .input_image(PNG.to_vec())
    };

    let task = client.submit(request()).await.unwrap();
    let picture = task.wait().await.unwrap();
    picture.save(directory.path().join("fox.png")).await.unwrap();
    time::advance(seconds(700)).await;
    picture.save(directory.path().join("late.png")).await.unwrap_err();
    client.submit(request()).await.unwrap_err();
    client.submit(request()).await.unwrap_err();
    task.wait().await.unwrap_err();

    let log = events.text();
    assert_no_secret(&log);
    assert!(!log.contains("red fox"), "the prompt was logged");
    for named in
        ["submit", "gen-2-pro", "t1", "attempt", "accepted", "poll", "saved", "not accepted"]
    {
        assert!(log.contains(named), "`{named}` was not logged:\n{log}");
    }
    delivery.assert_no_request_has_the_key();
    service.assert_every_request_has_the_key();
}
