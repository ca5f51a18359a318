//! The programs that keep a record. However often they are killed, each picture is paid for and
//! saved once.

use std::{collections::BTreeSet, fs, process::Command, time::Duration};

use imagekiln::{Client, Unfinished, journal::Directory};
use tokio::runtime::Runtime;

use super::Stage;
use crate::{bench::Bench, book::blocks::blocks};

/// The number of kills of each program.
const KILLS: u32 = 5;

/// Longer than most runs take.
const LONGEST: Duration = Duration::from_millis(1500);

/// Kills a program again and again, lets a person decide what it could not, and compares what it
/// saved in `folder` with the account.
fn lives(
    pictures: usize,
    folder: &str,
    program: impl Fn(&Stage) -> Command,
    person: impl Fn(&Bench),
) {
    let mut stage = Stage::new();
    for _ in 0..KILLS {
        stage.kill(&mut program(&stage), LONGEST);
    }
    person(&stage.bench);
    let last = stage.run(&mut program(&stage), Duration::MAX);
    assert!(last.status.success(), "{}", last.stderr);

    let account = stage.account();
    let seeds: BTreeSet<_> = account.iter().map(|task| task.seed).collect();
    assert_eq!((account.len(), seeds.len()), (pictures, pictures), "paid once each");
    let files = fs::read_dir(stage.bench.place.path(folder)).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let saved = files.filter(|path| path.extension().is_some_and(|ending| ending == "jpg"));
    let saved: Vec<_> = saved.map(|path| image::open(path).unwrap()).collect();
    assert_eq!(saved.len(), pictures, "saved once each");
}

/// The task that the service has for a seed: what a person looks up.
fn task_of(bench: &Bench, seed: &str) -> Option<String> {
    let tasks = bench.simulator.tasks();
    tasks.into_iter().find(|task| task.seed.to_string() == seed).map(|task| task.id)
}

#[test]
fn the_guide_to_many_pictures() {
    let person = |bench: &Bench| Runtime::new().unwrap().block_on(decide(bench));
    lives(100, "foxes", |stage| stage.example("many"), person);
}

async fn decide(bench: &Bench) {
    // With the features of this package only, the client has no provider. A test may be the second.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let journal = Directory::open(bench.place.path("foxes-journal")).unwrap();
    let client = Client::builder().api_key(bench.simulator.api_key());
    let client = client.base_url(bench.simulator.base_url()).journal(journal).build().unwrap();
    for unfinished in client.resume().await.unwrap() {
        if let Unfinished::Unknown(record) = unfinished {
            let seed = record.intent().key().unwrap().name();
            let seed = seed.strip_prefix("fox-").unwrap().strip_suffix(".jpg").unwrap();
            match task_of(bench, seed) {
                Some(id) => drop(client.adopt(&record, id).await.unwrap()),
                None => client.dismiss(&record).await.unwrap(),
            }
        }
    }
}

#[test]
fn the_program_of_the_guide_is_the_example() {
    let page = imagekiln_testbed::page("src/guide/many.md");
    let program = blocks(page).into_iter().find(|block| block.language.starts_with("rust"));
    assert_eq!(program.unwrap().code, imagekiln_testbed::page("examples/many.rs"));
}

#[test]
fn the_example_of_a_batch() {
    lives(
        200,
        "foxes",
        |stage| stage.example("prompts"),
        |bench| {
            let status =
                ["batch", "status", "--ledger", "foxes.db", "--state", "unknown", "--json"];
            let status = bench.run(&status).ok().json();
            for job in status["listed"].as_array().unwrap() {
                let name = job["name"].as_str().unwrap();
                let task = task_of(bench, name.strip_prefix("fox-").unwrap());
                let resolve = ["batch", "resolve", name, "--ledger", "foxes.db"];
                let decision = task.as_ref().map_or(vec!["--not-paid"], |id| vec!["--task", id]);
                bench.run(&[&resolve[..], &decision].concat()).ok();
            }
        },
    );
}
