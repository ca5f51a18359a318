//! The intent is durable before the client connects, and the acceptance before `submit` returns.

use std::{error::Error as _, sync::Arc};

use imagekiln::{Billing, Client, ErrorKind, TaskRef};

use super::held::{Held, Write};
use crate::support::{
    answer::Answer,
    done,
    samples::{self, assert_kind, fox, picture},
    scripted::ScriptedServer,
    settle,
};

async fn setting(journal: &Arc<Held>) -> (ScriptedServer, Client) {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service).journal(Arc::clone(journal)).build().unwrap();
    (service, client)
}

#[tokio::test(start_paused = true)]
async fn nothing_connects_before_the_intent_is_durable() {
    let journal = Held::waiting(Write::Intend);
    let (service, client) = setting(&journal).await;
    let submission = tokio::spawn(async move { client.submit(fox()).await });
    settle().await;
    service.assert_received_nothing();
    service.answer(samples::accepted(&service, "t1"));
    journal.let_go();
    let _ = done(submission).await.unwrap().unwrap();
    assert_eq!(journal.written(), [Write::Intend, Write::Accept]);
}

#[tokio::test(start_paused = true)]
async fn submit_returns_after_the_acceptance_is_durable() {
    let journal = Held::waiting(Write::Accept);
    let (service, client) = setting(&journal).await;
    service.answer(samples::accepted(&service, "t1"));
    let submission = tokio::spawn(async move { client.submit(fox()).await });
    service.wait_for_requests(1).await;
    settle().await;
    assert!(!submission.is_finished());
    journal.let_go();
    assert_eq!(done(submission).await.unwrap().unwrap().id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn a_journal_can_refuse_a_submission() {
    let (service, client) = setting(&Held::failing(Write::Intend)).await;
    let error = client.submit(fox()).await.unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert_eq!(error.billing(), Billing::NotBilled);
    assert_eq!(error.operation_name(), Some("gen-2-pro"));
    assert_eq!(error.source().unwrap().to_string(), "the budget of this test is used up");
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_journal_could_not_keep_is_in_the_error() {
    let (service, client) = setting(&Held::failing(Write::Accept)).await;
    service.answer(samples::accepted(&service, "t1"));
    let error = client.submit(fox()).await.unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert_eq!(error.billing(), Billing::Accepted(&samples::submitted(&service)));
}

#[tokio::test(start_paused = true)]
async fn what_was_not_billed_is_withdrawn_and_what_is_unknown_is_not() {
    let journal = Held::waiting(Write::Settle);
    let (service, client) = setting(&journal).await;
    service.answer(Answer::status(422));
    client.submit(fox()).await.unwrap_err();
    assert_eq!(journal.written(), [Write::Intend, Write::Withdraw]);
    service.answer(Answer::reset());
    client.submit(fox()).await.unwrap_err();
    assert_eq!(journal.written(), [Write::Intend, Write::Withdraw, Write::Intend]);
}

#[tokio::test(start_paused = true)]
async fn an_acceptance_is_kept_for_a_caller_that_is_gone() {
    let journal = Held::waiting(Write::Accept);
    let (service, client) = setting(&journal).await;
    service.answer(samples::accepted(&service, "t1"));
    assert!(tokio::time::timeout(samples::seconds(5), client.submit(fox())).await.is_err());
    journal.let_go();
    assert_eq!(client.drain(samples::seconds(5)).await.unwrap().len(), 1);
    assert_eq!(journal.written(), [Write::Intend, Write::Accept]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_journal_could_not_keep_is_drained_if_its_caller_is_gone() {
    let service = ScriptedServer::start().await;
    let journal = Held::failing(Write::Accept);
    let client = samples::builder(&service).journal(journal).max_active_tasks(1).build().unwrap();
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    assert!(tokio::time::timeout(samples::seconds(5), client.submit(fox())).await.is_err());
    rest.send(samples::accepted(&service, "t1").bytes());
    let left = client.drain(samples::seconds(5)).await.unwrap();
    assert_eq!(left.iter().map(TaskRef::id).collect::<Vec<_>>(), ["t1"]);
    assert_kind(&client.try_submit(fox()).await.unwrap_err(), ErrorKind::RateLimited);
}

/// What succeeded does not fail because of the journal.
#[tokio::test]
async fn a_picture_is_saved_even_if_the_journal_fails() {
    let (service, client) = setting(&Held::failing(Write::Settle)).await;
    let picture = picture(&client, &service, &service).await;
    let directory = tempfile::tempdir().unwrap();
    service.answer(Answer::png(samples::PNG));
    picture.save(directory.path().join("fox.png")).await.unwrap();
    let error = client.settle(picture.task()).await.unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert_kind(&client.resume().await.unwrap_err(), ErrorKind::Journal);
}
