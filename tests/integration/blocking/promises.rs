//! A submission outlives the call and the client, and every wait ends.

use std::{
    sync::mpsc::{self, Sender},
    time::Duration,
};

use super::{SERVERS, soon};
use crate::support::{
    reply::Reply,
    samples::{self, accepted, builder, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Billing, ErrorKind, TaskRef, WaitEnd,
    journal::{Intent, Journal, JournalFuture, Record, Step, Unreadable},
};

/// The limit of what must not hang.
const HANGS: Duration = Duration::from_secs(60);

/// A busy machine, too, has sent a small request by then.
const SENT_BY_THEN: Duration = Duration::from_secs(1);

/// A server with a response that the test sends later.
fn held() -> (ScriptedServer, crate::support::reply::Pieces) {
    let service = SERVERS.block_on(ScriptedServer::start());
    let (reply, pieces) = Reply::nothing().in_pieces();
    service.reply(reply);
    (service, pieces)
}

/// Tells the test which tasks were accepted.
struct Reporting(Sender<String>);

impl Journal for Reporting {
    fn intend<'a>(&'a self, _: &'a Intent) -> JournalFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn advance<'a>(&'a self, _: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            if let Step::Accepted(task) = step {
                self.0.send(task.id().to_owned())?;
            }
            Ok(())
        })
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[test]
fn a_submission_continues_after_its_deadline() {
    let (service, pieces) = held();
    let client = builder(&service).submit_deadline(SENT_BY_THEN);
    let client = client.build_blocking().unwrap();

    let error = client.submit(fox()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(error.billing(), Billing::Unknown);
    pieces.send(accepted(&service, "t1").bytes());

    let drained = client.drain(HANGS).unwrap();
    assert_eq!(drained.iter().map(TaskRef::id).collect::<Vec<_>>(), ["t1"]);
}

#[test]
fn a_submission_continues_after_its_client_was_dropped() {
    let (service, pieces) = held();
    let (sender, accepted_ids) = mpsc::channel();
    let client = builder(&service);
    let client =
        client.submit_deadline(SENT_BY_THEN).journal(Reporting(sender)).build_blocking().unwrap();

    client.submit(fox()).unwrap_err();
    drop(client);
    pieces.send(accepted(&service, "t1").bytes());

    assert_eq!(accepted_ids.recv_timeout(HANGS), Ok("t1".to_owned()));
    // The thread ends, and drops the journal with the last submission.
    assert_eq!(accepted_ids.recv_timeout(HANGS), Err(mpsc::RecvTimeoutError::Disconnected));
    service.only_request();
}

#[test]
fn a_wait_ends_with_its_deadline() {
    let service = SERVERS.block_on(ScriptedServer::start());
    service.otherwise(|_| samples::status("Pending"));
    let client = builder(&service).build_blocking().unwrap();
    let task = client.task(samples::reference(&service));

    let error = task.wait_with(soon().deadline(Duration::from_millis(300))).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert!(matches!(error.wait_end(), Some(WaitEnd::DeadlineExceeded { .. })));
    assert!(error.to_string().contains("deadline 0.3 s"), "{error}");
    assert_eq!(error.task().map(TaskRef::id), Some("t1"));
}

#[test]
fn a_stream_returns_every_chunk() {
    let service = SERVERS.block_on(ScriptedServer::start());
    let delivery = SERVERS.block_on(ScriptedServer::start());
    let png = samples::large_png(4_000_000);
    service.reply(samples::ready(&delivery));
    delivery.reply(Reply::png(&png));
    let client = builder(&service).build_blocking().unwrap();
    let picture = client.task(samples::reference(&service)).wait().unwrap();

    let chunks: Vec<_> = picture.stream().unwrap().map(Result::unwrap).collect();

    assert!(chunks.len() > 1);
    assert_eq!(chunks.concat(), png);
}
