//! A batch over a ledger in SQLite.

use std::{
    collections::BTreeSet, error, fs, future::pending, iter::successors, path::PathBuf, sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use imagekiln::{DELIVERY_VALIDITY, journal::Directory};
use imagekiln_batch::{
    Batch, Error, ErrorKind, Filter, Job, JobState, JobStatus, Ledger, Resolution,
    fuzzing::{Clocks, open_ledger, pragma},
};
use tokio::{runtime::Handle, time::sleep};

use crate::{
    disk::closed,
    process::{Failing, Process},
    services::{Payer, name_of},
    world::{End, Wanted, World},
};

/// The runs without faults in which everything must come to its end.
const CALM_RUNS: usize = 4;

/// Longer than all limits of the client together.
const LONGEST: Duration = Duration::from_secs(3600);

/// Makes the database full, or read-only, and undoes it.
const FULL: [&str; 2] = ["max_page_count = 1", "max_page_count = 1073741823"];
const READ_ONLY: [&str; 2] = ["query_only = TRUE", "query_only = FALSE"];

/// The ledger of a history.
struct Life {
    wanted: Vec<Wanted>,
    /// Whether the disk of the acceptance log never failed, so that it knows every task.
    log_is_whole: bool,
    /// Whether there is a copy of the ledger at an earlier moment.
    has_copy: bool,
}

pub(crate) async fn live(world: &mut World) -> Result<()> {
    let mut life = Life { wanted: world.wanted(), log_is_whole: true, has_copy: false };
    world.tell(format!("a batch of {} jobs", life.wanted.len()));
    for number in world.runs() {
        world.change_weather(number)?;
        run(world, &mut life).await?;
        if world.random.bool() {
            decide(world).await?;
        }
        if world.random.u8(0..3) == 0 && life.has_copy && world.has("lost ledgers") {
            lose_ledger(world, &mut life).await?;
        } else if world.random.u8(0..3) == 0 {
            copy_ledger(world, &mut life).await?;
        }
    }
    world.calm()?;
    for _ in 0..CALM_RUNS {
        decide(world).await?;
        run(world, &mut life).await?;
        sleep(DELIVERY_VALIDITY).await;
    }
    settle(world, &life.wanted).await
}

/// Returns the message of an error and those of its sources.
fn chain(error: &(dyn error::Error + 'static)) -> String {
    let messages = successors(Some(error), |&error| error.source()).map(ToString::to_string);
    messages.collect::<Vec<_>>().join(": ")
}

async fn open(world: &mut World, process: &Arc<Process>) -> Result<Batch, Error> {
    let path = world.path("ledger.db");
    let disk = Arc::clone(process);
    let open = |path| Directory::open_on(path, disk);
    let started = world.started;
    // The clock of leases never jumps.
    let lease = Arc::new(move || started.elapsed());
    // The database has a runtime of its own, whose clock is not paused.
    let (paused, wall) = (Handle::current(), world.wall_clock());
    let wall = Arc::new(move || {
        let _paused = paused.enter();
        wall()
    });
    let clocks = Clocks { wall, lease };
    let ledger = open_ledger(&path, clocks, open).await?;
    let batch = Batch::open(world.client_of(process, Payer::FIRST), ledger)?
        .save_to(world.path("pictures"));
    Ok(batch.max_active(3))
}

async fn open_healthy(world: &mut World) -> Result<Batch> {
    let process = world.healthy_process();
    Ok(open(world, &process).await?)
}

/// Returns the jobs of a ledger that no process has open.
async fn jobs(world: &World) -> Result<Vec<JobStatus>> {
    closed(&world.path("ledger.db")).await?;
    match Ledger::open_read_only(world.path("ledger.db")).await {
        Err(error) if error.kind() == ErrorKind::Missing => Ok(Vec::new()),
        ledger => Ok(ledger?.jobs().list(&Filter::default()).await?),
    }
}

async fn run(world: &mut World, life: &mut Life) -> Result<()> {
    let (processes, crashes) = world.processes(1, true);
    let process = &processes[0];
    let disk = process.trouble.disk;
    life.log_is_whole &= disk.is_none_or(|(failing, ..)| failing == Failing::Full);
    let charged = world.services.ids();
    world.totals.runs += 1;
    let mut batch = match open(world, process).await {
        Ok(batch) => batch,
        Err(error) => {
            ensure!(disk.is_some(), "could not open the ledger: {}", chain(&error));
            world.tell(format!("run: {}", chain(&error)));
            return Ok(());
        }
    };
    let job =
        |wanted: &Wanted| Job::new(&wanted.name, format!("{}.jpg", wanted.name), wanted.request());
    batch = batch.jobs(life.wanted.iter().map(job));
    let ledger = batch.ledger().clone();
    let failing = fail_ledger(world, ledger.clone());
    let ended = tokio::select! {
        ended = batch.run() => Some(ended),
        () = failing => None,
        () = process.death() => None,
    };
    let mut known = BTreeSet::new();
    match &ended {
        None => {
            world.totals.killed += 1;
            // What still runs of this process cannot write.
            pragma(&ledger, READ_ONLY[0]).await?;
            process.die();
            if world.random.bool() && world.has("lost ledgers") {
                // Without the write-ahead log.
                fs::copy(world.path("ledger.db"), world.path("copy.db"))?;
                life.has_copy = true;
            }
            world.tell("run: killed");
        }
        Some(Err(error)) => {
            known.extend(error.tasks().iter().map(|task| task.id().to_owned()));
            world.tell(format!("run: {}, unrecorded: {known:?}", chain(error)));
        }
        Some(Ok(report)) => world.tell(format!("run: {report:?}")),
    }
    // Nothing of this process is left when the next one begins.
    batch.client().drain(LONGEST).await.context("submissions never ended")?;
    drop((batch, ledger));
    if crashes && ended.is_none() {
        world.machine.crash(&mut world.stream("crash"))?;
    }
    let jobs = jobs(world).await?;
    if ended.is_some() {
        known.extend(jobs.iter().filter_map(|job| job.task_id.clone()));
        world.services.expect_known(&charged, process.accepted(), &known)?;
    }
    expect_proofs(world, life, &jobs)
}

fn expect_proofs(world: &World, life: &Life, jobs: &[JobStatus]) -> Result<()> {
    for job in jobs {
        let end = match job.state {
            JobState::Failed | JobState::Moderated => End::Failed,
            JobState::Expired => End::Expired,
            _ => continue,
        };
        let wanted = life.wanted.iter().find(|wanted| wanted.name == job.name);
        world.expect_proof(wanted.context("a job of something else")?, &end)?;
    }
    Ok(())
}

/// Makes the database fail for a while, in some runs. Never returns.
fn fail_ledger(world: &mut World, ledger: Ledger) -> impl Future<Output = ()> + use<> {
    let mut random = world.stream("ledger");
    let fails = random.u8(0..3) == 0 && world.has("ledger faults");
    let [fail, undo] = if random.bool() { FULL } else { READ_ONLY };
    let after = Duration::from_secs_f64(random.f64().powi(3) * 60.0);
    let lasts = Duration::from_secs_f64(random.f64().powi(3) * 600.0);
    if fails {
        world.tell(format!("{fail} after {after:?} for {lasts:?}"));
    }
    async move {
        if fails {
            sleep(after).await;
            // The run ends if the connection does.
            let _ = pragma(&ledger, fail).await;
            sleep(lasts).await;
            let _ = pragma(&ledger, undo).await;
        }
        pending().await
    }
}

/// A person looks up each unknown submission in the account of the service.
async fn decide(world: &mut World) -> Result<()> {
    let batch = open_healthy(world).await?;
    for job in batch.ledger().jobs().list(&Filter::default()).await? {
        let name = job.name;
        match job.state {
            JobState::Unknown => {}
            JobState::Damaged => {
                batch.ledger().jobs().retry(&Filter::named([&name]), None).await?;
                continue;
            }
            _ => continue,
        }
        let decided = match world.services.id_for(&name) {
            Some(id) => batch.resolve_with_task(&name, &id).await,
            None => batch.ledger().jobs().resolve(&name, Resolution::NotPaid).await,
        };
        // The poll of the task may fail.
        if let Err(error) = &decided {
            let is_expected = error.kind() == ErrorKind::Client;
            ensure!(is_expected, "a person could not decide: {}", chain(error));
        }
        world.tell(format!("a person decided about {name}: {:?}", decided.map(|job| job.state)));
        world.totals.decisions += 1;
    }
    drop(batch);
    sleep(Duration::from_secs(world.random.u64(0..900))).await;
    Ok(())
}

async fn copy_ledger(world: &mut World, life: &mut Life) -> Result<()> {
    closed(&world.path("ledger.db")).await?;
    if world.path("ledger.db").exists() {
        fs::copy(world.path("ledger.db"), world.path("copy.db"))?;
        life.has_copy = true;
        world.tell("the ledger is copied");
    }
    Ok(())
}

/// Replaces the ledger by its copy. If it has lost what was paid for, the next run submits nothing,
/// and a person adopts the output.
async fn lose_ledger(world: &mut World, life: &mut Life) -> Result<()> {
    if !life.log_is_whole {
        // Nobody but the service knows the tasks that would be lost.
        return Ok(());
    }
    let (copy, ledger) = (world.path("copy.db"), world.path("ledger.db"));
    let moves = world.random.bool();
    if moves {
        fs::copy(&copy, world.path("moved.db"))?;
        fs::rename(world.path("moved.db"), &ledger)?;
    } else {
        fs::copy(&copy, &ledger)?;
    }
    for file in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(world.path(file));
    }
    let paid = unpaid(world, &jobs(world).await?);
    world.tell(format!("the ledger is replaced, moved {moves}; it has lost {paid:?}"));
    let charged = world.services.ids();
    let mut batch = open_healthy(world).await?;
    let job =
        |wanted: &Wanted| Job::new(&wanted.name, format!("{}.jpg", wanted.name), wanted.request());
    batch = batch.jobs(life.wanted.iter().map(job));
    let ended = batch.run().await;
    world.tell(format!("run: {:?}", ended.as_ref().map_err(ToString::to_string)));
    let is_refused = ended.is_err_and(|error| error.kind() == ErrorKind::Foreign);
    ensure!(is_refused || paid.is_empty(), "a ledger that lost {paid:?} is accepted");
    if is_refused {
        ensure!(world.services.ids() == charged, "a ledger that is refused has submitted jobs");
        batch.ledger().adopt_output(world.path("pictures")).await?;
        let jobs = batch.ledger().jobs().list(&Filter::default()).await?;
        let paid = unpaid(world, &jobs);
        ensure!(paid.is_empty(), "{paid:?} would be paid for again after the output was adopted");
    }
    Ok(())
}

/// Returns the names of the pictures that were paid for, and of which a ledger does not know it.
fn unpaid(world: &World, jobs: &[JobStatus]) -> Vec<String> {
    let names: BTreeSet<String> =
        world.services.tasks().filter_map(|(_, task)| name_of(&task)).collect();
    let knows =
        |name: &str| jobs.iter().any(|job| job.name == *name && job.state != JobState::Queued);
    names.into_iter().filter(|name| !knows(name)).collect()
}

/// Compares the jobs and the files with the account.
async fn settle(world: &mut World, wanted: &[Wanted]) -> Result<()> {
    let jobs = jobs(world).await?;
    for job in &jobs {
        world.tell(format!("{}: {} {:?}", job.name, job.state, job.reason));
    }
    for wanted in wanted {
        let job = jobs.iter().find(|job| job.name == wanted.name).context("a job is missing")?;
        let is_given_up =
            matches!(job.state, JobState::Failed | JobState::Moderated | JobState::Expired);
        ensure!(is_given_up || job.state == JobState::Saved, "{} is {}", job.name, job.state);
        let is_its = world.services.id_for(&job.name) == job.task_id;
        ensure!(is_its, "the job {} has another task", job.name);
        let file = job.location.as_ref().map_or_else(|| world.path("none"), PathBuf::from);
        world.settle(wanted, &file, is_given_up)?;
    }
    world.nothing_else(wanted)
}
