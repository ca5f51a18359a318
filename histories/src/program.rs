//! A program over the SDK with a directory as its journal: the one of the guide, with faults.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use imagekiln::{
    Client, DELIVERY_VALIDITY, Error, Task, TaskRef, TaskStatus, Unfinished,
    journal::{Directory, Record, State},
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    journal::Mortal,
    world::{End, Wanted, World},
};

/// Longer than all limits of the client together.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long a submission waits for a slot. Some faults keep a task active for as long as they last.
const SLOT_DEADLINE: Duration = Duration::from_secs(600);

/// The runs without faults in which everything must come to its end.
const CALM_RUNS: usize = 4;

pub(crate) async fn live(world: &mut World) -> Result<()> {
    std::fs::create_dir(world.path("pictures"))?;
    let wanted = world.wanted();
    world.tell(format!("a program that wants {} pictures", wanted.len()));
    for _ in 0..world.random.usize(1..=4) {
        world.change_weather()?;
        let death = world.death();
        let failures = [0.0, 0.0, 0.1, 0.5][world.random.usize(0..4)];
        run(world, &wanted, death, failures).await?;
        if world.random.bool() {
            decide(world).await?;
        }
    }
    world.calm();
    for _ in 0..CALM_RUNS {
        decide(world).await?;
        run(world, &wanted, None, 0.0).await?;
        sleep(DELIVERY_VALIDITY).await;
    }
    settle(world, &wanted)
}

/// A process: it continues what was unfinished, and submits what was never submitted. In some
/// histories, a second one shares the directory, and wants the other half of the pictures.
async fn run(
    world: &mut World,
    wanted: &[Wanted],
    death: Option<Duration>,
    failures: f64,
) -> Result<()> {
    let processes = world.random.usize(1..=2);
    world.tell(format!("run: {processes} processes, death {death:?}, failing writes {failures}"));
    let mut running = JoinSet::new();
    for process in 0..processes {
        let directory = Directory::open_keeping(world.path("journal"), 1000)?;
        let journal = Mortal::new(directory.clone(), world.random.fork(), failures);
        let client = world.client().journal(journal.clone()).max_active_tasks(3);
        let client = client.submit_deadline(SLOT_DEADLINE).build()?;
        let own = wanted.iter().enumerate().filter(|(at, _)| at % processes == process);
        let own: Vec<Wanted> = own.map(|(_, wanted)| wanted.clone()).collect();
        let pictures = world.path("pictures");
        world.totals.runs += 1;
        running.spawn(async move {
            let program = program(&client, &directory, own, &pictures);
            let ended = match death {
                Some(death) => timeout(death, program).await,
                None => Ok(program.await),
            };
            let was_killed = ended.is_err();
            if was_killed {
                journal.die();
            }
            // Nothing of this process is left when the next one begins.
            let orphans = client.drain(LONGEST).await;
            (process, was_killed, ended.ok(), orphans)
        });
    }
    while let Some(ended) = running.join_next().await {
        let (process, was_killed, ended, orphans) = ended?;
        world.totals.killed += u64::from(was_killed);
        world.tell(format!("process {process}: killed {was_killed}, {ended:?}"));
        orphans.context("submissions never ended")?;
    }
    expect_proofs(world, wanted)
}

fn expect_proofs(world: &World, wanted: &[Wanted]) -> Result<()> {
    for listed in Directory::list(world.path("journal"))? {
        let end = match listed.record.state() {
            State::Failed(TaskStatus::TaskNotFound) => End::NotFound,
            State::Failed(_) => End::Failed,
            State::Expired => End::Expired,
            _ => continue,
        };
        let label = listed.record.intent().label();
        let wanted = wanted.iter().find(|wanted| label == Some(&wanted.name));
        world.expect_proof(wanted.context("a record of something else")?, &end)?;
    }
    Ok(())
}

/// Returns what the program printed: the pictures, and the errors.
async fn program(
    client: &Client,
    directory: &Directory,
    wanted: Vec<Wanted>,
    pictures: &Path,
) -> Vec<String> {
    let mut printed = Vec::new();
    let mut saving = JoinSet::new();
    match client.resume().await {
        Ok(unfinished) => {
            for unfinished in unfinished {
                if let Unfinished::Task(task, record) = unfinished {
                    saving.spawn(save(task, path_of(pictures, &record)));
                }
            }
        }
        Err(error) => return vec![error.to_string()],
    }
    // The other process may have taken over the records of this one.
    let submitted = match Directory::list(directory.path()) {
        Ok(records) => records,
        Err(error) => return vec![error.to_string()],
    };
    let submitted = submitted.iter().filter(|listed| was_submitted(&listed.record));
    let submitted: HashSet<_> =
        submitted.filter_map(|listed| listed.record.intent().label().map(str::to_owned)).collect();
    for wanted in wanted.iter().filter(|wanted| !submitted.contains(&wanted.name)) {
        match client.submit_for(wanted.request(), &*wanted.name).await {
            Ok(task) => {
                saving.spawn(save(task, pictures.join(format!("{}.jpg", wanted.name))));
            }
            Err(error) => printed.push(format!("{}: {error}", wanted.name)),
        }
    }
    while let Some(saved) = saving.join_next().await {
        printed.extend(saved.ok().and_then(Result::err).map(|error| error.to_string()));
    }
    printed
}

/// A submission that a person called not billed is sent again.
fn was_submitted(record: &Record) -> bool {
    match record.state() {
        State::NotBilled => false,
        State::Settled => record.task().is_some(),
        _ => true,
    }
}

fn path_of(pictures: &Path, record: &Record) -> PathBuf {
    pictures.join(format!("{}.jpg", record.intent().label().unwrap_or("unnamed")))
}

async fn save(task: Task, path: PathBuf) -> Result<(), Error> {
    task.wait().await?.save(path).await.map(drop)
}

/// A person looks up each unknown submission in the account of the service.
async fn decide(world: &mut World) -> Result<()> {
    let client = world.client().journal(Directory::open_keeping(world.path("journal"), 1000)?);
    let client = client.build()?;
    for unfinished in client.resume().await? {
        let Unfinished::Unknown(record) = unfinished else { continue };
        let name = record.intent().label().context("a submission without a label")?.to_owned();
        match world.charged(&name).first().map(|task| task.id.clone()) {
            Some(id) => {
                let adopted = client.adopt(&record, &id).await;
                world.tell(format!("a person found {name}: {:?}", adopted.map(drop)));
            }
            None => {
                client.dismiss(&record).await?;
                world.tell(format!("a person dismissed {name}"));
            }
        }
        world.totals.decisions += 1;
    }
    sleep(Duration::from_secs(world.random.u64(0..900))).await;
    Ok(())
}

/// Compares the records and the files with the account.
fn settle(world: &mut World, wanted: &[Wanted]) -> Result<()> {
    let records: Vec<Record> = Directory::list(world.path("journal"))?
        .into_iter()
        .map(|listed| listed.record)
        .filter(was_submitted)
        .collect();
    for record in &records {
        world.tell(format!("{:?}: {:?}", record.intent().label(), record.state()));
    }
    let mut by_name: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &records {
        by_name.entry(record.intent().label().unwrap_or_default()).or_default().push(record);
    }
    for wanted in wanted {
        let name = &*wanted.name;
        let [record] = by_name.remove(name).unwrap_or_default()[..] else {
            anyhow::bail!("{name} does not have one record");
        };
        let is_given_up = matches!(record.state(), State::Failed(_) | State::Expired);
        ensure!(record.state().is_closed(), "{name} is still {:?}", record.state());
        let id = record.task().map(TaskRef::id);
        let charged = world.charged(name);
        ensure!(
            charged.first().map(|task| &*task.id) == id,
            "the record of {name} has another task"
        );
        let file = path_of(&world.path("pictures"), record);
        world.settle(wanted, &file, is_given_up)?;
    }
    ensure!(by_name.is_empty(), "records of pictures that nobody wanted");
    world.nothing_else(wanted)
}
