//! In async code, every call fails and says what to do, and nothing panics.

use tempfile::TempDir;
use tokio::{
    runtime::{Builder, Runtime},
    task,
};

use super::{SERVERS, soon};
use crate::support::{
    reply::Reply,
    samples::{self, PNG, accepted, builder, fox, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{
    Billing, Error, ErrorKind, SubmitOptions,
    blocking::{Client, Picture, Task},
};

/// A client, a task and its picture.
fn prepared(service: &ScriptedServer, delivery: &ScriptedServer) -> (Client, Task, Picture) {
    let client = builder(service).build_blocking().unwrap();
    service.reply(accepted(service, "t1")).reply(samples::ready(delivery));
    let task = client.submit(fox()).unwrap();
    let picture = task.wait().unwrap();
    (client, task, picture)
}

/// The error of each call.
fn call_everything(client: &Client, task: &Task, picture: &Picture) -> Vec<Error> {
    let directory = TempDir::new().unwrap();
    let reference = task.reference();
    vec![
        Client::builder()
            .api_key("key")
            .base_url("http://127.0.0.1:9")
            .build_blocking()
            .unwrap_err(),
        client.submit(fox()).unwrap_err(),
        client.submit_with(fox(), SubmitOptions::default().origin("row 7")).unwrap_err(),
        client.resume().unwrap_err(),
        client.settle(reference).unwrap_err(),
        client.drain(seconds(1)).unwrap_err(),
        task.poll().unwrap_err(),
        task.wait().unwrap_err(),
        task.wait_with(soon()).unwrap_err(),
        task.updates(soon()).next().unwrap().unwrap_err(),
        picture.bytes().unwrap_err(),
        picture.bytes_unchecked().unwrap_err(),
        picture.save(directory.path().join("fox.png")).unwrap_err(),
        picture.save_in(directory.path()).unwrap_err(),
        picture.stream().unwrap_err(),
    ]
}

#[track_caller]
fn assert_refused(errors: Vec<Error>) {
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert_ne!(error.billing(), Billing::Unknown);
        let text = error.to_string();
        assert!(text.contains("in async code"), "{text}");
        assert!(text.contains("imagekiln::Client") && text.contains("spawn_blocking"), "{text}");
    }
}

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread().build().unwrap(), Runtime::new().unwrap()]
}

#[test]
fn calls_in_a_future_are_refused() {
    let service = SERVERS.block_on(ScriptedServer::start());
    let delivery = SERVERS.block_on(ScriptedServer::start());
    let (client, task, picture) = prepared(&service, &delivery);
    let sent = service.received().len();

    for runtime in runtimes() {
        assert_refused(runtime.block_on(async { call_everything(&client, &task, &picture) }));
        let (client, task, picture) = (client.clone(), task.clone(), picture.clone());
        let spawned = runtime.spawn(async move { call_everything(&client, &task, &picture) });
        assert_refused(runtime.block_on(spawned).unwrap());
    }

    assert_eq!((service.received().len(), delivery.received().len()), (sent, 0));
}

#[test]
fn a_client_can_be_dropped_in_a_future() {
    let service = SERVERS.block_on(ScriptedServer::start());
    let delivery = SERVERS.block_on(ScriptedServer::start());
    for runtime in runtimes() {
        let prepared = prepared(&service, &delivery);
        runtime.block_on(async move { drop(prepared) });
    }
}

#[test]
fn calls_in_spawn_blocking_work() {
    let service = SERVERS.block_on(ScriptedServer::start());
    let delivery = SERVERS.block_on(ScriptedServer::start());
    let (_client, _task, picture) = prepared(&service, &delivery);
    delivery.otherwise(|_| Reply::png(PNG));
    for runtime in runtimes() {
        let picture = picture.clone();
        let fetched =
            runtime.block_on(async { task::spawn_blocking(move || picture.bytes()).await });
        assert_eq!(fetched.unwrap().unwrap(), PNG);
    }
}

/// A test whether this is async code must not slow it down.
#[test]
fn a_refused_call_leaves_the_budget_of_its_future() {
    let service = SERVERS.block_on(ScriptedServer::start());
    let client = builder(&service).build_blocking().unwrap();
    for runtime in runtimes() {
        runtime.block_on(async {
            assert!(task::coop::has_budget_remaining());
            client.submit(fox()).unwrap_err();
            assert!(task::coop::has_budget_remaining());
        });
    }
}
