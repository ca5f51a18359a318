//! Redirects of requests with the key are not followed, and redirects never add the key.

use crate::support::{
    reply::Reply,
    samples::{DELIVERY_SIGNATURE, PNG, assert_kind, client, fox, picture, task},
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
async fn redirects_of_a_delivery_are_followed_without_the_key_even_to_the_service() {
    let service = ScriptedServer::start().await;
    let (delivery, store) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.reply(Reply::redirect(302, &store.url("/kept/fox.png")));
    store.reply(Reply::redirect(307, &service.url("/copied/fox.png")));
    service.reply(Reply::png(PNG));

    assert_eq!(picture.bytes().await.unwrap(), PNG);

    delivery.only_request().assert_has_no_key();
    let fetched = service.received().pop().unwrap();
    assert_eq!(fetched.target, "/copied/fox.png");
    for request in [store.only_request(), fetched] {
        request.assert_has_no_key();
        assert!(!request.contains(DELIVERY_SIGNATURE), "the signature was sent: {request:?}");
    }
}
