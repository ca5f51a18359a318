//! The spans of HTTP exchanges follow OpenTelemetry's conventions, and have their parents.

use std::fmt::Write as _;

use tokio::time;
use tracing::Instrument;

use crate::{
    support::{
        done,
        reply::Reply,
        samples::{self, PNG, accepted, builder, fox, seconds, served},
        scripted::ScriptedServer,
        spans::Spans,
    },
    transport::refused,
};

/// The spans as a tree, with names for the addresses of the servers.
fn tree(spans: &Spans, servers: [(&str, &ScriptedServer); 2]) -> String {
    let mut text = String::new();
    for span in spans.all() {
        let depth = spans.parents(&span).len();
        writeln!(text, "{:depth$}{} {}", "", span.level, span.name).unwrap();
        for (name, value) in &span.fields {
            writeln!(text, "{:depth$}  {name} = {value}", "").unwrap();
        }
    }
    for (name, server) in servers {
        let url = server.url("");
        let port = url.trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
        text = text.replace(&port, &format!("[port of {name}]"));
    }
    text
}

#[tokio::test(start_paused = true)]
async fn every_exchange_has_a_span_in_that_of_its_call() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = builder(&service).poll_deadline(seconds(3)).build().unwrap();
    service
        .reply(refused())
        .reply(accepted(&service, "t1"))
        .reply(Reply::silence())
        .reply(samples::ready(&delivery));
    delivery.reply(Reply::redirect(302, "/moved.png")).reply(Reply::png(PNG));
    let spans = Spans::capture();

    let work = async {
        client.submit(fox()).await.unwrap().wait().await.unwrap().bytes().await.unwrap();
    };
    work.instrument(tracing::info_span!("page")).await;

    insta::assert_snapshot!(tree(&spans, [("service", &service), ("delivery", &delivery)]));
}

#[tokio::test(start_paused = true)]
async fn a_submission_without_a_caller_keeps_its_span() {
    let (service, client) = served().await;
    let (reply, pieces) = Reply::nothing().in_pieces();
    service.reply(reply);
    let spans = Spans::capture();

    let page = tracing::info_span!("page");
    let submitting = client.submit(fox()).instrument(page);
    assert!(time::timeout(seconds(1), submitting).await.is_err());
    pieces.send(accepted(&service, "t1").bytes());
    assert_eq!(done(client.drain(seconds(10))).await.unwrap().len(), 1);

    let exchange = &spans.named("HTTP request")[0];
    assert_eq!(spans.parents(exchange), ["submit", "page"]);
    assert_eq!(exchange.field("http.response.status_code"), "200");
    let submission = &spans.named("submit")[0];
    assert_eq!(submission.field("imagekiln.task.id"), "t1");
    assert_eq!(submission.field("imagekiln.credits"), "4.0");
}

/// The path of a polling URL usually contains the id, which would make each name unique.
#[tokio::test(start_paused = true)]
async fn names_contain_no_task_ids() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::client(&service);
    let spans = Spans::capture();

    let _ = samples::picture(&client, &service, &delivery).await;

    let all = spans.all();
    assert!(all.iter().any(|span| span.field("otel.name") == "GET"), "{all:?}");
    for span in all {
        assert!(!span.field("otel.name").contains("t1"), "{span:?}");
        assert!(!span.fields.contains_key("url.template"), "{span:?}");
    }
}
