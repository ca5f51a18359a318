//! A process that is killed and suspended.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};

pub struct Process(Child);

impl Process {
    pub fn start(command: &mut Command) -> Result<Self> {
        let started = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        Ok(Self(started))
    }

    /// Waits until the process prints a line.
    pub fn wait_for_line(&mut self) -> Result<()> {
        let output = self.0.stdout.as_mut().context("its output is not piped")?;
        let length = BufReader::new(output).read_line(&mut String::new())?;
        ensure!(length > 0, "a process has printed nothing");
        Ok(())
    }

    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_none())
    }

    /// Sends SIGKILL, and returns whether the process was running.
    pub fn kill(&mut self) -> Result<bool> {
        let was_running = self.is_running()?;
        self.0.kill()?;
        self.0.wait()?;
        Ok(was_running)
    }

    pub fn send(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.0), signal)?)
    }

    /// Waits until the process exits.
    pub async fn exit(&mut self, patience: Duration) -> Result<ExitStatus> {
        let exited = async {
            loop {
                if let Some(status) = self.0.try_wait()? {
                    return Ok(status);
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(patience, exited).await.context("a process does not exit")?
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
