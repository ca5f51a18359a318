//! Three servers of NATS with JetStream, which replicate the queue.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, bail, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::process::Process;

const COUNT: usize = 3;

/// The longest time until the servers have elected a leader.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Nodes {
    directory: PathBuf,
    /// Of each server: the port of clients, of its monitoring, and of the other servers.
    ports: [[u16; 3]; COUNT],
    processes: Vec<Process>,
    pub kills: u64,
}

impl Nodes {
    pub async fn start(directory: &Path) -> Result<Self> {
        // All are reserved before the first is free again.
        let listeners = (0..3 * COUNT).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let mut ports = [[0; 3]; COUNT];
        for (port, listener) in ports.as_flattened_mut().iter_mut().zip(&listeners) {
            *port = listener.local_addr()?.port();
        }
        drop(listeners);
        let mut nodes =
            Self { directory: directory.to_owned(), ports, processes: Vec::new(), kills: 0 };
        for number in 0..COUNT {
            let process = nodes.start_one(number)?;
            nodes.processes.push(process);
        }
        nodes
            .wait_for(|jsz| {
                let replicas = jsz["meta_cluster"]["replicas"].as_array();
                (replicas?.len() == COUNT - 1).then_some(())
            })
            .await?;
        Ok(nodes)
    }

    fn start_one(&self, number: usize) -> Result<Process> {
        let [clients, monitoring, servers] = self.ports[number];
        let routes = self.ports.map(|[.., port]| format!("\"nats://127.0.0.1:{port}\"")).join(", ");
        let path = |end| self.directory.join(format!("node-{number}{end}"));
        let settings = format!(
            "server_name: \"{number}\"\nlisten: \"127.0.0.1:{clients}\"\n\
             http: \"127.0.0.1:{monitoring}\"\njetstream {{ store_dir: {:?} }}\n\
             cluster {{ name: kiln, listen: \"127.0.0.1:{servers}\", routes: [{routes}] }}\n",
            path(""),
        );
        fs::write(path(".conf"), settings)?;
        let log = File::options().create(true).append(true).open(path(".log"))?;
        let mut command = Command::new("nats-server");
        Process::start(command.arg("--config").arg(path(".conf")).stdout(Stdio::null()).stderr(log))
    }

    pub fn urls(&self) -> String {
        self.ports.map(|[port, ..]| format!("nats://127.0.0.1:{port}")).join(",")
    }

    /// Waits until the status of one of the servers has what a function finds.
    async fn wait_for<T>(&self, find: impl Fn(&Value) -> Option<T>) -> Result<T> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            for [_, port, _] in self.ports {
                let url = format!("http://127.0.0.1:{port}/jsz?consumers=true");
                let request = reqwest::Client::new().get(url).timeout(Duration::from_secs(1));
                let Ok(response) = request.send().await else { continue };
                if let Some(found) = response.json().await.ok().and_then(|status| find(&status)) {
                    return Ok(found);
                }
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("the servers have not elected a leader within {PATIENCE:?}")
    }

    /// Returns the number of the server that leads the queue.
    pub async fn leader(&self) -> Result<usize> {
        self.wait_for(|status| {
            let stream = &status["account_details"][0]["stream_detail"][0];
            stream["cluster"]["leader"].as_str()?.parse().ok()
        })
        .await
    }

    /// Returns the number of the server that knows which messages were acknowledged.
    async fn consumer_leader(&self) -> Result<usize> {
        self.wait_for(|status| {
            let stream = &status["account_details"][0]["stream_detail"][0];
            stream["consumer_detail"][0]["cluster"]["leader"].as_str()?.parse().ok()
        })
        .await
    }

    /// Suspends a majority with the leaders, so that no acknowledgement is recorded.
    pub async fn suspend_majority(&self) -> Result<[usize; 2]> {
        let (leader, other) = (self.leader().await?, self.consumer_leader().await?);
        let other = if other == leader { (leader + 1) % COUNT } else { other };
        let suspended = [leader, other];
        for number in suspended {
            self.processes[number].send(Signal::STOP)?;
        }
        Ok(suspended)
    }

    pub async fn suspend_leader(&self) -> Result<usize> {
        let leader = self.leader().await?;
        self.processes[leader].send(Signal::STOP)?;
        Ok(leader)
    }

    pub fn resume(&self, number: usize) -> Result<()> {
        self.processes[number].send(Signal::CONT)
    }

    pub async fn kill_leader(&mut self) -> Result<()> {
        let leader = self.leader().await?;
        self.kill(&[leader])
    }

    /// Kills these servers, and starts them again.
    pub fn kill(&mut self, numbers: &[usize]) -> Result<()> {
        for &number in numbers {
            ensure!(self.processes[number].kill()?, "the server {number} had ended before");
            self.kills += 1;
        }
        for &number in numbers {
            self.processes[number] = self.start_one(number)?;
        }
        Ok(())
    }
}
