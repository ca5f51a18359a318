//! Delivery URLs that lead where a picture does not come from: into the network of the machine that
//! fetches it.

use imagekiln::{Client, ClientBuilder, ErrorKind, Picture};

use crate::support::{
    answer::Answer,
    samples::{self, KEY, PNG, assert_kind, client, picture, ready_body},
    scripted::ScriptedServer,
};

/// A client of a service elsewhere, which polls at `polls`.
fn https_builder(polls: &ScriptedServer) -> ClientBuilder {
    Client::builder()
        .api_key(KEY)
        .base_url("https://api.example.com")
        .allow_polling_host(polls.authority())
        .random_seed(7)
}

/// The picture of a task that `polls` says is at this URL.
async fn picture_at(client: &Client, polls: &ScriptedServer, url: &str) -> Picture {
    polls.answer(Answer::json(200, &ready_body(url)));
    samples::task(client, polls).wait().await.unwrap()
}

async fn assert_refused(picture: &Picture, reason: &str) {
    let error = picture.bytes().await.unwrap_err();
    assert_kind(&error, ErrorKind::AddressRefused);
    assert_eq!(error.task(), Some(picture.task()));
    assert!(!error.may_have_been_billed());
    let said = error.to_string();
    assert!(said.contains(reason), "{reason}: {said}");
    let of_the_url = said.contains("its scheme") || said.contains("password");
    assert_eq!(said.contains("allow_delivery_host"), !of_the_url, "{said}");
}

#[tokio::test(start_paused = true)]
async fn on_this_machine_are_not_fetched_for_a_service_elsewhere() {
    let (polls, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = https_builder(&polls).build().unwrap();
    let url = samples::delivery_url(&local);
    for (url, reason) in [
        (url.replace("http://", "https://"), "a loopback address"),
        (url, "the service over https"),
    ] {
        let picture = picture_at(&client, &polls, &url).await;

        assert_refused(&picture, reason).await;
    }
    local.assert_received_nothing();
    assert_eq!(polls.received().len(), 2, "a refused picture is not polled for again");
}

#[tokio::test(start_paused = true)]
async fn at_special_addresses_are_not_fetched() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    for (url, reason) in [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is a link-local address"),
        ("http://0xa9fea9fe/latest/meta-data", "169.254.169.254 is a link-local address"),
        ("http://[::ffff:169.254.169.254]/", "a link-local address"),
        ("http://10.0.0.7:9000/fox.png", "10.0.0.7 is a private address"),
        ("http://127.0.0.2/fox.png", "127.0.0.2 is a loopback address"),
        ("http://0.0.0.0/fox.png", "an unspecified address"),
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
async fn behind_a_redirect_are_not_fetched() {
    for (target, reason) in [
        ("http://169.254.169.254/latest/meta-data", "a link-local address"),
        ("//10.0.0.7/fox.png", "a private address"),
        ("http://[::ffff:10.0.0.7]/fox.png", "a private address"),
        ("http://127.0.0.2:9/fox.png", "a loopback address"),
        ("file:///etc/passwd", "scheme is `file`"),
        ("http://user:delivery-signature-2be617@127.0.0.1/fox.png", "a user name or a password"),
    ] {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        delivery.answer(Answer::redirect(302, target));

        assert_refused(&picture, reason).await;

        delivery.only_request().assert_has_no_key();
    }
}

#[tokio::test(start_paused = true)]
async fn behind_the_last_of_many_redirects_are_not_fetched() {
    let service = ScriptedServer::start().await;
    let picture = picture(&client(&service), &service, &service).await;
    service
        .answer(Answer::redirect(301, "/a"))
        .answer(Answer::redirect(307, "b?c"))
        .answer(Answer::redirect(308, "http://192.168.1.1/"));

    assert_refused(&picture, "192.168.1.1 is a private address").await;

    let targets: Vec<String> =
        service.received().into_iter().skip(2).map(|request| request.target).collect();
    assert_eq!(targets, ["/a", "/b?c"]);
}

#[tokio::test(start_paused = true)]
async fn are_fetched_after_five_redirects_and_not_after_six() {
    for (redirects, found) in [(5, true), (6, false)] {
        let service = ScriptedServer::start().await;
        let picture = picture(&client(&service), &service, &service).await;
        service.otherwise(move |request| match request.target.strip_prefix("/hop/") {
            None => Answer::redirect(302, "/hop/1"),
            Some(hop) if hop.parse() == Ok(redirects) => Answer::png(PNG),
            Some(hop) => {
                Answer::redirect(302, &format!("/hop/{}", hop.parse::<u32>().unwrap() + 1))
            }
        });

        let outcome = picture.bytes().await;

        assert_eq!(outcome.is_ok(), found, "{redirects} redirects: {outcome:?}");
        if let Err(error) = outcome {
            assert_kind(&error, ErrorKind::Delivery);
            assert!(error.to_string().contains("redirects too often"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn that_the_user_allowed_are_fetched() {
    let (polls, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let port = local.authority().split(':').next_back().unwrap().to_owned();
    for allowed in [local.authority(), "127.0.0.1".to_owned(), format!("localhost:{port}")] {
        let client = https_builder(&polls).allow_delivery_host(allowed).build().unwrap();
        let picture = picture_at(&client, &polls, &samples::delivery_url(&local)).await;
        local.answer(Answer::png(PNG));

        assert_eq!(picture.bytes().await.unwrap(), PNG);
    }
    local.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn at_another_port_than_the_allowed_one_are_not_fetched() {
    let (polls, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = https_builder(&polls).allow_delivery_host("127.0.0.1:9").build().unwrap();
    let picture = picture_at(&client, &polls, &samples::delivery_url(&local)).await;

    assert_refused(&picture, "").await;

    local.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn without_tls_are_not_fetched_for_a_service_with_it() {
    let polls = ScriptedServer::start().await;
    let client = https_builder(&polls).build().unwrap();
    let picture = picture_at(&client, &polls, "http://cdn.example.net/fox.png").await;

    assert_refused(&picture, "cdn.example.net would be reached over http").await;
}
