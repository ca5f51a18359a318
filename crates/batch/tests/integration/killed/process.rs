//! A child process that ends with the test.

use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

pub struct Process {
    child: Child,
    is_suspended: bool,
}

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self { child: command.spawn().unwrap(), is_suspended: false }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process still runs. If it has exited, it must have succeeded.
    pub fn is_running(&mut self) -> bool {
        match self.child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "process {} failed: {status}", self.id());
                false
            }
            None => true,
        }
    }

    /// Whether the process runs and is not suspended.
    pub fn is_active(&mut self) -> bool {
        !self.is_suspended && self.is_running()
    }

    /// Kills the process, and returns whether it was running.
    pub fn kill(mut self) -> bool {
        let was_running = self.is_running();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        was_running
    }

    /// Suspends the process until [`resume`](Self::resume), if it still runs.
    pub fn suspend(&mut self) {
        self.signal(Signal::STOP);
        self.is_suspended = true;
    }

    pub fn resume(&mut self) {
        self.signal(Signal::CONT);
        self.is_suspended = false;
    }

    fn signal(&mut self, signal: Signal) {
        // A process that was not waited for keeps its id.
        if self.is_running() {
            kill_process(Pid::from_child(&self.child), signal).unwrap();
        }
    }

    /// Waits until the process exits, without blocking the simulator.
    pub async fn finish(mut self) {
        let wait = move || {
            let status = self.child.wait().unwrap();
            assert!(status.success(), "process {} failed: {status}", self.id());
        };
        tokio::task::spawn_blocking(wait).await.unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
