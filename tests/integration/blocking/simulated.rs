//! From the request to the file, against the simulator.

use std::{thread, time::Duration};

use tempfile::TempDir;

use super::{SERVERS, soon};
use imagekiln::{
    FileKind, TaskStatus,
    blocking::{Client, Unfinished},
    journal::Directory,
    types::Gen2Pro,
};
use imagekiln_simulator::{Config, Simulator};

fn simulator() -> Simulator {
    let config = Config { ready_after: Duration::from_millis(50), ..Config::default() };
    SERVERS.block_on(Simulator::start(config)).expect("the simulator starts")
}

fn builder(simulator: &Simulator) -> imagekiln::ClientBuilder {
    Client::builder().api_key(simulator.api_key()).base_url(simulator.base_url())
}

fn fox() -> Gen2Pro {
    Gen2Pro::new("a fox").width(64).height(64).output_format("png")
}

#[test]
fn a_picture_is_made_without_a_runtime() {
    let simulator = simulator();
    let client = builder(&simulator).build_blocking().unwrap();
    let directory = TempDir::new().unwrap();

    let task = client.submit(fox()).unwrap();
    assert!(task.cost().is_some_and(|cost| cost > 0.0));
    let picture = task.wait_with(soon()).unwrap();
    let saved = picture.save(directory.path().join("fox.png")).unwrap();
    assert_eq!(saved.kind, Some(FileKind::Png));

    let bytes = picture.bytes().unwrap();
    assert_eq!(bytes.len() as u64, saved.bytes);
    let stream = picture.stream().unwrap();
    assert_eq!(stream.kind(), Some(FileKind::Png));
    let streamed: Vec<u8> = stream.flat_map(|chunk| chunk.unwrap()).collect();
    assert_eq!(streamed, bytes);
    let resumed = client.task(task.reference().clone()).poll().unwrap();
    assert_eq!(resumed.picture().unwrap().bytes().unwrap(), bytes);
    assert_eq!(simulator.counts().accepted, 1);
}

#[test]
fn updates_are_an_iterator_that_ends() {
    let simulator = simulator();
    let client = builder(&simulator).build_blocking().unwrap();
    let task = client.submit(fox()).unwrap();

    let mut updates = task.updates(soon()).changes();
    let statuses: Vec<_> =
        updates.by_ref().map(|update| update.unwrap().status().clone()).collect();

    assert_eq!(statuses.last(), Some(&TaskStatus::Ready));
    assert!(statuses[..statuses.len() - 1].iter().all(|status| !status.is_final()));
    assert!(updates.next().is_none());
}

#[test]
fn a_client_is_used_from_several_threads() {
    let simulator = simulator();
    let client = builder(&simulator).max_active(3).build_blocking().unwrap();

    let threads: Vec<_> = (0..6)
        .map(|seed| {
            let client = client.clone();
            thread::spawn(move || {
                client.submit(fox().seed(seed)).unwrap().wait_with(soon()).unwrap().bytes().unwrap()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(FileKind::of(&thread.join().unwrap()), Some(FileKind::Png));
    }

    assert_eq!(simulator.counts().accepted, 6);
}

#[test]
fn a_journal_resumes_what_another_client_submitted() {
    let simulator = simulator();
    let directory = TempDir::new().unwrap();
    let journalled = || {
        let journal = Directory::open(directory.path().join("journal")).unwrap();
        builder(&simulator).journal(journal).build_blocking().unwrap()
    };
    let first = journalled();
    let submitted = first.submit(fox()).unwrap().id().to_owned();
    // The journal is closed with its last client, so that the next one can open it.
    drop(first);

    let client = journalled();
    let [Unfinished::Task(task, _)] = &client.resume().unwrap()[..] else { panic!("not one task") };
    assert_eq!(task.id(), submitted);
    task.wait_with(soon()).unwrap().save_in(directory.path()).unwrap();

    assert!(client.resume().unwrap().is_empty());
    assert_eq!(simulator.counts().accepted, 1);
}
