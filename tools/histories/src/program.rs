//! A program over the SDK with a directory as its journal: the one of the guide, with faults.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    error::Error as _,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use imagekiln::{
    Billing, Client, DELIVERY_VALIDITY, Error, ErrorKind, Once, SubmitOptions, Task, TaskRef,
    TaskStatus, Unfinished,
    journal::{Directory, Key, Listed, Record, State},
};
use tokio::{spawn, task::JoinSet, time::sleep};

use crate::{
    process::{Hooked, Process},
    services::Payer,
    vandal,
    world::{End, Wanted, World},
};

/// Longer than all limits of the client together.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long a submission waits for a slot. Some faults keep a task active for as long as they last.
const SLOT_DEADLINE: Duration = Duration::from_secs(600);

/// The runs without faults in which everything must come to its end.
const CALM_RUNS: usize = 4;

pub(crate) async fn live(world: &mut World) -> Result<()> {
    fs::create_dir(world.path("pictures"))?;
    let (mut wanted, has_keys) = (world.wanted(), world.stream("keys").bool());
    let mut random = world.stream("services");
    if random.bool() && world.has("other service") {
        world.services.add().await?;
        wanted.iter_mut().for_each(|wanted| wanted.service = random.usize(0..2));
    }
    world.tell(format!("keys: {has_keys}; a program that wants {wanted:?}"));
    let first = (0..world.services.count()).map(|service| Payer { service, key: 0 });
    let mut life = Life { wanted, has_keys, payers: first.collect() };
    for number in world.runs() {
        world.change_weather(number)?;
        run(world, &mut life, None).await?;
        let journal = world.path("journal");
        vandal::visit(world, &journal)?;
        if world.random.bool() {
            decide(world, &life).await?;
        }
    }
    world.calm()?;
    for _ in 0..CALM_RUNS {
        decide(world, &life).await?;
        for payer in life.payers.clone() {
            run(world, &mut life, Some(payer)).await?;
        }
        sleep(DELIVERY_VALIDITY).await;
    }
    vandal::expect_kept(world, &world.path("journal"))?;
    settle(world, &life.wanted)
}

/// The pictures of a history, and who pays for them.
struct Life {
    wanted: Vec<Wanted>,
    /// Whether the pictures have idempotency keys.
    has_keys: bool,
    /// Those that have taken part, and the first key of each service.
    payers: BTreeSet<Payer>,
}

impl Life {
    /// Chooses the service and the key of a process.
    fn payer(&mut self, world: &World, number: usize) -> Payer {
        let mut random = world.stream(["payer 0", "payer 1"][number]);
        let service = random.usize(0..world.services.count());
        let is_first = random.bool() || !world.has("other keys");
        let key = if is_first { 0 } else { random.usize(0..Payer::KEYS) };
        let payer = Payer { service, key };
        self.payers.insert(payer);
        payer
    }
}

/// What a program printed before it ended.
#[derive(Default)]
struct Printed {
    /// The accepted tasks.
    tasks: Vec<TaskRef>,
    errors: Vec<Error>,
}

/// A process: it continues what was unfinished, and submits what was never submitted. In some
/// histories, a second one shares the directory, and wants the other half of the pictures, or all
/// of them by their keys. Each has the key of a service, which `payer` may give.
async fn run(world: &mut World, life: &mut Life, payer: Option<Payer>) -> Result<()> {
    let count = world.random.usize(1..=2);
    let count = if world.has("second process") { count } else { 1 };
    let (processes, crashes) = world.processes(count, false);
    let charged = world.services.ids();
    let mut running: JoinSet<Result<_>> = JoinSet::new();
    for (number, process) in processes.iter().enumerate() {
        let payer = payer.unwrap_or_else(|| life.payer(world, number));
        let client = world.client_of(process, payer).max_active(3).submit_deadline(SLOT_DEADLINE);
        let asks = |at: usize| life.has_keys || at % count == number;
        let is_asked = |at: usize, it: &Wanted| asks(at) && it.service == payer.service;
        let own = life.wanted.iter().enumerate().filter(|(at, wanted)| is_asked(*at, wanted));
        let own: Vec<Wanted> = own.map(|(_, wanted)| wanted.clone()).collect();
        let (pictures, journal) = (world.path("pictures"), world.path("journal"));
        let Life { wanted, has_keys, .. } = life;
        let asked = Asked { own, all: wanted.clone(), has_keys: *has_keys, payer };
        world.tell(format!("process {number}: {payer:?}"));
        let process = Arc::clone(process);
        world.totals.runs += 1;
        running.spawn(async move {
            let printed = Mutex::default();
            let Some(client) = open(client, &journal, &process, &printed) else {
                return Ok((number, printed, Vec::new()));
            };
            tokio::select! {
                ended = program(&client, &journal, &asked, &pictures, &printed) => ended?,
                () = process.death() => process.die(),
            }
            // Nothing of this process is left when the next one begins.
            let orphans = client.drain(LONGEST).await.context("submissions never ended")?;
            Ok((number, printed, orphans))
        });
    }
    let (locks, away) = (world.path("journal/processes"), world.path("locks"));
    let mut random = world.stream("locks");
    let removes = random.u8(0..4) == 0 && world.has("vandal");
    let cleaner = removes.then(|| spawn(vandal::remove_locks(random, locks.clone(), away.clone())));
    let (mut printed, mut known) = (BTreeSet::new(), BTreeSet::new());
    while let Some(ended) = running.join_next().await {
        let (number, told, orphans) = ended??;
        let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        let process = &processes[number];
        let was_killed = process.is_dead();
        world.totals.killed += u64::from(was_killed);
        let errors = told.errors.iter().map(|error| format!(" {error};")).collect::<String>();
        world.tell(format!("process {number}: killed {was_killed}, {:?}{errors}", told.tasks));
        let lost = told.errors.iter().find(|error| accepted(error).is_some() && is_full(error));
        ensure!(lost.is_none(), "a full disk lost an acceptance: {lost:?}");
        let id = |task: &TaskRef| world.services.id(task);
        known.extend(told.errors.iter().filter_map(accepted).map(id));
        known.extend(orphans.iter().map(id));
        printed.extend(told.tasks.iter().map(id));
    }
    if let Some(cleaner) = cleaner {
        world.tell("the locks were removed now and then");
        cleaner.abort();
        vandal::return_locks(&locks, &away)?;
    }
    ensure!(!world.machine.calls.is_stuck(), "a call waited for a process that was stopped");
    if crashes && processes[0].is_dead() {
        world.machine.crash(&mut world.stream("crash"))?;
        vandal::end_owners(&world.path("journal"))?;
    }
    let recorded = Directory::list(world.path("journal"))?.flatten();
    let recorded: BTreeSet<String> =
        recorded.filter_map(|listed| Some(world.services.id(listed.record.task()?))).collect();
    ensure!(printed.is_subset(&recorded), "the journal forgot tasks of {printed:?}: {recorded:?}");
    if processes.iter().all(|process| !process.is_dead()) {
        known.extend(recorded);
        let accepted = processes.iter().map(|process| process.accepted()).sum();
        world.services.expect_known(&charged, accepted, &known)?;
    }
    expect_proofs(world, &life.wanted)
}

/// Opens the directory. Its disk may fail.
fn open(
    client: imagekiln::ClientBuilder,
    journal: &Path,
    process: &Arc<Process>,
    printed: &Mutex<Printed>,
) -> Option<Client> {
    let opened = Directory::open_on(journal, Arc::clone(process) as _).and_then(|directory| {
        let process = Arc::clone(process);
        client.journal(Hooked { directory, process }).build()
    });
    opened.map_err(|error| print(printed, error)).ok()
}

fn print(printed: &Mutex<Printed>, error: Error) {
    printed.lock().unwrap_or_else(PoisonError::into_inner).errors.push(error);
}

/// Whether the disk was full.
fn is_full(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
}

/// Returns the task that the journal could not record.
fn accepted(error: &Error) -> Option<&TaskRef> {
    match (error.kind(), error.billing()) {
        (ErrorKind::Journal, Billing::Accepted(task)) => Some(task),
        _ => None,
    }
}

fn expect_proofs(world: &World, wanted: &[Wanted]) -> Result<()> {
    for listed in Directory::list(world.path("journal"))?.flatten() {
        let end = match listed.record.state() {
            State::Failed(TaskStatus::TaskNotFound) => End::NotFound,
            State::Failed(_) => End::Failed,
            State::Expired => End::Expired,
            _ => continue,
        };
        let name = name_of(&listed.record);
        let wanted = wanted.iter().find(|wanted| name == Some(&wanted.name));
        world.expect_proof(wanted.context("a record of something else")?, &end)?;
    }
    Ok(())
}

/// What a process wants, and what it may find in the journal.
struct Asked {
    own: Vec<Wanted>,
    all: Vec<Wanted>,
    has_keys: bool,
    payer: Payer,
}

async fn program(
    client: &Client,
    journal: &Path,
    Asked { own, all, has_keys, payer }: &Asked,
    pictures: &Path,
    printed: &Mutex<Printed>,
) -> Result<()> {
    let mut saving = JoinSet::new();
    match client.resume().await {
        Ok(unfinished) => {
            for unfinished in unfinished {
                expect_own(all, *payer, &unfinished)?;
                if let Unfinished::Task(task, record) = unfinished {
                    saving.spawn(save(task, path_of(pictures, &record)));
                }
            }
        }
        Err(error) => {
            ensure!(!is_full(&error), "a full disk keeps a client from resuming: {error}");
            print(printed, error);
            return Ok(());
        }
    }
    for wanted in own.iter().filter(|_| *has_keys) {
        match submit_once(client, wanted).await {
            Ok(Once::Task(task)) => {
                let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
                printed.tasks.push(task.reference().clone());
                saving.spawn(save(task, pictures.join(format!("{}.jpg", wanted.name))));
            }
            Ok(_) => {}
            Err(error) => print(printed, error),
        }
    }
    // The other process may have taken over the records of this one.
    let submitted: Vec<Listed> = Directory::list(journal)?.flatten().collect();
    let submitted = submitted.iter().filter(|listed| was_submitted(&listed.record));
    let submitted: HashSet<_> =
        submitted.filter_map(|listed| listed.record.intent().label().map(str::to_owned)).collect();
    let left = own.iter().filter(|wanted| !has_keys && !submitted.contains(&wanted.name));
    for wanted in left {
        let options = SubmitOptions::default().origin(&*wanted.name);
        match client.submit_with(wanted.request(), options).await {
            Ok(task) => {
                let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
                printed.tasks.push(task.reference().clone());
                saving.spawn(save(task, pictures.join(format!("{}.jpg", wanted.name))));
            }
            Err(error) => print(printed, error),
        }
    }
    while let Some(saved) = saving.join_next().await {
        if let Ok(Err(error)) = saved {
            print(printed, error);
        }
    }
    Ok(())
}

/// Fails if a client may continue a submission to another service, or not one to its own.
fn expect_own(all: &[Wanted], payer: Payer, unfinished: &Unfinished) -> Result<()> {
    let (record, is_own) = match unfinished {
        Unfinished::Task(_, record) | Unfinished::Unknown(record) => (record, true),
        Unfinished::Elsewhere(record) => (record, false),
        _ => return Ok(()),
    };
    let name = name_of(record);
    let wanted = all.iter().find(|wanted| name == Some(&wanted.name));
    let service = wanted.context("a record of something else")?.service;
    ensure!((service == payer.service) == is_own, "{payer:?} resumes {unfinished:?}");
    Ok(())
}

/// Submits a picture by its key. What a person called not billed is asked for again.
async fn submit_once(client: &Client, wanted: &Wanted) -> Result<Once, Error> {
    let mut attempt = 1;
    loop {
        let key = Key::new(&wanted.name).attempt(attempt);
        match client.submit_once(key, wanted.request()).await {
            Err(error)
                if error.kind() == ErrorKind::Undecided && error.billing() != Billing::Unknown =>
            {
                attempt += 1;
            }
            once => return once,
        }
    }
}

/// The name of the picture that a submission was for.
pub(crate) fn name_of(record: &Record) -> Option<&str> {
    let intent = record.intent();
    intent.label().or(intent.key().map(Key::name))
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
    pictures.join(format!("{}.jpg", name_of(record).unwrap_or("unnamed")))
}

async fn save(task: Task, path: PathBuf) -> Result<(), Error> {
    task.wait().await?.save(path).await.map(drop)
}

/// A person looks up each unknown submission in the account that was to pay for it.
async fn decide(world: &mut World, life: &Life) -> Result<()> {
    world.machine.unprotect();
    for payer in &life.payers {
        decide_as(world, &life.wanted, *payer).await?;
    }
    sleep(Duration::from_secs(world.random.u64(0..900))).await;
    Ok(())
}

async fn decide_as(world: &mut World, wanted: &[Wanted], payer: Payer) -> Result<()> {
    let journal = Directory::open_on(world.path("journal"), world.healthy_process())?;
    let client = world.client(payer).journal(journal).build()?;
    for unfinished in client.resume().await? {
        expect_own(wanted, payer, &unfinished)?;
        let record = match unfinished {
            Unfinished::Unknown(record) if client.has_key_of(&record) != Some(false) => record,
            Unfinished::Unreadable(file) => {
                vandal::put_away(world, &file.path)?;
                continue;
            }
            _ => continue,
        };
        let name = name_of(&record).context("a submission without a name")?.to_owned();
        match world.services.id_for(&name) {
            Some(id) => {
                let adopted = client.adopt(&record, &id).await;
                // A process died between its record and its key, and another one has paid.
                if adopted.as_ref().is_err_and(|error| error.kind() == ErrorKind::Journal) {
                    client.dismiss(&record).await?;
                }
                world.tell(format!("a person found {name}: {:?}", adopted.map(drop)));
            }
            None => {
                client.dismiss(&record).await?;
                world.tell(format!("a person dismissed {name}"));
            }
        }
        world.totals.decisions += 1;
    }
    Ok(())
}

/// Compares the records and the files with the account.
fn settle(world: &mut World, wanted: &[Wanted]) -> Result<()> {
    let records: Vec<Record> = Directory::list(world.path("journal"))?
        .flatten()
        .map(|listed| listed.record)
        .filter(was_submitted)
        .collect();
    for record in &records {
        world.tell(format!("{:?}: {:?}", name_of(record), record.state()));
    }
    let mut by_name: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &records {
        by_name.entry(name_of(record).unwrap_or_default()).or_default().push(record);
    }
    for wanted in wanted {
        let name = &*wanted.name;
        if world.forgiven.contains(name) {
            by_name.remove(name);
            world.settle(wanted, &world.path("pictures"), false)?;
            continue;
        }
        let [record] = by_name.remove(name).unwrap_or_default()[..] else {
            anyhow::bail!("{name} does not have one record");
        };
        let is_given_up = matches!(record.state(), State::Failed(_) | State::Expired);
        ensure!(record.state().is_closed(), "{name} is still {:?}", record.state());
        let task = record.task().with_context(|| format!("{name} has no task"))?;
        ensure!(world.services.is_for(task, name), "the record of {name} has another task");
        let file = path_of(&world.path("pictures"), record);
        world.settle(wanted, &file, is_given_up)?;
    }
    ensure!(by_name.is_empty(), "records of pictures that nobody wanted");
    world.nothing_else(wanted)
}
