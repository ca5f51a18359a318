//! The world of a history: the simulator with its faults, a wall clock that jumps, and the account
//! at the end.

use std::{
    collections::BTreeMap,
    ops::AddAssign,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use imagekiln::{Client, ClientBuilder, DELIVERY_VALIDITY, FileKind, types::Gen2Pro};
use imagekiln_simulator::{Config, Simulator, TaskView};
use tempfile::TempDir;
use tokio::time::Instant;

/// The faults of the network and of the service. Each run has some of them, at random.
const FAULTS: [&str; 19] = [
    "error-before@submission",
    "error-after@submission",
    "html-502@submission",
    "rate-limited@submission=3",
    "reset@submission",
    "reset@submission=after",
    "reply-lost@submission",
    "slow-headers@submission=40",
    "error-before@poll",
    "reset@poll",
    "unknown-status@poll",
    "slow-headers@poll=40",
    "error-before@delivery",
    "truncated@delivery",
    "html@delivery",
    "wrong-kind@delivery=text",
    "reset@delivery",
    "early-expiry@delivery",
    NOT_FOUND,
];

/// Two of these ten minutes apart prove that a task is gone, so only one run of a history has them.
const NOT_FOUND: &str = "spurious-not-found@poll";

/// How far apart two polls that do not find a task must be to prove that it is gone.
const NOT_FOUND_PROOF: Duration = Duration::from_secs(600);

/// The time at which each history begins, in seconds since the Unix epoch.
const BEGIN: u64 = 1_800_000_000;

/// What histories did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// The number of histories.
    pub histories: u64,
    /// The number of runs of a program.
    pub runs: u64,
    /// The number of runs that were killed.
    pub killed: u64,
    /// The number of tasks that the simulator charged.
    pub charged: u64,
    /// The number of pictures that were saved.
    pub saved: u64,
    /// The number of tasks that failed, or whose pictures expired, with a proof.
    pub given_up: u64,
    /// The number of decisions of a person.
    pub decisions: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.histories += other.histories;
        self.runs += other.runs;
        self.killed += other.killed;
        self.charged += other.charged;
        self.saved += other.saved;
        self.given_up += other.given_up;
        self.decisions += other.decisions;
    }
}

/// A picture that the program wants.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    prompt: String,
    /// Whether its task fails.
    pub(crate) fails: bool,
}

impl Wanted {
    pub(crate) fn request(&self) -> Gen2Pro {
        Gen2Pro::new(&self.prompt).width(64).height(64).seed(7)
    }
}

pub(crate) struct World {
    pub(crate) simulator: Simulator,
    pub(crate) random: Rng,
    pub(crate) story: Vec<String>,
    pub(crate) totals: Totals,
    folder: TempDir,
    started: Instant,
    /// Seconds that the wall clock is ahead of tokio's clock.
    ahead: Arc<AtomicU64>,
    /// When the service began not to find tasks.
    not_found_since: Option<Instant>,
    had_jump: bool,
}

/// Why a picture is given up, as a record says.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    Failed,
    NotFound,
    Expired,
}

impl World {
    pub(crate) async fn new(seed: u64) -> Result<Self> {
        let mut random = Rng::with_seed(seed);
        let ready_after = Duration::from_millis(random.u64(0..20_000));
        let config = Config { seed: Some(seed.into()), ready_after, ..Config::default() };
        Ok(Self {
            simulator: Simulator::start(config).await?,
            random,
            story: Vec::new(),
            totals: Totals::default(),
            folder: tempfile::tempdir()?,
            started: Instant::now(),
            ahead: Arc::new(AtomicU64::new(24 * 3600)),
            not_found_since: None,
            had_jump: false,
        })
    }

    pub(crate) fn tell(&mut self, line: impl Into<String>) {
        let at = self.started.elapsed().as_secs_f32();
        self.story.push(format!("{at:8.1} s  {}", line.into()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A client in a new process.
    pub(crate) fn client(&mut self) -> ClientBuilder {
        let (started, ahead) = (self.started, Arc::clone(&self.ahead));
        Client::builder()
            .api_key(self.simulator.api_key())
            .base_url(self.simulator.base_url())
            .random_seed(self.random.u64(..))
            .wall_clock(move || {
                let ahead = Duration::from_secs(ahead.load(Ordering::Relaxed));
                UNIX_EPOCH + Duration::from_secs(BEGIN) + started.elapsed() + ahead
            })
    }

    /// Chooses some pictures. The names are in the prompts, so that the account can find them.
    pub(crate) fn wanted(&mut self) -> Vec<Wanted> {
        let count = self.random.usize(1..=6);
        (1..=count).map(|number| self.picture(number)).collect()
    }

    fn picture(&mut self, number: usize) -> Wanted {
        let end = match self.random.u8(0..10) {
            0 => " [[error]]",
            1 => " [[content-moderated]]",
            _ => "",
        };
        let name = format!("fox-{number}");
        Wanted { prompt: format!("{name}.{end}"), name, fails: !end.is_empty() }
    }

    /// Changes the faults for the next run, and may let the wall clock jump.
    pub(crate) fn change_weather(&mut self) -> Result<()> {
        self.simulator.faults().clear();
        for _ in 0..self.random.usize(0..5) {
            let fault = FAULTS[self.random.usize(0..FAULTS.len())];
            if fault == NOT_FOUND {
                if self.not_found_since.is_some() {
                    continue;
                }
                self.not_found_since = Some(Instant::now());
            }
            let often = ["0.1", "0.4", "0.9", "always"][self.random.usize(0..4)];
            let fault = format!("{fault}:{often}");
            self.simulator.faults().add(&fault).context(fault.clone())?;
            self.tell(format!("fault {fault}"));
        }
        if self.random.u8(0..4) == 0 {
            // Also into the past: the clock begins a day ahead.
            let ahead = self.random.u64(0..48 * 3600);
            self.ahead.store(ahead, Ordering::Relaxed);
            self.had_jump = true;
            self.tell(format!("the wall clock is {ahead} s ahead"));
        }
        Ok(())
    }

    pub(crate) fn calm(&mut self) {
        self.simulator.faults().clear();
        self.tell("no more faults");
    }

    /// Returns when the next run dies, if it does.
    pub(crate) fn death(&mut self) -> Option<Duration> {
        let dies = self.random.u8(0..3) > 0;
        // Most of a run happens in its first seconds.
        let seconds = self.random.f64().powi(3) * 90.0;
        dies.then(|| Duration::from_secs_f64(seconds))
    }

    /// Returns the tasks that the simulator charged for a picture.
    pub(crate) fn charged(&self, name: &str) -> Vec<TaskView> {
        let is_for = |task: &TaskView| {
            let prompt = task.request["prompt"].as_str().unwrap_or_default();
            prompt.split('.').next() == Some(name)
        };
        self.simulator.tasks().into_iter().filter(is_for).collect()
    }

    /// Fails if a picture was given up without a proof. Only a clock that jumps may shorten ten
    /// minutes.
    pub(crate) fn expect_proof(&self, wanted: &Wanted, end: &End) -> Result<()> {
        let name = &wanted.name;
        let now = self.simulator.clock().now();
        let is_past = |task: &TaskView| now >= task.final_at + DELIVERY_VALIDITY;
        // A batch does not say that a task was not found.
        let is_missing =
            self.not_found_since.is_some_and(|since| since.elapsed() >= NOT_FOUND_PROOF);
        let is_proved = match end {
            End::Failed => wanted.fails || is_missing,
            End::NotFound => is_missing,
            End::Expired => self.had_jump || self.charged(name).iter().all(is_past),
        };
        ensure!(is_proved, "{name} is given up without a proof: {end:?}");
        Ok(())
    }

    /// Compares a picture with the account. `is_given_up`: the record says that there is none.
    pub(crate) fn settle(
        &mut self,
        wanted: &Wanted,
        file: &PathBuf,
        is_given_up: bool,
    ) -> Result<()> {
        let name = &wanted.name;
        let charged = self.charged(name).len();
        ensure!(charged == 1, "{name} was paid for {charged} times");
        self.totals.charged += 1;
        // A picture is also saved if the journal could not be told.
        if is_given_up && !file.exists() {
            self.totals.given_up += 1;
            return Ok(());
        }
        ensure!(!wanted.fails, "{name} has no picture, and is not given up");
        let bytes = std::fs::read(file).with_context(|| format!("{name} is not saved"))?;
        let is_whole =
            FileKind::of(&bytes) == Some(FileKind::Jpeg) && bytes.ends_with(&[0xff, 0xd9]);
        ensure!(is_whole, "{name} is not whole");
        self.totals.saved += 1;
        Ok(())
    }

    /// Fails if the simulator charged something that nobody wanted.
    pub(crate) fn nothing_else(&self, wanted: &[Wanted]) -> Result<()> {
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        let tasks = self.simulator.tasks();
        ensure!(tasks.len() == wanted.len(), "{} tasks for {} pictures", tasks.len(), wanted.len());
        wanted.iter().for_each(|wanted| *names.entry(&wanted.name).or_default() += 1);
        ensure!(names.values().all(|count| *count == 1), "the history has a picture twice");
        Ok(())
    }
}
