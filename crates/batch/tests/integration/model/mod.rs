//! Random runs, crashes, lost responses, lost leases, webhooks, failures and refusals against the
//! simulator's own count of what was billed.

mod check;
mod fuse;
mod step;
mod world;

use imagekiln_testbed::{Runtime, Trial, test};
use proptest::{prelude::*, test_runner::TestRunner};

use self::{
    step::{FAULTS, steps},
    world::World,
};
use crate::support::Backend;

/// PostgreSQL creates a database for each case.
fn cases(backend: Backend) -> u32 {
    match backend {
        Backend::Sqlite => 30,
        Backend::Postgres => 6,
    }
}

fn every_billed_task_is_saved_or_has_a_reason(backend: Backend) {
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

pub fn tests() -> Vec<Trial> {
    let trial = |backend: Backend| {
        let name = format!("model::every_billed_task_is_saved_or_has_a_reason::{backend}");
        test(name, backend.requirements(), Runtime::CurrentThread, async move || {
            let check = move || every_billed_task_is_saved_or_has_a_reason(backend);
            // The model starts and drops runtimes of its own.
            tokio::task::spawn_blocking(check).await.unwrap();
        })
    };
    Backend::ALL.map(trial).into()
}
