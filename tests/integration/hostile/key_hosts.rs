//! The hosts that receive the key: loopback names, hosts in the settings, and base URLs without
//! TLS.

use serde_json::json;

use crate::support::{
    reply::Reply,
    samples::{KEY, assert_kind, client, fox, ready},
    scripted::ScriptedServer,
};
use imagekiln::{Client, ClientBuilder, Error, ErrorKind};

fn https_builder() -> ClientBuilder {
    Client::builder().api_key(KEY).base_url("https://api.example.com")
}

/// Returns the settings error, and asserts that it does not contain the password.
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
async fn the_base_url_matches_other_loopback_names() {
    let service = ScriptedServer::start().await;
    let polling_url = format!("http://localhost:{}/poll/t1", port(&service));
    service
        .reply(Reply::json(200, &json!({ "id": "t1", "polling_url": polling_url })))
        .reply(ready(&service));

    let _ = client(&service).submit(fox()).await.unwrap().wait().await.unwrap();

    service.polls()[0].assert_has_key();
}

#[test]
fn an_allowed_host_that_is_not_a_host_is_an_error() {
    for (text, shown) in [
        ("https://polls.example.net", "`https://polls.example.net`"),
        ("polls.example.net/v1?token=PASSWORD", "`polls.example.net/v1`"),
        ("user:PASSWORD@polls.example.net", "`[redacted]`"),
    ] {
        for (setter, builder) in [
            ("allow_polling_host", https_builder().allow_polling_host(text)),
            ("allow_delivery_host", https_builder().allow_delivery_host(text)),
        ] {
            assert!(!format!("{builder:?}").contains("PASSWORD"), "{builder:?}");
            let text = settings_error(builder).to_string();
            assert!(text.contains(setter) && text.contains(shown), "{text}");
            assert!(text.contains("host.example.net"), "{text}");
        }
    }
}

#[test]
fn a_remote_base_url_without_tls_needs_allow_http() {
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
            let text = settings_error(builder.clone()).to_string();
            for part in [variable, "IMAGEKILN_ALLOW_HTTP=1", "ClientBuilder::allow_http"] {
                assert!(text.contains(part), "{part}: {text}");
            }
            builder.allow_http(true).build().unwrap();
        }
    }
    for base in
        ["http://localhost:4000", "http://127.0.0.1:4000", "http://[::1]:4000", "http://127.8.9.1"]
    {
        https_builder().base_url(base).regional_base_url(base).build().unwrap();
    }
}
