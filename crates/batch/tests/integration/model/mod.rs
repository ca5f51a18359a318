//! Random runs, crashes, lost responses, lost leases, webhooks, failures and refusals against the
//! simulator's own count of what was billed.

mod check;
mod fuse;
mod step;
mod world;

use imagekiln_testbed::{Runtime, Trial};
use proptest::{prelude::*, test_runner::TestRunner};

use self::{
    step::{FAULTS, steps},
    world::World,
};
use crate::support::{Backend, each};

/// PostgreSQL creates a database for each case.
fn cases(backend: Backend) -> u32 {
    match backend {
        Backend::Sqlite => 30,
        Backend::Postgres => 6,
    }
}

fn check_all(backend: Backend) {
    let faults = prop::collection::vec(prop::sample::select(&FAULTS[..]), 1..7);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases(backend)));
    let checked = runner.run(&(faults, steps()), |(faults, steps)| {
        let world = World::new(backend, faults);
        for step in &steps {
            world.take(step);
            world.check();
        }
        world.finish();
        world.service.block_on(world.fixture.simulator.shutdown());
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}

async fn every_billed_task_is_saved_or_has_a_reason(backend: Backend) {
    // The model starts and drops runtimes of its own.
    tokio::task::spawn_blocking(move || check_all(backend)).await.unwrap();
}

pub fn tests() -> Vec<Vec<Trial>> {
    vec![each(Runtime::CurrentThread, every_billed_task_is_saved_or_has_a_reason)]
}
