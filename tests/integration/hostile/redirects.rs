//! Redirects of requests with the key are not followed, and redirects never add the key.

use crate::support::{
    reply::Reply,
    samples::{self, DELIVERY_SIGNATURE, PNG, assert_kind, client, fox, picture, task},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind, WaitEnd};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

#[tokio::test(start_paused = true)]
async fn redirects_of_a_submission_are_not_followed() {
    let foreign = ScriptedServer::start().await;
    for status in STATUSES {
        let service = ScriptedServer::start().await;
        service.reply(Reply::redirect(status, &foreign.url("/v1/gen-2-pro")));

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_kind(&error, ErrorKind::Service);
        assert_eq!(error.status(), Some(status));
        // "See Other" may follow a POST that was processed.
        assert_eq!(error.billing() == Billing::Unknown, [302, 303].contains(&status), "{error}");
        assert!(error.to_string().contains("redirect"), "{error}");
        service.only_request().assert_has_key();
    }
    foreign.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn redirects_of_a_submission_to_the_same_host_are_not_followed() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::redirect(307, &service.url("/v2/gen-2-pro")));

    client(&service).submit(fox()).await.unwrap_err();

    assert_eq!(service.only_request().target, "/v1/gen-2-pro");
}

#[tokio::test(start_paused = true)]
async fn redirects_of_a_poll_are_not_followed() {
    let foreign = ScriptedServer::start().await;
    for status in STATUSES {
        let service = ScriptedServer::start().await;
        service.reply(Reply::redirect(status, &foreign.url("/poll/t1")));
        let task = task(&client(&service), &service);

        let error = task.wait().await.unwrap_err();

        assert_kind(&error, ErrorKind::Service);
        let Some(WaitEnd::Refused { status: refused, .. }) = error.wait_end() else {
            panic!("{error:?}")
        };
        assert_eq!(*refused, Some(status));
        assert!(error.to_string().contains("redirect"), "{error}");
        assert_eq!(error.task(), Some(task.reference()));
        service.only_request().assert_has_key();
    }
    foreign.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn redirects_of_a_delivery_are_followed_without_the_key() {
    let service = ScriptedServer::start().await;
    let (delivery, store) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.reply(Reply::redirect(302, &store.url("/kept/fox.png")));
    store.reply(Reply::png(PNG));

    let bytes = picture.bytes().await.unwrap();

    assert_eq!(bytes, PNG);
    delivery.assert_no_request_has_the_key();
    let fetched = store.only_request();
    fetched.assert_has_no_key();
    assert!(!fetched.contains(DELIVERY_SIGNATURE), "the signature was sent: {:?}", fetched.headers);
}

#[tokio::test(start_paused = true)]
async fn redirects_of_a_delivery_to_the_service_do_not_send_the_key() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.reply(Reply::redirect(307, &service.url("/kept/fox.png")));
    service.reply(Reply::png(PNG));

    picture.bytes().await.unwrap();

    let fetched = service.received().pop().unwrap();
    assert_eq!(fetched.target, "/kept/fox.png");
    fetched.assert_has_no_key();
    delivery.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn endless_redirects_of_a_delivery_are_an_error() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    let around = samples::delivery_url(&delivery);
    delivery.otherwise(move |_| Reply::redirect(302, &around));

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Download);
    assert_eq!(error.task(), Some(picture.task()));
    delivery.assert_no_request_has_the_key();
}
