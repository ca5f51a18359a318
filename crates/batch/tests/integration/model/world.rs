//! The service, a ledger, and the processes that use it.

use std::{thread, time::Duration};

use imagekiln_batch::{Batch, Job, JobStatus, Ledger};
use imagekiln_simulator::{Config, TaskView, WebhookSettings};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
    time::{Instant, timeout},
};

use super::{
    fuse::{Fuse, Fuses},
    step::Step,
};
use crate::{
    support::{Backend, Fixture, PRICE, all, job, token},
    webhooks::event,
};

/// Short, because workers look for jobs of others when they renew their leases.
const LEASE: Duration = Duration::from_secs(1);

/// No process of the model has anything to wait for.
const LONGEST: Duration = Duration::from_secs(60);

/// No webhook arrives there. The model passes them on.
const CALLBACK_URL: &str = "http://127.0.0.1:9/hooks";

pub struct World {
    /// The simulator runs here, and survives the crashes.
    pub service: Runtime,
    /// The number of its tasks without connections.
    idle_tasks: usize,
    pub fixture: Fixture,
    pub faults: Vec<&'static str>,
}

impl World {
    pub fn new(backend: Backend, faults: Vec<&'static str>) -> Self {
        let service = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let webhooks = WebhookSettings { retry_after: Vec::new(), ..WebhookSettings::default() };
        let config = Config { ready_after: Duration::ZERO, webhooks, ..Config::default() };
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

    /// Runs a process, unless it crashes. A crash drops the runtime with everything in it. Fails if
    /// the process hangs.
    pub fn process<T>(&self, crash: &Fuse, process: impl Future<Output = T>) -> Option<T> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let done = runtime.block_on(async {
            tokio::select! {
                biased;
                () = crash.blown() => None,
                done = timeout(LONGEST, process) => Some(done.expect("the process hangs")),
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

    /// Runs a process that does not crash.
    pub fn look<T>(&self, process: impl Future<Output = T>) -> T {
        self.process(&Fuse::new(None), process).unwrap()
    }

    pub fn take(&self, step: &Step) {
        match step {
            Step::Resolve => self.look(async { self.resolve(&self.fixture.ledger().await).await }),
            Step::Event { task } => {
                let tasks = self.fixture.simulator.tasks();
                if !tasks.is_empty() {
                    self.look(async {
                        let batch = self.batch(&Fuses::none(), self.fixture.ledger().await);
                        send(&batch, task.get(&tasks)).await;
                    });
                }
            }
            Step::RunWithWrongKey => self.look(async {
                let client = self.fixture.client().api_key("wrong");
                let batch = self.fixture.batch_of(client, &self.fixture.ledger().await);
                let _ = batch.jobs(self.jobs()).run().await;
            }),
            &Step::Run { crash_at, take_over_at, events_at, max_active, budget } => {
                let fuses = Fuses {
                    crash: Fuse::new(crash_at),
                    take_over: Fuse::new(take_over_at),
                    events: Fuse::new(events_at),
                };
                self.run(&fuses, max_active, budget);
            }
        }
    }

    fn run(&self, fuses: &Fuses, max_active: usize, budget: Option<f64>) {
        let spent = budget.map(|_| self.fixture.charged() - self.known_price());
        let configure = |ledger: Ledger| {
            let batch = self.batch(fuses, ledger).max_active(max_active).callback_url(CALLBACK_URL);
            match budget {
                Some(credits) => batch.budget(credits),
                None => batch,
            }
        };
        self.process(&fuses.crash, async {
            let ledger = self.fixture.ledger().await;
            let mut batch = configure(ledger.clone());
            let taker = configure(self.fixture.another(&ledger).await);
            let receiver = configure(self.fixture.another(&ledger).await);
            let ended = Notify::new();
            let first = async {
                batch.run().await.unwrap();
                ended.notify_one();
            };
            let workers = async { tokio::join!(first, self.take_over(fuses, taker, &ended)) };
            tokio::select! {
                _ = workers => {}
                () = self.send_events(fuses, &receiver) => {}
            }
        });
        if let (Some(budget), Some(spent)) = (budget, spent) {
            let limit = budget.max(spent + PRICE) + self.uncounted();
            assert!(self.fixture.charged() <= limit, "the budget is exceeded");
        }
    }

    /// Expires the lease of the worker, and runs another one, unless the first one ends before.
    async fn take_over(&self, fuses: &Fuses, mut taker: Batch, ended: &Notify) {
        tokio::select! {
            () = fuses.take_over.blown() => {
                self.fixture.execute("UPDATE imagekiln.workers SET lease_until = 0").await;
                taker.run().await.unwrap();
            }
            () = ended.notified() => {}
        }
    }

    /// Sends the webhooks of all tasks, as soon as they are billed: before the response if that is
    /// slow.
    async fn send_events(&self, fuses: &Fuses, receiver: &Batch) {
        fuses.events.blown().await;
        let mut sent = 0;
        loop {
            let tasks = self.fixture.simulator.tasks();
            for task in &tasks[sent..] {
                tokio::join!(send(receiver, task), send(receiver, task));
            }
            sent = tasks.len();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The price of a job, or 0 if the ledger does not contain it.
    fn known_price(&self) -> f64 {
        let report =
            self.look(async { self.fixture.ledger().await.reports().jobs().await.unwrap() });
        report.credits().min(PRICE)
    }

    /// The cost of tasks that webhooks found. The budget does not count them while no price is
    /// known.
    fn uncounted(&self) -> f64 {
        let jobs = self.look(async { all(&self.fixture.ledger().await).await });
        let is_uncounted = |job: &&JobStatus| job.task_id.is_some() && job.credits.is_none();
        jobs.iter().filter(is_uncounted).count() as f64 * PRICE
    }

    /// A batch without webhooks, so that a job that is submitted again has the same request: the
    /// faults in its prompt do not happen again.
    pub fn batch(&self, fuses: &Fuses, ledger: Ledger) -> Batch {
        let on_change = fuses.clone();
        let client = self.fixture.client().middleware(fuses.clone());
        self.fixture
            .batch_of(client, &ledger)
            .jobs(self.jobs())
            .lease(LEASE)
            .on_change(move |_| on_change.burn())
    }
}

/// Sends the webhook of a task.
async fn send(receiver: &Batch, task: &TaskView) {
    receiver.callbacks().receive(token(task), &event(&task.id)).await.unwrap();
}
