//! The intent is durable before the client connects, and the acceptance before `submit` returns.

use std::error::Error as _;

use super::controlled_journal::{ControlledJournal, Write};
use crate::support::{
    done,
    reply::Reply,
    samples::{self, assert_billing, assert_kind, fox, served_with},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, Client, ErrorKind, TaskRef, journal::JournalError};

async fn setup(journal: &ControlledJournal) -> (ScriptedServer, Client) {
    let (service, client) = served_with(|builder| builder.journal(journal.clone())).await;
    (service, client)
}

/// Journals that fail, panic and hang at a write.
fn broken(write: Write) -> [ControlledJournal; 3] {
    let panics = || panic!("a bug of this test");
    [
        ControlledJournal::failing(write),
        ControlledJournal::failing_with(write, panics),
        // Never released.
        ControlledJournal::waiting(write),
    ]
}

#[tokio::test(start_paused = true)]
async fn nothing_connects_before_the_intent_is_durable() {
    let journal = ControlledJournal::waiting(Write::Intend);
    let (service, client) = setup(&journal).await;
    let submission = tokio::spawn(async move { client.submit(fox()).await });
    settle().await;
    service.assert_received_nothing();
    service.reply(samples::accepted(&service, "t1"));
    journal.release();
    let _ = done(submission).await.unwrap().unwrap();
    assert_eq!(journal.written(), [Write::Intend, Write::Accept]);
}

#[tokio::test(start_paused = true)]
async fn submit_returns_after_the_acceptance_is_durable() {
    let journal = ControlledJournal::waiting(Write::Accept);
    let (service, client) = setup(&journal).await;
    service.reply(samples::accepted(&service, "t1"));
    let submission = tokio::spawn(async move { client.submit(fox()).await });
    service.wait_for_requests(1).await;
    settle().await;
    assert!(!submission.is_finished());
    journal.release();
    assert_eq!(done(submission).await.unwrap().unwrap().id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn a_journal_can_refuse_a_submission() {
    let refusal = || JournalError::Refused("the budget of this test is used up".into());
    let (service, client) = setup(&ControlledJournal::failing_with(Write::Intend, refusal)).await;
    let error = client.submit(fox()).await.unwrap_err();
    assert_billing(&error, ErrorKind::Refused, Billing::NotBilled);
    assert_eq!(error.operation_name(), Some("gen-2-pro"));
    assert_eq!(
        error.message(),
        "the journal refused the submission: the budget of this test is used up"
    );
    assert_eq!(error.refusal().unwrap().to_string(), "the budget of this test is used up");
    service.assert_received_nothing();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_if_the_intent_cannot_be_written() {
    let journals = broken(Write::Intend);
    let causes = ["the disk of this test is full", "a bug of this test", "within 120 s"];
    for (journal, cause) in journals.iter().zip(causes) {
        let (service, client) = setup(journal).await;
        let error = client.submit(fox()).await.unwrap_err();
        assert_billing(&error, ErrorKind::Journal, Billing::NotBilled);
        assert!(error.source().unwrap().to_string().contains(cause), "{error:?}");
        service.assert_received_nothing();
    }
}

/// A retry may follow much later, so each attempt needs a permit.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_the_journal_does_not_permit_sends_no_body() {
    for attempts in [0, 1] {
        let journal = ControlledJournal::permitting(attempts);
        let (service, client) = setup(&journal).await;
        for _ in 0..attempts {
            service.reply(Reply::status(429));
        }
        let error = client.submit(fox()).await.unwrap_err();
        assert_billing(&error, ErrorKind::Refused, Billing::NotBilled);
        assert_eq!(error.refusal().unwrap().to_string(), "the lease of this test has expired");
        assert_eq!(service.posts().len(), attempts);
        assert_eq!(journal.written(), [Write::Intend, Write::NotBilled]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_journal_could_not_record_is_in_the_error() {
    let journals = broken(Write::Accept);
    for journal in &journals {
        let (service, client) = setup(journal).await;
        service.reply(samples::accepted(&service, "t1"));
        let error = client.submit(fox()).await.unwrap_err();
        assert_kind(&error, ErrorKind::Journal);
        assert_eq!(error.billing(), Billing::Accepted(&samples::submitted(&service)));
    }
}

#[tokio::test(start_paused = true)]
async fn only_unbilled_submissions_are_withdrawn() {
    let journal = ControlledJournal::waiting(Write::Saved);
    let (service, client) = setup(&journal).await;
    service.reply(Reply::status(422));
    client.submit(fox()).await.unwrap_err();
    assert_eq!(journal.written(), [Write::Intend, Write::NotBilled]);
    service.reply(Reply::reset());
    client.submit(fox()).await.unwrap_err();
    // That the response was lost.
    assert_eq!(journal.written()[2..], [Write::Intend, Write::Other]);
}

#[tokio::test(start_paused = true)]
async fn an_acceptance_is_recorded_after_the_caller_is_gone() {
    let journal = ControlledJournal::waiting(Write::Accept);
    let (service, client) = setup(&journal).await;
    service.reply(samples::accepted(&service, "t1"));
    assert!(tokio::time::timeout(samples::seconds(5), client.submit(fox())).await.is_err());
    journal.release();
    assert_eq!(client.drain(samples::seconds(5)).await.unwrap().len(), 1);
    assert_eq!(journal.written(), [Write::Intend, Write::Accept]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_journal_could_not_record_is_drained() {
    let service = ScriptedServer::start().await;
    let journal = ControlledJournal::failing(Write::Accept);
    let client = samples::builder(&service).journal(journal).max_active(1).build().unwrap();
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    assert!(tokio::time::timeout(samples::seconds(5), client.submit(fox())).await.is_err());
    rest.send(samples::accepted(&service, "t1").bytes());
    let left = client.drain(samples::seconds(5)).await.unwrap();
    assert_eq!(left.iter().map(TaskRef::id).collect::<Vec<_>>(), ["t1"]);
    assert_kind(&samples::try_submit(&client).await.unwrap_err(), ErrorKind::RateLimited);
}

/// An operation that succeeded does not fail because of the journal, and does not hang either.
#[tokio::test(start_paused = true)]
async fn a_picture_is_saved_even_if_the_journal_fails() {
    let directory = tempfile::tempdir().unwrap();
    for journal in &broken(Write::Saved) {
        let (service, client) = setup(journal).await;
        service.reply(samples::accepted(&service, "t1"));
        let task = client.submit(fox()).await.unwrap();
        service.reply(samples::ready(&service)).reply(Reply::png(samples::PNG));
        task.wait().await.unwrap().save(directory.path().join("fox.png")).await.unwrap();
        assert_eq!(journal.written(), [Write::Intend, Write::Accept, Write::Other]);
        assert_kind(&client.resume().await.unwrap_err(), ErrorKind::Journal);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_settled_is_in_the_error() {
    let journal = ControlledJournal::failing(Write::Other);
    let (service, client) = setup(&journal).await;
    service.reply(samples::accepted(&service, "t1"));
    let task = client.submit(fox()).await.unwrap();
    let error = client.settle(task.reference()).await.unwrap_err();
    assert_kind(&error, ErrorKind::Journal);
    assert_eq!(error.task(), Some(task.reference()));
}
