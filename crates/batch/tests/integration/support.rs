//! A simulator, a ledger, and jobs.

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    iter::successors,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use imagekiln::{
    Client, ClientBuilder,
    types::{Gen2Flex, Gen2Pro},
};
use imagekiln_batch::{Batch, ErrorKind, Filter, Job, JobState, JobStatus, Ledger};
use imagekiln_simulator::{Config, Simulator, TaskView};
use imagekiln_testbed::{
    Requirement, Runtime, Trial, name_of,
    postgres::{POSTGRES, cluster},
    test,
};
use rusqlite::Connection;
use sqlx_core::{connection::ConnectOptions as _, query_scalar::query_scalar};
use sqlx_postgres::PgConnectOptions;
use tokio::{runtime::Handle, sync::Notify};

/// Returns the message of an error and those of its sources.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let messages = successors(Some(error), |&error| error.source()).map(ToString::to_string);
    messages.collect::<Vec<_>>().join(": ")
}

/// The cost of a request of [`job`] in credits.
pub const PRICE: f64 = 3.0;

/// The name of the marker at an output.
pub const MARKER: &str = ".imagekiln-ledger";

/// Counts the operations for which the triggers did not count what the submissions add up to. The
/// sums of the costs must be exact.
pub const MISCOUNTED: &str = "WITH counted AS (
        SELECT operation, MAX(cost),
            COALESCE(SUM(cost) FILTER (WHERE state <> 'withdrawn'), CAST(0 AS DOUBLE PRECISION)),
            COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
            CAST(COALESCE(SUM(pixels) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL), 0)
                AS BIGINT),
            COUNT(*) FILTER (WHERE state = 'open')
        FROM imagekiln.submissions GROUP BY operation),
    kept AS (
        SELECT operation, MAX(price), SUM(credits), CAST(SUM(without_cost) AS BIGINT),
            CAST(SUM(pixels) AS BIGINT), CAST(SUM(open) AS BIGINT)
        FROM imagekiln.spending WHERE group_name = '' GROUP BY operation)
    SELECT COUNT(*) FROM (
        SELECT * FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept) AS lacking
        UNION ALL SELECT * FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted) AS wrong
    ) AS different";

/// A speed of the simulator's clock at which deliveries stay valid for half a minute, because a
/// busy machine takes seconds to fetch them.
pub const FAST: f64 = 20.0;

/// The database of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

impl Backend {
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    pub fn requirements(self) -> &'static [Requirement] {
        match self {
            Self::Sqlite => &[],
            Self::Postgres => &[POSTGRES],
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

/// Creates a test for each database, on a paused clock.
pub fn both<F>(run: impl Fn(Backend) -> F + Copy + Send + 'static) -> Vec<Trial>
where
    F: Future<Output = ()>,
{
    each(Runtime::Paused, run)
}

/// Creates a test for each database on this runtime.
pub fn each<F>(runtime: Runtime, run: impl Fn(Backend) -> F + Copy + Send + 'static) -> Vec<Trial>
where
    F: Future<Output = ()>,
{
    let trial = |backend: Backend| {
        let name = format!("{}::{backend}", name_of(&run));
        test(name, backend.requirements(), runtime, async move || run(backend).await)
    };
    Backend::ALL.map(trial).into()
}

/// Creates a test that needs no database server.
pub fn sqlite<F>(run: impl Fn() -> F + Copy + Send + 'static) -> Vec<Trial>
where
    F: Future<Output = ()>,
{
    vec![test(name_of(&run), &[], Runtime::CurrentThread, async move || run().await)]
}

/// Creates a test that needs PostgreSQL.
pub fn postgres<F>(run: impl Fn() -> F + Copy + Send + 'static) -> Vec<Trial>
where
    F: Future<Output = ()>,
{
    vec![test(name_of(&run), &[POSTGRES], Runtime::CurrentThread, async move || run().await)]
}

pub struct Fixture {
    pub simulator: Simulator,
    pub directory: tempfile::TempDir,
    /// The URL of the database, unless it is a file.
    url: Option<String>,
}

impl Fixture {
    pub async fn new(backend: Backend) -> Self {
        Self::with(backend, Config::default()).await
    }

    /// A fixture and its ledger.
    pub async fn with_ledger(backend: Backend) -> (Self, Ledger) {
        let fixture = Self::new(backend).await;
        let ledger = fixture.ledger().await;
        (fixture, ledger)
    }

    pub async fn with(backend: Backend, config: Config) -> Self {
        let url = (backend == Backend::Postgres).then(|| cluster().create_database());
        Self::start(url, config).await
    }

    /// Uses this database in PostgreSQL.
    pub async fn on(url: String, config: Config) -> Self {
        Self::start(Some(url), config).await
    }

    async fn start(url: Option<String>, config: Config) -> Self {
        let simulator = Simulator::start(config).await.unwrap();
        Self { simulator, directory: tempfile::tempdir().unwrap(), url }
    }

    /// Returns the path or the URL of the ledger.
    pub fn ledger_name(&self) -> String {
        let path = || self.directory.path().join("ledger.db").to_str().unwrap().to_owned();
        self.url.clone().unwrap_or_else(path)
    }

    /// Opens another, empty ledger.
    pub async fn new_ledger(&self) -> Ledger {
        match self.url {
            Some(_) => open(&cluster().create_database()).await,
            None => open(self.directory.path().join("other.db").to_str().unwrap()).await,
        }
    }

    pub fn output(&self) -> PathBuf {
        self.directory.path().join("pictures")
    }

    /// Opens the ledger after the processes of all other workers ended.
    pub async fn ledger(&self) -> Ledger {
        self.expire_leases().await;
        open(&self.ledger_name()).await
    }

    /// Makes the time pass in which a worker that does not respond keeps its jobs. None of its
    /// submissions may be in flight.
    pub async fn expire_leases(&self) {
        let Some(url) = &self.url else { return };
        // A ledger that takes over jobs holds their submissions.
        drop(open(url).await);
        self.execute("UPDATE imagekiln.workers SET lease_until = 0").await;
        drop(open(url).await);
        self.execute("UPDATE imagekiln.submissions SET hold_until = NULL").await;
    }

    /// Changes the ledger behind the back of its workers, while the paused clock stands still.
    pub async fn execute(&self, sql: &str) {
        self.query(sql).await;
    }

    /// Returns the number that a query of the ledger returns.
    pub async fn count(&self, sql: &str) -> i64 {
        self.query(sql).await.unwrap()
    }

    /// Returns the first number of the result, if there is one.
    async fn query(&self, sql: &str) -> Option<i64> {
        let (url, file, runtime) = (self.url.clone(), self.ledger_name(), Handle::current());
        let sql = sql.to_owned();
        let query = move || match url {
            Some(url) => runtime.block_on(async {
                let options: PgConnectOptions = url.parse().unwrap();
                let mut database = options.connect().await.unwrap();
                query_scalar(&sql).fetch_optional(&mut database).await.unwrap()
            }),
            None => {
                let database = Connection::open(file).unwrap();
                // SQLite has no schemas.
                let sql = sql.replace("imagekiln.", "");
                let mut statement = database.prepare(&sql).unwrap();
                let mut rows = statement.query([]).unwrap();
                rows.next().unwrap().map(|row| row.get(0).unwrap())
            }
        };
        // If the test drops the runtime meanwhile, nobody sees the error.
        tokio::task::spawn_blocking(query).await.unwrap()
    }

    /// Opens the ledger for another worker: on PostgreSQL with another connection, as another
    /// process does.
    pub async fn another(&self, ledger: &Ledger) -> Ledger {
        match &self.url {
            Some(url) => open(url).await,
            None => ledger.clone(),
        }
    }

    /// Opens the ledger again, for another batch.
    pub async fn reopen(&self, ledger: Ledger) -> Ledger {
        drop(ledger);
        self.ledger().await
    }

    pub fn client(&self) -> ClientBuilder {
        Client::builder().api_key(self.simulator.api_key()).base_url(self.simulator.base_url())
    }

    pub fn batch(&self, ledger: &Ledger) -> Batch {
        self.batch_of(self.client(), ledger)
    }

    pub fn batch_of(&self, client: ClientBuilder, ledger: &Ledger) -> Batch {
        Batch::open(client, ledger.clone()).unwrap().save_to(self.output())
    }

    /// The billed tasks by the name of their job, of which there is at most one. The name is the
    /// second word of the prompt.
    pub fn billed(&self) -> HashMap<String, TaskView> {
        let mut billed = HashMap::new();
        for task in self.simulator.tasks() {
            let prompt = task.request["prompt"].as_str().unwrap();
            let name = prompt.split(' ').nth(1).unwrap().to_owned();
            let twice = billed.insert(name, task);
            assert!(twice.is_none(), "submitted twice: {twice:?}");
        }
        billed
    }

    /// Returns a dump of the ledger on a server.
    pub fn dump(&self) -> Vec<u8> {
        output(Command::new("pg_dump").args(["--clean", "--schema=imagekiln", &self.ledger_name()]))
    }

    pub fn restore(&self, dump: Vec<u8>) {
        let file = self.directory.path().join("backup.sql");
        std::fs::write(&file, dump).unwrap();
        let options = ["--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--file"];
        output(Command::new("psql").args(options).arg(&file).arg(self.ledger_name()));
    }

    pub fn accepted(&self) -> u64 {
        self.simulator.counts().accepted
    }

    /// The numbers of pictures, of files that describe one, and of other files in the output,
    /// without the marker.
    pub fn files(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        for file in std::fs::read_dir(self.output()).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if name == MARKER {
                continue;
            }
            let kind = [".jpg", ".jpg.json"].iter().position(|end| name.ends_with(end));
            counts[kind.unwrap_or(2)] += 1;
        }
        counts
    }

    /// The credits that the service charged.
    pub fn charged(&self) -> f64 {
        self.simulator.counts().charged.hundredths() as f64 / 100.0
    }
}

/// Runs a command that succeeds, and returns its output.
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Returns the token in the webhook URL of a task.
pub fn token(task: &TaskView) -> &str {
    task.request["webhook_url"].as_str().unwrap().rsplit('/').next().unwrap()
}

/// Opens the ledger with this path or URL.
pub async fn open(name: &str) -> Ledger {
    for _ in 0..100_000 {
        match Ledger::open(name).await {
            // The tasks of a dropped run may still hold it, and so does a child process of
            // another test until it has started its program.
            Err(error) if error.kind() == ErrorKind::Locked => tokio::task::yield_now().await,
            opened => return opened.unwrap(),
        }
    }
    panic!("the ledger is still open");
}

/// Closes a ledger, and returns its file, which then contains everything.
pub async fn closed(fixture: &Fixture, ledger: Ledger) -> PathBuf {
    drop(ledger);
    let file = PathBuf::from(fixture.ledger_name());
    while file.with_extension("db-wal").exists() {
        tokio::task::yield_now().await;
    }
    file
}

/// Makes a batch notify when a job reaches this state.
pub fn notifying(batch: Batch, wanted: JobState) -> (Batch, Arc<Notify>) {
    let reached = Arc::new(Notify::new());
    let is_reached = Arc::clone(&reached);
    let batch = batch.on_change(move |job| {
        if job.state == wanted {
            is_reached.notify_one();
        }
    });
    (batch, reached)
}

/// Runs a batch, and drops the run when it is notified.
pub async fn interrupt(batch: &mut Batch, when: &Notify) {
    tokio::select! {
        biased;
        () = when.notified() => {}
        ended = batch.run() => panic!("the run was not interrupted: {ended:?}"),
    }
}

/// Runs a batch until a job reaches this state, and drops the run then.
pub async fn run_until(batch: Batch, wanted: JobState) -> Batch {
    let (mut batch, reached) = notifying(batch, wanted);
    interrupt(&mut batch, &reached).await;
    batch
}

/// A small job with this prompt. Its target is the name with the extension `.jpg`.
pub fn job(name: &str, prompt: &str) -> Job {
    Job::new(name, format!("{name}.jpg"), Gen2Pro::new(prompt).width(64).height(64))
}

pub fn jobs(count: usize) -> Vec<Job> {
    (0..count).map(|number| job(&format!("{number}"), &format!("fox {number}"))).collect()
}

/// A job of another operation.
pub fn flex(number: usize) -> Job {
    let request = Gen2Flex::new(format!("fox {number}")).width(64).height(64);
    Job::new(format!("flex-{number}"), format!("flex-{number}.jpg"), request)
}

/// Selects the job with this name.
pub fn named(name: &str) -> Filter {
    Filter::named([name])
}

/// All jobs of a ledger.
pub async fn all(ledger: &Ledger) -> Vec<JobStatus> {
    ledger.jobs().list(&Filter::default()).await.unwrap()
}

pub async fn state(ledger: &Ledger, name: &str) -> JobState {
    ledger.jobs().get(name).await.unwrap().unwrap().state
}

pub async fn reason(ledger: &Ledger, name: &str) -> String {
    ledger.jobs().get(name).await.unwrap().unwrap().reason.unwrap()
}

pub fn is_picture(path: impl AsRef<Path>) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\xff\xd8\xff"))
}

pub fn assert_equal(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6, "{one} and {other}");
}
