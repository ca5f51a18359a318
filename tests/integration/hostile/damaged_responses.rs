//! Truncated or damaged success responses: neither the billed task nor its picture is lost.

use std::{collections::HashSet, io::Write};

use flate2::{Compression, write::GzEncoder};
use serde_json::json;

use crate::support::{
    reply::Reply,
    samples::{
        self, DELIVERY_SIGNATURE, KEY, POLLING_SIGNATURE, assert_billing, client, fox, ready, task,
    },
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, TaskStatus};

const DELIVERED: &str = "https://delivery.example/fox.png?signature=delivery-signature-2be617";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Returns `members` (the content of an object) with every kind of damage that leaves them
/// readable.
fn damaged(members: &str) -> Vec<(&'static str, Reply)> {
    let whole = format!("{{{members}}}").into_bytes();
    let open = format!("{{{members},").into_bytes();
    let body = |body: &[u8]| Reply::status(200).body(body);
    let around =
        |before: &str, after: &str| body(format!("{before}{{{members}}}{after}").as_bytes());
    let with = |member: &[u8]| [b"{", member, b",", members.as_bytes(), b"}"].concat();
    let padding = " ".repeat(4_300_000);
    let half_of_gzip = gzip(&[open.as_slice(), " ".repeat(100_000).as_bytes()].concat());
    let utf16 = |text: &[u8]| -> Vec<u8> {
        let text = std::str::from_utf8(text).unwrap();
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    vec![
        ("closed too early", body(&open).declaring_length(900).then_close()),
        ("reset", body(&open).declaring_length(900).then_reset()),
        ("silent", body(&open).declaring_length(900).then_silence()),
        ("complete, then silent", body(&whole).declaring_length(900).then_silence()),
        ("chunks cut", Reply::cut_chunks(&open)),
        ("cut without a length", body(&open).until_close()),
        ("padding after", around("", &padding)),
        ("padding before", around(&padding, "")),
        ("padding inside", body(&with(format!("\"x\":\"{padding}\"").as_bytes()))),
        ("NaN", body(&with(b"\"cost\":NaN,\"x\":-Infinity"))),
        ("half a surrogate pair", body(&with(br#""x":"\ud83e","y":"\udd8a\ud83e""#))),
        ("Latin-1", body(&with(b"\"caf\xe9\":\"cr\xe8me\""))),
        (
            "deep nesting",
            body(&with(format!("\"x\":{}{}", "[".repeat(200), "]".repeat(200)).as_bytes())),
        ),
        (
            "unclosed nesting",
            body(&with(format!("\"x\":{}", "[".repeat(100)).as_bytes())).until_close(),
        ),
        ("a byte order mark", around("\u{feff}", "")),
        ("UTF-16", body(&utf16(&whole))),
        ("text before", around(")]}',\n", "")),
        ("text after", around("", "\n<!-- served by proxy-7 -->{\"id\":\"other\"}")),
        ("a trailing comma", body(&[open.as_slice(), b"}"].concat())),
        ("control characters", body(&with(b"\"x\":\"a\x00\x1b\nb\""))),
        ("in an array", around("[", "]")),
        ("as a JSON string", Reply::json(200, &String::from_utf8(whole.clone()).unwrap().into())),
        ("gzip, declared", body(&gzip(&whole)).header("Content-Encoding", "gzip")),
        ("gzip, not declared", body(&gzip(&whole))),
        ("gzip, declared but not used", body(&whole).header("Content-Encoding", "gzip")),
        ("half of a gzip", body(&half_of_gzip[..half_of_gzip.len() - 20]).until_close()),
    ]
}

/// An unclosed array hides the members after it.
fn hides_what_follows(damage: &str) -> bool {
    damage == "unclosed nesting"
}

#[tokio::test(start_paused = true)]
async fn damaged_submission_responses_keep_the_task() {
    let members = |service: &ScriptedServer| {
        format!(r#""id":"t1","polling_url":"{}","cost":4"#, samples::polling_url(service, "t1"))
    };
    let count = damaged("").len();
    for index in 0..count {
        let service = ScriptedServer::start().await;
        let (damage, reply) = damaged(&members(&service)).swap_remove(index);
        if hides_what_follows(damage) {
            continue;
        }
        service.reply(reply).reply(ready(&service));

        let task = client(&service)
            .submit(fox())
            .await
            .unwrap_or_else(|error| panic!("{damage}: {error:?}"));
        let _ = task.wait().await.unwrap();

        assert_eq!(task.id(), "t1", "{damage}");
        assert_eq!(service.posts().len(), 1, "{damage}");
        assert!(service.polls()[0].target.starts_with("/poll/t1?signature="), "{damage}");
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn damaged_poll_responses_keep_the_picture() {
    let members =
        format!(r#""id":7,"status":"Ready","result":{{"sample":"{DELIVERED}","seed":NaN}}"#);
    for (damage, reply) in damaged(&members) {
        if hides_what_follows(damage) {
            continue;
        }
        let service = ScriptedServer::start().await;
        service.reply(reply);

        let outcome = task(&client(&service), &service).wait().await;

        let picture = outcome.unwrap_or_else(|error| panic!("{damage}: {error:?}"));
        assert_eq!(picture.address().reveal(), DELIVERED, "{damage}");
        service.only_request().assert_has_key();
    }
}

/// Members before the damage are read, even if nothing after it can be.
#[tokio::test(start_paused = true)]
async fn responses_are_read_up_to_the_damage() {
    let service = ScriptedServer::start().await;
    let cut = format!("{{\"id\":\"t1\",\"x\":{}", "[".repeat(100));
    service.reply(Reply::status(200).body(cut).until_close()).reply(ready(&service));

    let task = client(&service).submit(fox()).await.unwrap();
    let _ = task.wait().await.unwrap();

    assert_eq!(service.polls()[0].target, "/v1/get_result?id=t1");
}

#[tokio::test(start_paused = true)]
async fn a_polling_url_without_an_id_is_enough() {
    for (body, id) in [
        (json!({ "polling_url": "/poll?id=t%201" }), "t 1"),
        (json!({ "polling_url": "/poll/task-0001", "id": null }), "task-0001"),
        (json!({ "polling_url": "/poll/task-0001", "id": { "value": 1 } }), "task-0001"),
        (json!({ "data": { "polling_url": "/poll/t1", "id": "w" } }), "w"),
    ] {
        let service = ScriptedServer::start().await;
        service.reply(Reply::json(200, &body)).reply(ready(&service));

        let task = client(&service).submit(fox()).await.unwrap();
        let _ = task.wait().await.unwrap();

        assert_eq!(task.id(), id, "{body}");
        service.assert_every_request_has_the_key();
    }
}

/// All tasks may share the path, and the query may be secret.
#[tokio::test(start_paused = true)]
async fn an_id_that_is_not_in_the_polling_url_is_unique_to_it() {
    let service = ScriptedServer::start().await;
    let mut ids = HashSet::new();
    for (path, name) in [
        ("/poll?s=1", "poll"),
        ("/poll?s=2", "poll"),
        ("/v1/task-0001/result", "result"),
        ("/v1/task-0002/result", "result"),
        ("/", "unnamed"),
        ("/?s=1", "unnamed"),
    ] {
        let separator = if path.contains('?') { '&' } else { '?' };
        let url = format!("{path}{separator}signature={POLLING_SIGNATURE}");
        service.reply(Reply::json(200, &json!({ "polling_url": url })));

        let task = client(&service).submit(fox()).await.unwrap();

        let (found, hash) = task.id().rsplit_once('-').unwrap();
        assert_eq!((found, hash.len()), (name, 16), "{path}");
        assert!(ids.insert(task.id().to_owned()), "{path}");
        samples::assert_no_secret(task.id());
    }
}

/// The id may be that of the request, but it can be polled.
#[tokio::test(start_paused = true)]
async fn an_id_in_a_failure_is_a_candidate() {
    for reply in [
        Reply::json(500, &json!({ "id": "t1", "detail": "failed in the queue" })),
        Reply::json(504, &json!({ "id": "t1" })),
        Reply::json(409, &json!({ "id": "t1" })),
        Reply::status(502).body("{\"id\":\"t1\",\"detai").declaring_length(500).then_close(),
        Reply::status(503).body("{\"id\":\"t1\"").declaring_length(500).then_silence(),
    ] {
        let service = ScriptedServer::start().await;
        service.reply(reply).reply(ready(&service));
        let client = client(&service);

        let error = client.submit(fox()).await.unwrap_err();

        assert_billing(&error, ErrorKind::Service, Billing::Unknown);
        let candidate = error.task().expect("the response contained an id").clone();
        assert_eq!(candidate.id(), "t1");
        let _ = client.task(candidate).wait().await.unwrap();
        assert_eq!(service.posts().len(), 1);
    }
}

/// A refusal with a polling URL contradicts itself. Sending the submission again could be billed
/// twice.
#[tokio::test(start_paused = true)]
async fn refusals_with_a_polling_url_are_unknown() {
    for status in [400, 403, 422, 429] {
        let service = ScriptedServer::start().await;
        let url = samples::polling_url(&service, "t1");
        service.reply(Reply::json(status, &json!({ "id": "t1", "polling_url": url })));

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_eq!(error.billing(), Billing::Unknown, "{error:?}");
        assert_eq!(error.task().map(imagekiln::TaskRef::id), Some("t1"));
        assert_eq!(service.posts().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn damaged_poll_responses_keep_other_fields() {
    let service = ScriptedServer::start().await;
    let body = concat!(
        r#"{"id":7,"status":"Pending","not_defined":0.5,"cost":NaN,"#,
        r#""not_defined_either":{"step":3}}"#,
    );
    service.reply(Reply::status(200).body(body));

    let update = task(&client(&service), &service).poll().await.unwrap();

    assert_eq!(update.status(), &TaskStatus::InProgress("Pending".to_owned()));
    assert_eq!(update.response().extra["not_defined"], 0.5);
    assert_eq!(update.response().extra["not_defined_either"], json!({ "step": 3 }));
    assert!(!update.response().extra.contains_key("cost"));
}

/// Near the deadline, the client uses what has arrived of the response.
#[tokio::test(start_paused = true)]
async fn poll_responses_that_hang_count_at_the_deadline() {
    let service = ScriptedServer::start().await;
    let body = samples::ready_body(DELIVERED).to_string();
    service.reply(Reply::status(200).body(body).declaring_length(5000).then_silence());

    let picture = task(&client(&service), &service).wait_with(samples::deadline(5)).await.unwrap();

    assert!(picture.address().reveal().contains(DELIVERY_SIGNATURE));
}

/// The reference needs an id, but it must not contain the key.
#[tokio::test(start_paused = true)]
async fn responses_that_echo_the_key_do_not_leak_it() {
    let service = ScriptedServer::start().await;
    service
        .reply(Reply::json(
            200,
            &json!({ "id": KEY, "polling_url": samples::polling_url(&service, "t1") }),
        ))
        .reply(samples::status(&format!("Pending {KEY}")))
        .reply(samples::status("Error"));
    let task = client(&service).submit(fox()).await.unwrap();

    let update = task.poll().await.unwrap();
    let error = task.wait().await.unwrap_err();

    let texts = format!("{task:?} {update:?} {} {error} {error:?}", update.status().as_str());
    samples::assert_no_secret(&texts);
    assert_eq!(task.id(), "[redacted]");
    service.assert_every_request_has_the_key();
}
