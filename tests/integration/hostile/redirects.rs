//! Redirects: where the key travels they are not followed; where it does not, it does not start to.

use imagekiln::{ErrorKind, WaitEnd};

use crate::support::{
    answer::Answer,
    samples::{self, DELIVERY_SIGNATURE, PNG, assert_kind, client, fox, picture, task},
    scripted::ScriptedServer,
};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

#[tokio::test(start_paused = true)]
async fn of_a_submission_are_not_followed() {
    let foreign = ScriptedServer::start().await;
    for status in STATUSES {
        let service = ScriptedServer::start().await;
        service.answer(Answer::redirect(status, &foreign.url("/v1/gen-2-pro")));

        let error = client(&service).submit(fox()).await.unwrap_err();

        assert_kind(&error, ErrorKind::Service);
        assert_eq!(error.status(), Some(status));
        // "See Other" is what a service answers that has acted on the POST.
        assert_eq!(error.may_have_been_billed(), [302, 303].contains(&status), "{error}");
        assert!(error.to_string().contains("redirect"), "{error}");
        service.only_request().assert_has_key();
    }
    foreign.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn of_a_submission_are_not_followed_to_the_same_host_either() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::redirect(307, &service.url("/v2/gen-2-pro")));

    client(&service).submit(fox()).await.unwrap_err();

    assert_eq!(service.only_request().target, "/v1/gen-2-pro");
}

#[tokio::test(start_paused = true)]
async fn of_a_poll_are_not_followed() {
    let foreign = ScriptedServer::start().await;
    for status in STATUSES {
        let service = ScriptedServer::start().await;
        service.answer(Answer::redirect(status, &foreign.url("/poll/t1")));
        let task = task(&client(&service), &service);

        let error = task.wait().await.unwrap_err();

        assert_kind(&error, ErrorKind::Service);
        assert!(
            matches!(error.wait_end(), Some(WaitEnd::Refused { status: Some(seen), .. }) if *seen == status)
        );
        assert!(error.to_string().contains("redirect"), "{error}");
        assert_eq!(error.task(), Some(task.reference()));
        service.only_request().assert_has_key();
    }
    foreign.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn of_a_delivery_are_followed_without_the_key() {
    let service = ScriptedServer::start().await;
    let (delivery, store) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.answer(Answer::redirect(302, &store.url("/kept/fox.png")));
    store.answer(Answer::png(PNG));

    let bytes = picture.bytes().await.unwrap();

    assert_eq!(bytes, PNG);
    delivery.assert_no_request_has_the_key();
    let fetched = store.only_request();
    fetched.assert_has_no_key();
    assert!(
        !fetched.contains(DELIVERY_SIGNATURE),
        "the signature went along: {:?}",
        fetched.headers
    );
}

#[tokio::test(start_paused = true)]
async fn of_a_delivery_back_to_the_service_do_not_bring_the_key() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.answer(Answer::redirect(307, &service.url("/kept/fox.png")));
    service.answer(Answer::png(PNG));

    picture.bytes().await.unwrap();

    let fetched = service.received().pop().unwrap();
    assert_eq!(fetched.target, "/kept/fox.png");
    fetched.assert_has_no_key();
    delivery.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn of_a_delivery_that_lead_nowhere_are_an_error() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    let around = samples::delivery_url(&delivery);
    delivery.otherwise(move |_| Answer::redirect(302, &around));

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Delivery);
    assert_eq!(error.task(), Some(picture.task()));
    delivery.assert_no_request_has_the_key();
}
