//! The programs of the documents that pay, under faults and killed at random moments. The charges
//! of the simulator are compared with the saved pictures.
//!
//! The examples are programs of other packages. `cargo test --workspace` builds them, and so does
//! `cargo build --workspace --examples`.

mod durable;
mod one_shot;
mod shell;

use std::{
    fs::File,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, ExitStatus},
    time::Duration,
};

use imagekiln_simulator::{Config, TaskView};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::time::Instant;

use crate::bench::Bench;

/// The faults of every run but the last one.
const FAULTS: [&str; 9] = [
    "reply-lost@submission:0.05",
    "reset@submission=after:0.05",
    "error-after@submission:0.05",
    "rate-limited@submission=0:0.1",
    "html-502@poll:0.1",
    "spurious-not-found@poll:0.05",
    "reset@delivery:0.1",
    "truncated@delivery:0.1",
    "early-expiry@delivery:0.1",
];

/// A simulator, and the directory in which a program runs.
struct Stage {
    bench: Bench,
    random: fastrand::Rng,
}

impl Stage {
    fn new() -> Self {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let ready_after = Duration::from_millis(20);
        let bench =
            Bench::with(Config { ready_after, seed: Some(seed.into()), ..Config::default() });
        Self { bench, random: fastrand::Rng::with_seed(seed) }
    }

    /// Runs a program under faults. Kills it and its children at a random moment, unless it has
    /// ended before.
    fn kill(&mut self, command: &mut Command, longest: Duration) -> Run {
        for fault in FAULTS {
            self.bench.simulator.faults().add(fault).unwrap();
        }
        let moment = longest.mul_f64(self.random.f64());
        let run = self.run(command, moment);
        self.bench.simulator.faults().clear();
        run
    }

    /// Runs a program under faults until it ends.
    fn disturb(&mut self, command: &mut Command) -> Run {
        // No program of the documents takes so long.
        self.kill(command, Duration::MAX / 2)
    }

    fn run(&self, command: &mut Command, longest: Duration) -> Run {
        let output = self.bench.place.path(".stderr");
        let stdout = File::create(self.bench.place.path(".stdout")).unwrap();
        let command = command.stdout(stdout).stderr(File::create(&output).unwrap());
        let mut child = command.process_group(0).spawn().unwrap();
        let started = Instant::now();
        let mut is_killed = false;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > longest && !is_killed {
                kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
                is_killed = true;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        if is_killed {
            self.settle();
        }
        Run { status, stderr: std::fs::read_to_string(output).unwrap() }
    }

    /// Waits for what a killed process has sent: the simulator may still be reading it.
    fn settle(&self) {
        let mut accepted = None;
        while accepted != Some(self.bench.simulator.counts().accepted) {
            accepted = Some(self.bench.simulator.counts().accepted);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// An example of another package, in the directory and the environment of the simulator.
    fn example(&self, name: &str) -> Command {
        let tests = std::env::current_exe().unwrap();
        let program: PathBuf = tests.ancestors().nth(2).unwrap().join("examples").join(name);
        let mut command = self.bench.place.command(program.to_str().unwrap());
        self.bench.point(&mut command);
        // Where examples save their pictures.
        command.env("TMPDIR", self.bench.place.path(""));
        command
    }

    /// The tasks that the simulator charged for, in the order of the submissions.
    fn account(&self) -> Vec<TaskView> {
        let mut tasks = self.bench.simulator.tasks();
        tasks.sort_by_key(|task| task.accepted_at);
        tasks
    }
}

/// The end of a program.
struct Run {
    status: ExitStatus,
    stderr: String,
}
