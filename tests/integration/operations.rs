//! Submits every operation of the contract to the simulator, polls the task, fetches the picture,
//! and checks that it is billed once.

use std::time::Duration;

use futures_util::TryStreamExt;

use crate::requests;
use imagekiln::{Client, FileKind, TaskStatus, WaitOptions, find_operation, operations};
use imagekiln_simulator::{Config, Simulator};

pub async fn simulator() -> Simulator {
    Simulator::start(Config::default()).await.expect("the simulator starts")
}

pub fn client_of(simulator: &Simulator) -> Client {
    Client::builder()
        .api_key(simulator.api_key())
        .base_url(simulator.base_url())
        .regional_base_url(simulator.regional_base_url())
        .build()
        .expect("the settings are complete")
}

/// Not on a paused clock, which could jump while a large picture is on its way.
#[tokio::test]
async fn every_operation_returns_a_picture_and_is_billed_once() {
    let config = Config { ready_after: Duration::ZERO, ..Config::default() };
    let simulator = Simulator::start(config).await.expect("the simulator starts");
    let client = client_of(&simulator);
    let folder = tempfile::tempdir().unwrap();
    let mut called = Vec::new();
    // Full requests, because some minimal ones lack the input that the endpoint needs.
    for request in requests::full() {
        let operation = request.operation();
        let is_video = operation.id.ends_with("_video");
        // A video of a second is painted soonest.
        let request = if is_video { request.field("duration", 1) } else { request };
        let before = simulator.counts();
        let task =
            client.submit(request).await.unwrap_or_else(|error| panic!("{operation}: {error}"));
        let picture = task.wait().await.unwrap_or_else(|error| panic!("{operation}: {error}"));
        let path = folder.path().join(operation.id);
        let saved =
            picture.save(&path).await.unwrap_or_else(|error| panic!("{operation}: {error}"));
        assert!(saved.bytes > 0, "{operation}");
        if is_video {
            assert_eq!(saved.kind, Some(FileKind::Webm));
        } else {
            let size =
                imagesize::size(&path).unwrap_or_else(|error| panic!("{operation}: {error}"));
            assert!(size.width > 0 && size.height > 0, "{operation}");
        }

        let after = simulator.counts();
        assert_eq!(
            (after.accepted - before.accepted, after.delivered - before.delivered),
            (1, 1),
            "{operation}"
        );
        assert!(task.cost().is_some_and(|cost| cost > 0.0), "{operation} reports no cost");
        called.push(operation.name);

        // `get_result`, the only operation that is not a submission.
        let by_id = client.task_by_id(operation, task.id()).unwrap();
        assert_eq!(by_id.poll().await.unwrap().status(), &TaskStatus::Ready, "{operation}");
    }
    let polling = find_operation("get_result").expect("polling is an operation");
    assert!(!polling.submits);
    called.push(polling.name);
    called.sort();
    let mut known: Vec<_> = operations().iter().map(|operation| operation.name).collect();
    known.sort();
    assert_eq!(called, known);
    assert_eq!(simulator.counts().refused.len(), 0, "the simulator refused a request of the SDK");
}

/// Minimal requests have exactly the fields that the contract requires.
#[tokio::test(start_paused = true)]
async fn every_minimal_request_is_accepted() {
    let simulator = simulator().await;
    let client = client_of(&simulator);
    for request in requests::minimal() {
        let operation = request.operation();
        let _ = client.submit(request).await.unwrap_or_else(|error| panic!("{operation}: {error}"));
    }
    assert_eq!(simulator.counts().accepted, requests::submissions().count() as u64);
}

/// The documentation of every request type shows the example of the contract.
#[tokio::test(start_paused = true)]
async fn every_example_of_the_contract_is_accepted() {
    let simulator = simulator().await;
    let client = client_of(&simulator);
    for operation in operations().iter().filter(|operation| operation.submits) {
        let example = operation.example().expect("every submission has an example");
        let task = client.submit(example).await;
        let _ = task.unwrap_or_else(|error| panic!("{operation}: {error}"));
    }
    assert_eq!(simulator.counts().accepted, requests::submissions().count() as u64);
}

#[tokio::test(start_paused = true)]
async fn updates_return_each_status_until_the_picture() {
    let simulator = simulator().await;
    let client = client_of(&simulator);
    let task = client.submit(imagekiln::types::Gen2Pro::new("a fox")).await.unwrap();
    let updates: Vec<_> = task.updates(WaitOptions::default()).try_collect().await.unwrap();
    let (last, earlier) = updates.split_last().unwrap();
    assert_eq!(last.status(), &TaskStatus::Ready);
    assert!(last.picture().is_some());
    assert!(
        !earlier.is_empty() && earlier.iter().all(|update| !update.status().is_final()),
        "{earlier:?}"
    );
}
