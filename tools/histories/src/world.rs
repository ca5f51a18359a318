//! The world of a history: the simulator with its faults, a wall clock that jumps, and the account
//! at the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::AddAssign,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use imagekiln::{Client, ClientBuilder, types::Gen2Pro};
use tempfile::TempDir;
use tokio::{
    spawn,
    time::{Instant, sleep},
};

use crate::{
    disk::{Machine, expect_whole},
    process::{Death, Failing, Life, Process, Trouble, Watching},
    services::{Payer, Services, name_of},
};

/// The largest numbers of runs with faults, and of pictures.
pub(crate) const RUNS: usize = 4;
pub(crate) const PICTURES: usize = 6;

/// The faults of the network and of the service. Each run has some of them, at random.
pub(crate) const FAULTS: [&str; 19] = [
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

/// Two of these ten minutes apart prove that a task is gone, so no run begins with them later.
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
    pub(crate) prompt: String,
    /// Whether its task fails.
    pub(crate) fails: bool,
    /// The number of the service that is asked for it.
    pub(crate) service: usize,
}

impl Wanted {
    pub(crate) fn request(&self) -> Gen2Pro {
        Gen2Pro::new(&self.prompt).width(64).height(64).seed(7)
    }
}

pub(crate) struct World {
    pub(crate) services: Services,
    /// The choices of the program and of the person in this run.
    pub(crate) random: Rng,
    pub(crate) story: Vec<String>,
    pub(crate) totals: Totals,
    pub(crate) machine: Arc<Machine>,
    seed: u64,
    /// The parts that are left out.
    without: Vec<String>,
    /// The number of this run.
    run: u64,
    is_calm: bool,
    folder: TempDir,
    pub(crate) started: Instant,
    /// Seconds that the wall clock is ahead of tokio's clock.
    ahead: Arc<AtomicU64>,
    /// When the service began not to find tasks.
    not_found_since: Option<Instant>,
    /// The names of pictures whose records or keys somebody damaged.
    pub(crate) forgiven: BTreeSet<String>,
    /// The names of those that may also be paid for again.
    pub(crate) unguarded: BTreeSet<String>,
    /// What damaged files contain.
    pub(crate) damaged: Vec<Vec<u8>>,
}

/// Why a picture is given up, as a record says.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    Failed,
    NotFound,
    Expired,
}

impl World {
    pub(crate) async fn new(seed: u64, without: &[String]) -> Result<Self> {
        let ready_after = Duration::from_millis(stream(seed, "service", 0).u64(0..20_000));
        // Nothing has to survive a crash of this machine.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Ok(Self {
            services: Services::start(seed, ready_after).await?,
            random: stream(seed, "program", 0),
            story: Vec::new(),
            totals: Totals::default(),
            machine: Arc::default(),
            seed,
            without: without.to_owned(),
            run: 0,
            is_calm: false,
            folder: tempfile::tempdir_in(folder)?,
            started: Instant::now(),
            ahead: Arc::new(AtomicU64::new(24 * 3600)),
            not_found_since: None,
            forgiven: BTreeSet::new(),
            unguarded: BTreeSet::new(),
            damaged: Vec::new(),
        })
    }

    /// Returns the random numbers for a part of this run. They are independent of other parts and
    /// of other runs, so that a history stays the same if some of them are left out.
    pub(crate) fn stream(&self, part: &str) -> Rng {
        stream(self.seed, part, self.run)
    }

    /// Whether the history has a part now, such as a fault.
    pub(crate) fn has(&self, part: &str) -> bool {
        !self.is_calm && !self.without.iter().any(|without| without == part)
    }

    pub(crate) fn tell(&mut self, line: impl Into<String>) {
        let (at, line) = (self.started.elapsed().as_secs_f32(), line.into());
        self.story.push(format!("{at:8.1} s  {line}"));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A client in a process.
    pub(crate) fn client_of(&mut self, process: &Arc<Process>, payer: Payer) -> ClientBuilder {
        self.client(payer).middleware(Watching(Arc::clone(process)))
    }

    pub(crate) fn client(&mut self, payer: Payer) -> ClientBuilder {
        let client = Client::builder().api_key(payer.api_key());
        self.settings()(client.base_url(self.services.base_url(payer.service)))
    }

    /// The clock and the randomness of the clients of a new process.
    pub(crate) fn settings(
        &mut self,
    ) -> impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + use<> {
        let (wall_clock, seed) = (self.wall_clock(), self.random.u64(..));
        move |client| client.random_seed(seed).wall_clock(wall_clock.clone())
    }

    /// The wall clock of all processes.
    pub(crate) fn wall_clock(&self) -> impl Fn() -> SystemTime + Clone + Send + Sync + use<> {
        let (started, ahead) = (self.started, Arc::clone(&self.ahead));
        let seconds = move || BEGIN + ahead.load(Ordering::Relaxed);
        move || UNIX_EPOCH + Duration::from_secs(seconds()) + started.elapsed()
    }

    /// Chooses some pictures. The names are in the prompts, so that the account can find them.
    pub(crate) fn wanted(&mut self) -> Vec<Wanted> {
        let mut random = self.stream("pictures");
        let numbers = 1..=random.usize(1..=PICTURES);
        let wanted = numbers.map(|number| (number, picture(&mut random, number)));
        wanted
            .filter(|(number, _)| self.has(&format!("picture {number}")))
            .map(|(_, wanted)| wanted)
            .collect()
    }

    /// Returns the numbers of the runs with faults.
    pub(crate) fn runs(&mut self) -> Vec<u64> {
        let numbers = 1..=self.random.u64(1..=RUNS as u64);
        numbers.filter(|number| self.has(&format!("run {number}"))).collect()
    }

    /// Changes the faults for a run, and may let the wall clock jump.
    pub(crate) fn change_weather(&mut self, run: u64) -> Result<()> {
        self.run = run;
        self.random = self.stream("program");
        let mut faults = Vec::new();
        let mut random = self.stream("service");
        for _ in 0..random.usize(0..5) {
            let fault = FAULTS[random.usize(0..FAULTS.len())];
            let often = ["0.1", "0.4", "0.9", "always"][random.usize(0..4)];
            if !self.has(fault) {
                continue;
            }
            if fault == NOT_FOUND {
                let since = self.not_found_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= NOT_FOUND_PROOF {
                    continue;
                }
            }
            let fault = format!("{fault}:{often}");
            self.tell(format!("fault {fault}"));
            faults.push(fault);
        }
        faults.extend(self.events());
        self.services.set_faults(&faults)?;
        let mut random = self.stream("clock");
        if random.u8(0..4) == 0 && self.has("clock jumps") {
            // Also into the past: the clock begins a day ahead.
            let ahead = random.u64(0..48 * 3600);
            let after = Duration::from_secs_f64(random.f64().powi(3) * 60.0);
            self.tell(format!("the wall clock is {ahead} s ahead after {after:?}"));
            let clock = Arc::clone(&self.ahead);
            spawn(async move {
                sleep(after).await;
                clock.store(ahead, Ordering::Relaxed);
            });
        }
        Ok(())
    }

    pub(crate) fn calm(&mut self) -> Result<()> {
        self.services.set_faults(&[])?;
        self.is_calm = true;
        self.run = 0;
        self.tell("no more faults");
        Ok(())
    }

    /// Starts the processes of a run on this machine. Returns whether the machine crashes.
    pub(crate) fn processes(&mut self, count: usize, dies_late: bool) -> (Vec<Arc<Process>>, bool) {
        let mut random = self.stream("deaths");
        let crashes = random.bool() && self.has("crashes");
        let death = self.death(&mut random);
        let shared = Arc::<Life>::default();
        let mut processes = Vec::new();
        for number in 0..count {
            let life = if crashes { Arc::clone(&shared) } else { Arc::default() };
            let mut random = stream(self.seed, "trouble", self.run * 2 + number as u64);
            let death = if crashes || number == 0 { death } else { self.death(&mut random) };
            let disk = self.failing_disk(&mut random);
            let hooks = [0.0, 0.0, 0.0, 0.02, 0.2][random.usize(0..5)];
            let hooks = if self.has("hooks") { hooks } else { 0.0 };
            // Two that are stopped would wait for each other.
            let mut stops = stream(self.seed, "stops", self.run * 2 + number as u64);
            let is_stopped = count > 1 && number == 0 && stops.u8(0..3) == 0 && self.has("stops");
            let stop = is_stopped.then(|| stops.u32(0..8));
            let trouble = Trouble { death, disk, hooks, stop, dies_late };
            if !self.is_calm {
                self.tell(format!("process {number}: crashes {crashes}, {trouble:?}"));
            }
            processes.push(Process::new(Arc::clone(&self.machine), life, trouble, random));
        }
        (processes, crashes)
    }

    /// A process in which nothing fails.
    pub(crate) fn healthy_process(&self) -> Arc<Process> {
        let random = self.stream("healthy");
        Process::new(Arc::clone(&self.machine), Arc::default(), Trouble::default(), random)
    }

    /// A process of a run in which nothing but its disk fails.
    pub(crate) fn storing_process(&self, number: u64) -> Arc<Process> {
        let mut random = stream(self.seed, "storage", self.run * 2 + number);
        let trouble = Trouble { disk: self.failing_disk(&mut random), ..Trouble::default() };
        Process::new(Arc::clone(&self.machine), Arc::default(), trouble, random)
    }

    fn failing_disk(&self, random: &mut Rng) -> Option<(Failing, u32, f64)> {
        let failing = [Failing::Full, Failing::ReadOnly, Failing::Broken][random.usize(0..3)];
        // Most of the space is written in the first operations.
        let after = (random.f64().powi(2) * 40.0) as u32;
        let often = [0.1, 0.5, 1.0][random.usize(0..3)];
        (random.u8(0..3) == 0 && self.has("disk faults")).then_some((failing, after, often))
    }

    /// Returns when a process dies, if it does.
    fn death(&self, random: &mut Rng) -> Option<Death> {
        let dies = random.u8(0..3) > 0;
        // Most of a run happens in its first seconds.
        let after = Duration::from_secs_f64(random.f64().powi(3) * 90.0);
        let at = Death::At(random.u32(0..100));
        let death = if random.bool() { Death::After(after) } else { at };
        (dies && self.has("deaths")).then_some(death)
    }

    /// Fails if a picture was given up without a proof. No clock of the machine is one.
    pub(crate) fn expect_proof(&self, wanted: &Wanted, end: &End) -> Result<()> {
        let name = &wanted.name;
        // A batch does not say that a task was not found.
        let is_missing =
            self.not_found_since.is_some_and(|since| since.elapsed() >= NOT_FOUND_PROOF);
        let is_proved = match end {
            End::Failed => wanted.fails || is_missing,
            End::NotFound => is_missing,
            End::Expired => {
                let mut charged = self.services.charged(name);
                // One that is paid for again has two tasks.
                self.unguarded.contains(name)
                    || charged.all(|(service, task)| self.services.is_past(service, &task))
            }
        };
        ensure!(is_proved, "{name} is given up without a proof: {end:?}");
        Ok(())
    }

    /// Compares a picture with the account. `is_given_up`: the record says that there is none.
    pub(crate) fn settle(&mut self, wanted: &Wanted, file: &Path, is_given_up: bool) -> Result<()> {
        let name = &wanted.name;
        if self.unguarded.contains(name) {
            return Ok(());
        }
        let charged: Vec<usize> = self.services.charged(name).map(|(service, _)| service).collect();
        let is_forgiven = self.forgiven.contains(name);
        let is_once = charged == [wanted.service] || is_forgiven && charged.is_empty();
        ensure!(is_once, "{name} was paid for at the services {charged:?}");
        if is_forgiven {
            return Ok(());
        }
        self.totals.charged += 1;
        // A picture is also saved if the journal could not be told.
        if is_given_up && !file.exists() {
            self.totals.given_up += 1;
            return Ok(());
        }
        ensure!(!wanted.fails, "{name} has no picture, and is not given up");
        expect_whole(file).with_context(|| format!("{name} is not saved"))?;
        self.totals.saved += 1;
        Ok(())
    }

    /// Fails if the simulator charged something that nobody wanted.
    pub(crate) fn nothing_else(&self, wanted: &[Wanted]) -> Result<()> {
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        let counts = |name: &String| !self.forgiven.contains(name);
        let wanted: Vec<&Wanted> = wanted.iter().filter(|it| counts(&it.name)).collect();
        let names_of_tasks = self.services.tasks().filter_map(|(_, task)| name_of(&task));
        let tasks = names_of_tasks.filter(counts).count();
        ensure!(tasks == wanted.len(), "{tasks} tasks for {} pictures", wanted.len());
        wanted.iter().for_each(|wanted| *names.entry(&wanted.name).or_default() += 1);
        ensure!(names.values().all(|count| *count == 1), "the history has a picture twice");
        self.services.expect_own_keys()
    }
}

fn picture(random: &mut Rng, number: usize) -> Wanted {
    let end = match random.u8(0..10) {
        0 => " [[error]]",
        1 => " [[content-moderated]]",
        _ => "",
    };
    let name = format!("fox-{number}");
    Wanted { prompt: format!("{name}. A fox.{end}"), name, fails: !end.is_empty(), service: 0 }
}

/// Returns the random numbers for a part of a run.
fn stream(seed: u64, part: &str, run: u64) -> Rng {
    let part = part.bytes().fold(run, |hash, byte| hash.wrapping_mul(31) + u64::from(byte));
    // Neighbouring seeds must not have neighbouring parts.
    Rng::with_seed(Rng::with_seed(seed).u64(..).wrapping_add(part))
}
