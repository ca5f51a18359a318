//! Submits every operation of the contract to the simulator, polls the task, fetches the picture,
//! and checks that it is billed once.

use std::time::Duration;

use futures_util::StreamExt;
use tempfile::TempDir;

use crate::requests;
use imagekiln::{Client, Error, FileKind, Operation, Request, TaskStatus, operations};
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
    // Full requests, because some minimal ones lack the input that the endpoint needs.
    let runs = requests::full().into_iter().map(|request| picture_of(&client, request, &folder));
    let costs: Vec<u64> = futures_util::stream::iter(runs).buffer_unordered(8).collect().await;

    let counts = simulator.counts();
    let submissions = requests::submissions().count() as u64;
    assert_eq!((counts.accepted, counts.delivered), (submissions, submissions));
    assert!(costs.iter().all(|cost| *cost > 0), "{costs:?}");
    assert_eq!(costs.iter().sum::<u64>(), counts.charged.hundredths());
    assert_eq!(counts.refused.len(), 0, "the simulator refused a request of the SDK");
    // Each picture was polled by `get_result`, the only operation that is not a submission.
    let others = operations().iter().filter(|operation| !operation.submits);
    assert_eq!(others.map(|operation| operation.name).collect::<Vec<_>>(), ["get_result"]);
}

/// Returns the cost of the picture that a request makes, in hundredths of a credit.
async fn picture_of(client: &Client, request: Request, folder: &TempDir) -> u64 {
    let operation = request.operation();
    let failed = |error: Error| -> ! { panic!("{operation}: {error}") };
    let is_video = operation.id.ends_with("_video");
    // A video of a second is painted soonest.
    let request = if is_video { request.field("duration", 1) } else { request };
    let task = client.submit(request).await.unwrap_or_else(|error| failed(error));
    let picture = task.wait().await.unwrap_or_else(|error| failed(error));
    let path = folder.path().join(operation.id);
    let saved = picture.save(&path).await.unwrap_or_else(|error| failed(error));
    assert!(saved.bytes > 0, "{operation}");
    if is_video {
        assert_eq!(saved.kind, Some(FileKind::Webm));
    } else {
        let size = imagesize::size(&path).unwrap_or_else(|error| panic!("{operation}: {error}"));
        assert!(size.width > 0 && size.height > 0, "{operation}");
    }
    let by_id = client.task_by_id(operation, task.id()).unwrap();
    assert_eq!(by_id.poll().await.unwrap().status(), &TaskStatus::Ready, "{operation}");
    let cost = task.cost().unwrap_or_else(|| panic!("{operation} reports no cost"));
    (cost * 100.0).round() as u64
}

/// Minimal requests have exactly the fields that the contract requires. The documentation of every
/// request type shows the example of the contract.
#[tokio::test(start_paused = true)]
async fn every_minimal_request_and_every_example_of_the_contract_is_accepted() {
    let simulator = simulator().await;
    let client = client_of(&simulator);
    let example = |operation: &'static Operation| operation.example().expect("an example");
    let examples: Vec<_> = requests::submissions().map(example).collect();
    for request in requests::minimal().into_iter().chain(examples) {
        let operation = request.operation();
        let _ = client.submit(request).await.unwrap_or_else(|error| panic!("{operation}: {error}"));
    }
    assert_eq!(simulator.counts().accepted, 2 * requests::submissions().count() as u64);
}
