//! Random runs, crashes, lost responses, failures and refusals against the simulator's own count of
//! what was billed.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    thread,
    time::Duration,
};

use imagekiln::middleware::{Exchange, HeaderMap, Middleware, Outcome};
use imagekiln_batch::{Batch, Job, JobStatus, Ledger, Resolution, State};
use imagekiln_simulator::{Config, TaskView};
use imagekiln_testbed::{Runtime as TestRuntime, Trial, test};
use proptest::{prelude::*, test_runner::TestRunner};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
    time::Instant,
};

use crate::support::{Backend, Fixture, PRICE, assert_equal, is_picture, job};

/// Words in the prompts that make the simulator fail in different ways, each once.
const FAULTS: [&str; 10] = [
    "",
    "",
    "",
    "[[error]]",
    "[[content-moderated]]",
    "[[not-found]]",
    "[[reply-lost]]",
    "[[error-after]]",
    "[[error-before]]",
    "[[early-expiry]]",
];

#[derive(Debug, Clone)]
enum Step {
    /// A process that runs the batch. It crashes at the n-th exchange or change, if it gets there.
    Run { crash_at: Option<i32>, max_active: usize, budget: Option<f64> },
    /// A process with a key that the service refuses.
    RunWithWrongKey,
    /// A person looks up which unknown jobs were billed.
    Resolve,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let crash_at = prop_oneof![1 => Just(None), 4 => (1..40).prop_map(Some)];
    let budget = proptest::option::of((0..20_i32).prop_map(f64::from));
    let run = (crash_at, 1..5_usize, budget).prop_map(|(crash_at, max_active, budget)| Step::Run {
        crash_at,
        max_active,
        budget,
    });
    let step = prop_oneof![6 => run, 1 => Just(Step::RunWithWrongKey), 1 => Just(Step::Resolve)];
    prop::collection::vec(step, 1..8)
}

/// Counts exchanges and changes, and notifies the process when it should crash.
struct Fuse {
    left: AtomicI32,
    blown: Notify,
}

impl Fuse {
    fn new(length: i32) -> Arc<Self> {
        Arc::new(Self { left: AtomicI32::new(length), blown: Notify::new() })
    }

    fn burn(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.blown.notify_one();
        }
    }
}

struct Watch(Arc<Fuse>);

impl Middleware for Watch {
    fn before(&self, _: &Exchange<'_>, _: &mut HeaderMap) {
        self.0.burn();
    }

    fn after(&self, _: &Exchange<'_>, _: &Outcome) {
        self.0.burn();
    }
}

struct World {
    /// The simulator runs here, and survives the crashes.
    service: Runtime,
    /// The number of its tasks without connections.
    idle_tasks: usize,
    fixture: Fixture,
    faults: Vec<&'static str>,
}

impl World {
    fn new(backend: Backend, faults: Vec<&'static str>) -> Self {
        let service = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = Config { ready_after: Duration::ZERO, ..Config::default() };
        let fixture = service.block_on(Fixture::with(backend, config));
        let idle_tasks = service.metrics().num_alive_tasks();
        Self { service, idle_tasks, fixture, faults }
    }

    fn jobs(&self) -> Vec<Job> {
        let job = |(number, fault): (usize, &&str)| {
            job(&format!("{number}"), &format!("fox {number} {fault}"))
        };
        self.faults.iter().enumerate().map(job).collect()
    }

    /// Runs a process, unless it crashes. A crash drops the runtime with everything in it.
    fn process<T>(&self, fuse: &Fuse, process: impl Future<Output = T>) -> Option<T> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let done = runtime.block_on(async {
            tokio::select! {
                biased;
                () = fuse.blown.notified() => None,
                done = process => Some(done),
            }
        });
        drop(runtime);
        self.wait_until_idle();
        done
    }

    /// Waits until the service has processed the requests of a process that crashed.
    fn wait_until_idle(&self) {
        let started = Instant::now();
        while self.service.metrics().num_alive_tasks() > self.idle_tasks {
            assert!(started.elapsed() < Duration::from_secs(20), "a connection stays open");
            thread::yield_now();
        }
    }

    fn take(&self, step: &Step) {
        match *step {
            Step::Resolve => {
                let resolving = async { self.resolve(&self.fixture.ledger().await).await };
                self.process(&Fuse::new(0), resolving);
            }
            Step::RunWithWrongKey => {
                let fuse = Fuse::new(0);
                self.process(&fuse, async {
                    let client = self.fixture.client().api_key("wrong");
                    let batch = Batch::open(client, self.fixture.ledger().await).unwrap();
                    let _ = batch.save_to(self.fixture.output()).jobs(self.jobs()).run().await;
                });
            }
            Step::Run { crash_at, max_active, budget } => {
                let fuse = Fuse::new(crash_at.unwrap_or_default());
                let (before, price) = (self.fixture.charged(), self.known_price());
                self.process(&fuse, async {
                    let batch = self.batch(&fuse, self.fixture.ledger().await);
                    let mut batch = batch.max_active(max_active);
                    if let Some(credits) = budget {
                        batch = batch.budget(credits);
                    }
                    batch.run().await.unwrap();
                });
                let limit = budget.unwrap_or(f64::INFINITY).max(before + PRICE - price);
                assert!(self.fixture.charged() <= limit, "the budget is exceeded");
            }
        }
    }

    /// The price of a job, or 0 if the ledger does not contain it.
    fn known_price(&self) -> f64 {
        let report = self
            .process(&Fuse::new(0), async { self.fixture.ledger().await.report().await.unwrap() });
        report.unwrap().credits().min(PRICE)
    }

    fn batch(&self, fuse: &Arc<Fuse>, ledger: Ledger) -> Batch {
        let on_change = Arc::clone(fuse);
        let client = self.fixture.client().middleware(Watch(Arc::clone(fuse)));
        Batch::open(client, ledger)
            .unwrap()
            .save_to(self.fixture.output())
            .jobs(self.jobs())
            .on_change(move |_| on_change.burn())
    }

    /// The billed tasks by the name of their job, of which there is at most one.
    fn billed(&self) -> HashMap<String, TaskView> {
        let mut billed = HashMap::new();
        for task in self.fixture.simulator.tasks() {
            let prompt = task.request["prompt"].as_str().unwrap();
            let name = prompt.split(' ').nth(1).unwrap().to_owned();
            let twice = billed.insert(name, task);
            assert!(twice.is_none(), "submitted twice: {twice:?}");
        }
        billed
    }

    async fn resolve(&self, ledger: &Ledger) {
        let billed = self.billed();
        for JobStatus { name, state, .. } in ledger.jobs().await.unwrap() {
            if state == State::Unknown {
                let paid = billed.contains_key(&name);
                let resolution = if paid { Resolution::Paid } else { Resolution::NotPaid };
                ledger.resolve(&name, resolution).await.unwrap();
            }
        }
    }

    /// What holds after every step.
    fn check(&self) {
        let billed = self.billed();
        let jobs = self
            .process(&Fuse::new(0), async { self.fixture.ledger().await.jobs().await.unwrap() });
        for JobStatus { name, state, location, reason, .. } in jobs.unwrap() {
            match state {
                State::Queued => assert!(!billed.contains_key(&name), "job {name} is billed"),
                State::Submitted | State::Ready => {}
                State::Saved => assert!(is_picture(location.unwrap()), "job {name} has no picture"),
                _ => assert!(reason.is_some(), "job {name} is {state} without a reason"),
            }
        }
    }

    /// Runs and resolves until all jobs are final, and compares the totals.
    fn finish(&self) {
        let fuse = Fuse::new(0);
        let ended = self.process(&fuse, async {
            let ledger = self.fixture.ledger().await;
            let mut batch = self.batch(&fuse, ledger.clone());
            for _ in 0..2 {
                batch.run().await.unwrap();
                self.resolve(&ledger).await;
            }
            batch.run().await.unwrap();
            (ledger.jobs().await.unwrap(), ledger.report().await.unwrap())
        });
        let (jobs, report) = ended.unwrap();
        let billed = self.billed();
        let mut lost = 0.0;
        for JobStatus { name, state, task_id, reason, .. } in &jobs {
            let task = billed.get(name);
            let is_lost = state == &State::Failed && task_id.is_none();
            let is_missing = state == &State::Submitted;
            let is_final = matches!(state, State::Failed | State::Moderated | State::Expired);
            assert!(is_final || is_missing || state == &State::Saved, "job {name} is {state}");
            assert!(state == &State::Saved || reason.is_some(), "job {name} is {state}");
            assert!(!is_missing || self.faults[name.parse::<usize>().unwrap()].contains("found"));
            match is_lost {
                true => lost += task.unwrap().cost.hundredths() as f64 / 100.0,
                false => assert_eq!(task_id.as_ref(), task.map(|task| &task.id), "job {name}"),
            }
        }
        assert_eq!(jobs.len(), self.faults.len());
        let saved = report.count(State::Saved);
        assert_eq!(self.fixture.files(), [saved, saved, 0], "pictures, descriptions, others");
        assert_equal(report.credits() + lost, self.fixture.charged());
    }
}

/// PostgreSQL creates a database for each case.
fn cases(backend: Backend) -> u32 {
    match backend {
        Backend::Sqlite => 40,
        Backend::Postgres => 15,
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
        test(name, backend.requirements(), TestRuntime::CurrentThread, async move || {
            let check = move || every_billed_task_is_saved_or_has_a_reason(backend);
            // The model starts and drops runtimes of its own.
            tokio::task::spawn_blocking(check).await.unwrap();
        })
    };
    Backend::ALL.map(trial).into()
}
