//! A batch over a ledger in SQLite.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result, ensure};
use imagekiln::DELIVERY_VALIDITY;
use imagekiln_batch::{Batch, ErrorKind, Job, Ledger, Resolution, State};
use tokio::time::{sleep, timeout};

use crate::world::{End, Wanted, World};

/// The runs without faults in which everything must come to its end.
const CALM_RUNS: usize = 4;

/// Longer than all limits of the client together.
const LONGEST: Duration = Duration::from_secs(3600);

pub(crate) async fn live(world: &mut World) -> Result<()> {
    let wanted = world.wanted();
    world.tell(format!("a batch of {} jobs", wanted.len()));
    for _ in 0..world.random.usize(1..=4) {
        world.change_weather()?;
        let death = world.death();
        run(world, &wanted, death).await?;
        if world.random.bool() {
            decide(world).await?;
        }
    }
    world.calm();
    for _ in 0..CALM_RUNS {
        decide(world).await?;
        run(world, &wanted, None).await?;
        sleep(DELIVERY_VALIDITY).await;
    }
    settle(world, &wanted).await
}

async fn open(world: &mut World) -> Result<Batch> {
    // The tasks of a run that was dropped need a moment to close the ledger.
    let ledger = loop {
        match Ledger::open(world.path("ledger.db")).await {
            Err(error) if error.kind() == ErrorKind::Locked => tokio::task::yield_now().await,
            opened => break opened?,
        }
    };
    let batch = Batch::open(world.client(), ledger)?.save_to(world.path("pictures"));
    Ok(batch.max_active(3))
}

async fn run(world: &mut World, wanted: &[Wanted], death: Option<Duration>) -> Result<()> {
    let mut batch = open(world).await?;
    let jobs = wanted
        .iter()
        .map(|wanted| Job::new(&wanted.name, format!("{}.jpg", wanted.name), wanted.request()));
    batch = batch.jobs(jobs);
    world.totals.runs += 1;
    let ended = match death {
        Some(death) => timeout(death, batch.run()).await,
        None => Ok(batch.run().await),
    };
    world.totals.killed += u64::from(ended.is_err());
    match &ended {
        Err(_) => world.tell(format!("run: stopped after {death:?}")),
        Ok(Err(error)) => world.tell(format!("run: {error}")),
        Ok(Ok(report)) => world.tell(format!("run: {report:?}")),
    }
    // Nothing of this process is left when the next one begins.
    batch.client().drain(LONGEST).await.context("submissions never ended")?;
    for job in batch.ledger().jobs().await? {
        let end = match job.state {
            State::Failed | State::Moderated => End::Failed,
            State::Expired => End::Expired,
            _ => continue,
        };
        let wanted = wanted.iter().find(|wanted| wanted.name == job.name);
        world.expect_proof(wanted.context("a job of something else")?, &end)?;
    }
    Ok(())
}

/// A person looks up each unknown submission in the account of the service.
async fn decide(world: &mut World) -> Result<()> {
    let batch = open(world).await?;
    for job in batch.ledger().jobs().await? {
        if job.state != State::Unknown {
            continue;
        }
        let name = job.name;
        let decided = match world.charged(&name).first().map(|task| task.id.clone()) {
            Some(id) => batch.resolve_with_task(&name, &id).await,
            None => batch.ledger().resolve(&name, Resolution::NotPaid).await,
        };
        // The poll of the task may fail.
        if let Err(error) = &decided {
            ensure!(error.kind() == ErrorKind::Client, "a person could not decide: {error}");
        }
        world.tell(format!("a person decided about {name}: {:?}", decided.map(|job| job.state)));
        world.totals.decisions += 1;
    }
    drop(batch);
    sleep(Duration::from_secs(world.random.u64(0..900))).await;
    Ok(())
}

/// Compares the jobs and the files with the account.
async fn settle(world: &mut World, wanted: &[Wanted]) -> Result<()> {
    let jobs = open(world).await?.ledger().jobs().await?;
    for job in &jobs {
        world.tell(format!("{}: {} {:?}", job.name, job.state, job.reason));
    }
    for wanted in wanted {
        let job = jobs.iter().find(|job| job.name == wanted.name).context("a job is missing")?;
        let is_given_up = matches!(job.state, State::Failed | State::Moderated | State::Expired);
        ensure!(is_given_up || job.state == State::Saved, "{} is {}", job.name, job.state);
        let charged = world.charged(&job.name);
        ensure!(
            charged.first().map(|task| &task.id) == job.task_id.as_ref(),
            "the job {} has another task",
            job.name
        );
        let file = job.location.as_ref().map_or_else(|| world.path("none"), PathBuf::from);
        world.settle(wanted, &file, is_given_up)?;
    }
    world.nothing_else(wanted)
}
