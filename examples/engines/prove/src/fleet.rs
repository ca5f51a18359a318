//! The processes of an example: one that feeds the queue, and workers.

use std::{
    collections::HashMap,
    fs::{self, File},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use tokio::time::Instant;

use crate::process::Process;

/// The number of workers.
const WORKERS: usize = 4;

/// The kills of workers with which the feeder is killed. The next one adds the names of all open
/// jobs, which would hide later that names are lost.
const FEEDER_KILLS: [u64; 2] = [1, 3];

/// How long the supervisor waits before it starts processes again.
const RESTARTS: Duration = Duration::from_millis(500);

/// How long a worker may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Fleet {
    program: PathBuf,
    directory: PathBuf,
    variables: Vec<(&'static str, String)>,
    feeder: Process,
    workers: Vec<Process>,
    supervised_at: Instant,
    /// The worker that is suspended, and until when.
    suspended: Option<(usize, Instant)>,
    pub kills: u64,
    /// The number of workers that were killed together with the database.
    pub kills_at_once: u64,
    /// The number of workers that ended because of an error, such as a lost connection.
    pub restarts: u64,
}

impl Fleet {
    /// Starts the feeder, which creates the queue.
    pub fn start(
        program: PathBuf,
        directory: PathBuf,
        variables: Vec<(&'static str, String)>,
    ) -> Result<Self> {
        let feeder = start(&program, &directory, &variables, "feed")?;
        Ok(Self {
            program,
            directory,
            variables,
            feeder,
            workers: Vec::new(),
            supervised_at: Instant::now(),
            suspended: None,
            kills: 0,
            kills_at_once: 0,
            restarts: 0,
        })
    }

    pub fn start_workers(&mut self) -> Result<()> {
        self.workers = (0..WORKERS).map(|_| self.start_one("work")).collect::<Result<_>>()?;
        Ok(())
    }

    fn start_one(&self, role: &str) -> Result<Process> {
        start(&self.program, &self.directory, &self.variables, role)
    }

    /// Starts the processes again that have ended, as a supervisor does, and resumes the suspended.
    pub fn supervise(&mut self) -> Result<()> {
        if self.supervised_at.elapsed() > RESTARTS {
            self.supervised_at = Instant::now();
            if !self.feeder.is_running()? {
                self.feeder = self.start_one("feed")?;
                self.restarts += 1;
            }
            for index in 0..WORKERS {
                if !self.workers[index].is_running()? {
                    self.workers[index] = self.start_one("work")?;
                    self.restarts += 1;
                }
            }
        }
        if let Some((index, _)) = self.suspended.take_if(|(_, until)| *until <= Instant::now()) {
            self.workers[index].send(Signal::CONT)?;
        }
        Ok(())
    }

    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Kills the next worker that runs, and at first the feeder, too. Returns `false` if none runs.
    pub fn kill(&mut self) -> Result<bool> {
        let start = self.kills as usize;
        for index in (start..start + WORKERS).map(|index| index % WORKERS) {
            if !self.is_worker_suspended(index) && self.workers[index].kill()? {
                if FEEDER_KILLS.contains(&self.kills) {
                    self.feeder.kill()?;
                    self.feeder = self.start_one("feed")?;
                }
                self.kills += 1;
                self.workers[index] = self.start_one("work")?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_worker_suspended(&self, index: usize) -> bool {
        self.suspended.is_some_and(|(suspended, _)| suspended == index)
    }

    /// Kills all workers that are not suspended.
    pub fn kill_all(&mut self) -> Result<()> {
        for index in 0..WORKERS {
            if !self.is_worker_suspended(index) && self.workers[index].kill()? {
                self.kills_at_once += 1;
            }
        }
        ensure!(self.kills_at_once > 0, "no worker was running");
        Ok(())
    }

    /// Suspends a worker for this time.
    pub fn suspend(&mut self, time: Duration) -> Result<()> {
        self.workers[WORKERS - 1].send(Signal::STOP)?;
        self.suspended = Some((WORKERS - 1, Instant::now() + time));
        Ok(())
    }

    /// Returns how often the workers printed the end of each job.
    pub fn ends(&self) -> Result<HashMap<String, u64>> {
        let mut ends = HashMap::new();
        for line in fs::read_to_string(self.directory.join("printed.log"))?.lines() {
            if let Some((name, "saved")) = line.split_once(' ') {
                *ends.entry(name.to_owned()).or_default() += 1;
            }
        }
        Ok(ends)
    }

    /// Ends the workers with SIGTERM.
    pub async fn finish(&mut self) -> Result<()> {
        self.feeder.kill()?;
        for worker in &self.workers {
            worker.send(Signal::TERM)?;
        }
        for worker in &mut self.workers {
            let status = worker.exit(PATIENCE).await?;
            ensure!(status.success(), "after SIGTERM, a worker ended with {status}");
        }
        Ok(())
    }
}

fn start(
    program: &PathBuf,
    directory: &PathBuf,
    variables: &[(&'static str, String)],
    role: &str,
) -> Result<Process> {
    let log = |name| File::options().create(true).append(true).open(directory.join(name));
    let mut command = Command::new(program);
    command.arg(role).current_dir(directory).envs(variables.iter().cloned());
    Process::start(command.stdout(log("printed.log")?).stderr(log("errors.log")?))
}
