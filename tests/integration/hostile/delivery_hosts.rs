//! Delivery URLs that point to the network of the client.

use crate::support::{
    reply::Reply,
    samples::{self, KEY, PNG, assert_kind, client, picture, ready_body, ready_picture, served},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, Client, ClientBuilder, ErrorKind, Picture};

/// A client of a remote service, which polls at `polls`.
fn https_builder(polls: &ScriptedServer) -> ClientBuilder {
    Client::builder()
        .api_key(KEY)
        .base_url("https://api.example.com")
        .allow_polling_host(polls.authority())
        .random_seed(7)
}

/// A picture for which `polls` returns this URL.
async fn picture_at(client: &Client, polls: &ScriptedServer, url: &str) -> Picture {
    polls.reply(Reply::json(200, &ready_body(url)));
    samples::task(client, polls).wait().await.unwrap()
}

async fn assert_refused(picture: &Picture, reason: &str) {
    let error = picture.bytes().await.unwrap_err();
    assert_kind(&error, ErrorKind::AddressRefused);
    assert_eq!(error.task(), Some(picture.task()));
    assert_ne!(error.billing(), Billing::Unknown);
    let text = error.to_string();
    assert!(text.contains(reason), "{reason}: {text}");
    let of_the_url = text.contains("URL scheme") || text.contains("password");
    assert_eq!(text.contains("allow_delivery_host"), !of_the_url, "{text}");
}

#[tokio::test(start_paused = true)]
async fn loopback_is_not_fetched_for_a_remote_service() {
    let (polls, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = https_builder(&polls).build().unwrap();
    let url = samples::delivery_url(&local);
    for (url, reason) in [
        (url.replace("http://", "https://"), "a loopback address"),
        (url, "the base URL uses https"),
    ] {
        let picture = picture_at(&client, &polls, &url).await;

        assert_refused(&picture, reason).await;
    }
    local.assert_received_nothing();
    assert_eq!(polls.received().len(), 2, "the client polled again for a refused picture");
}

#[tokio::test(start_paused = true)]
async fn special_addresses_are_not_fetched() {
    let (service, client) = served().await;
    for (url, reason) in [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is a link-local address"),
        ("http://[fd00::7]/fox.png", "[fd00::7] is a private address"),
        (
            "https://user:delivery-signature-2be617@cdn.example.net/fox.png",
            "a user name or a password",
        ),
    ] {
        let picture = picture_at(&client, &service, url).await;

        assert_refused(&picture, reason).await;
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_to_special_addresses_are_not_followed() {
    for (target, reason) in [
        ("http://[::ffff:10.0.0.7]/fox.png", "a private address"),
        ("//10.0.0.7/fox.png", "a private address"),
        ("file:///etc/passwd", "scheme is `file`"),
        ("http://user:delivery-signature-2be617@127.0.0.1/fox.png", "a user name or a password"),
    ] {
        let (_service, delivery, picture) = ready_picture().await;
        delivery.reply(Reply::redirect(302, target));

        assert_refused(&picture, reason).await;

        delivery.only_request().assert_has_no_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_redirect_to_a_special_address_is_not_followed() {
    let service = ScriptedServer::start().await;
    let picture = picture(&client(&service), &service, &service).await;
    service
        .reply(Reply::redirect(301, "/a"))
        .reply(Reply::redirect(307, "b?c"))
        .reply(Reply::redirect(308, "http://192.168.1.1/"));

    assert_refused(&picture, "192.168.1.1 is a private address").await;

    let targets: Vec<String> =
        service.received().into_iter().skip(2).map(|request| request.target).collect();
    assert_eq!(targets, ["/a", "/b?c"]);
}

#[tokio::test(start_paused = true)]
async fn at_most_five_redirects_are_followed() {
    for (redirects, found) in [(5, true), (6, false)] {
        let service = ScriptedServer::start().await;
        let picture = picture(&client(&service), &service, &service).await;
        service.otherwise(move |request| match request.target.strip_prefix("/hop/") {
            None => Reply::redirect(302, "/hop/1"),
            Some(hop) if hop.parse() == Ok(redirects) => Reply::png(PNG),
            Some(hop) => Reply::redirect(302, &format!("/hop/{}", hop.parse::<u32>().unwrap() + 1)),
        });

        let outcome = picture.bytes().await;

        assert_eq!(outcome.is_ok(), found, "{redirects} redirects: {outcome:?}");
        if let Err(error) = outcome {
            assert_kind(&error, ErrorKind::Download);
            assert!(error.to_string().contains("too many redirects"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn allowed_hosts_are_fetched() {
    let (polls, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let port = local.authority().split(':').next_back().unwrap().to_owned();
    for allowed in [local.authority(), "127.0.0.1".to_owned(), format!("localhost:{port}")] {
        let client = https_builder(&polls).allow_delivery_host(allowed).build().unwrap();
        let picture = picture_at(&client, &polls, &samples::delivery_url(&local)).await;
        local.reply(Reply::png(PNG));

        assert_eq!(picture.bytes().await.unwrap(), PNG);
    }
    local.assert_no_request_has_the_key();
}
