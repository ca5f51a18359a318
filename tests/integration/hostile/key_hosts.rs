//! Which hosts get the key: the loopback names, the hosts of the settings, and bases without TLS.

use imagekiln::{Client, ClientBuilder, Error, ErrorKind, TaskRef};
use serde_json::json;

use crate::support::{
    answer::Answer,
    samples::{self, KEY, assert_kind, client, fox, ready},
    scripted::ScriptedServer,
};

fn https_builder() -> ClientBuilder {
    Client::builder().api_key(KEY).base_url("https://api.example.com")
}

/// The error of the settings, which is a complaint about them and repeats no password.
#[track_caller]
fn settings_error(builder: ClientBuilder) -> Error {
    let error = builder.build().unwrap_err();
    assert_kind(&error, ErrorKind::Settings);
    assert!(!format!("{error} {error:?}").contains("PASSWORD"), "{error:?}");
    error
}

fn port(server: &ScriptedServer) -> String {
    server.authority().split(':').next_back().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_base_is_known_by_another_loopback_name() {
    let service = ScriptedServer::start().await;
    let polling_url = format!("http://localhost:{}/poll/t1", port(&service));
    service
        .answer(Answer::json(200, &json!({ "id": "t1", "polling_url": polling_url })))
        .answer(ready(&service));

    let _ = client(&service).submit(fox()).await.unwrap().wait().await.unwrap();

    service.polls()[0].assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn an_allowed_loopback_host_is_known_by_another_name() {
    for name in ["localhost", "LOCALHOST.", "[::1]", "127.0.0.1"] {
        let polls = ScriptedServer::start().await;
        polls.answer(ready(&polls));
        let client =
            https_builder().allow_polling_host(format!("{name}:{}", port(&polls))).build().unwrap();

        samples::task(&client, &polls).poll().await.unwrap();

        polls.only_request().assert_has_key();
    }
}

#[tokio::test(start_paused = true)]
async fn another_loopback_address_than_the_base_gets_nothing() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    for host in ["127.0.0.2", "0.0.0.0", "[::2]", "localhost.example"] {
        let url = format!("http://{host}:{}/poll/t1", port(&service));

        let error = client.task(TaskRef::new("t1", url, None)).poll().await.unwrap_err();

        assert_kind(&error, ErrorKind::KeyWithheld);
    }
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn an_allowed_host_without_tls_needs_another_permission() {
    let url = "http://polls.example.net/poll/t1";
    let client = https_builder().allow_polling_host("polls.example.net").build().unwrap();

    let error = client.task(TaskRef::new("t1", url, None)).poll().await.unwrap_err();

    assert_kind(&error, ErrorKind::KeyWithheld);
}

#[test]
fn an_allowed_host_that_is_not_a_host_is_an_error() {
    for (text, shown) in [
        ("", "``"),
        ("https://polls.example.net", "`https://polls.example.net`"),
        ("polls.example.net/v1?token=PASSWORD", "`polls.example.net/v1`"),
        ("user:PASSWORD@polls.example.net", "`[redacted]`"),
        ("*.example.net", "`*.example.net`"),
        ("polls.example.net:0", "`polls.example.net:0`"),
        ("::1", "`::1`"),
        ("co.uk", "`co.uk`"),
    ] {
        for (setter, builder) in [
            ("allow_polling_host", https_builder().allow_polling_host(text)),
            ("allow_delivery_host", https_builder().allow_delivery_host(text)),
        ] {
            assert!(!format!("{builder:?}").contains("PASSWORD"), "{builder:?}");
            let said = settings_error(builder).to_string();
            assert!(said.contains(setter) && said.contains(shown), "{said}");
            assert!(said.contains("host.example.net"), "{said} says what to write");
        }
    }
}

#[test]
fn a_base_without_tls_on_another_machine_needs_permission() {
    for base in [
        "http://api.example.com",
        "http://10.0.0.7:4000",
        "http://api.localhost",
        "http://0.0.0.0:4000",
    ] {
        for (variable, builder) in [
            ("IMAGEKILN_BASE_URL", https_builder().base_url(base)),
            ("IMAGEKILN_REGIONAL_BASE_URL", https_builder().regional_base_url(base)),
        ] {
            let said = settings_error(builder.clone()).to_string();
            for part in [variable, "IMAGEKILN_ALLOW_HTTP=1", "ClientBuilder::allow_http(true)"] {
                assert!(said.contains(part), "{part}: {said}");
            }
            builder.allow_http(true).build().unwrap();
        }
    }
}

#[test]
fn a_base_without_tls_on_this_machine_needs_none() {
    for base in
        ["http://localhost:4000", "http://127.0.0.1:4000", "http://[::1]:4000", "http://127.8.9.1"]
    {
        https_builder().base_url(base).regional_base_url(base).build().unwrap();
    }
}
