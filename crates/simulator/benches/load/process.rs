//! The server under load, in a separate process: this program with an environment variable set.

use std::{
    error::Error,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    time::Duration,
};

use axum::{Router, http::header};

use imagekiln_simulator::{Config, Simulator};

/// The variable that selects the server.
const VARIABLE: &str = "IMAGEKILN_LOAD_SERVES";

#[derive(Clone, Copy)]
pub enum Kind {
    Simulator,
    /// The simulator with a short time limit for clients, and tasks that are ready at once.
    Attacked,
    /// A server with a constant response.
    Baseline,
}

impl Kind {
    const ALL: [(Self, &str); 3] = [
        (Self::Simulator, "simulator"),
        (Self::Attacked, "attacked"),
        (Self::Baseline, "baseline"),
    ];

    pub fn of_this_process() -> Option<Self> {
        let given = std::env::var(VARIABLE).ok()?;
        Self::ALL.into_iter().find(|(_, name)| *name == given).map(|(kind, _)| kind)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Attacked => "attacked",
            Self::Baseline => "baseline",
        }
    }
}

/// A running server, which stops when this is dropped.
pub struct Process {
    child: Child,
    pub base_url: String,
}

impl Process {
    pub fn start(kind: Kind) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(VARIABLE, kind.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("the server has no output")?;
        let mut base_url = String::new();
        BufReader::new(output).read_line(&mut base_url)?;
        Ok(Self { child, base_url: base_url.trim().to_owned() })
    }

    /// The resident memory of the process, as reported by Linux.
    pub fn resident_bytes(&self) -> Result<u64, Box<dyn Error>> {
        self.memory("VmRSS:")
    }

    /// The most that its resident memory has been.
    pub fn peak_bytes(&self) -> Result<u64, Box<dyn Error>> {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> Result<u64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let line = line.ok_or_else(|| format!("{name} is missing"))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib << 10)
    }

    /// The CPU time of the process, as reported by Linux in hundredths of a second.
    pub fn cpu_time(&self) -> Result<Duration, Box<dyn Error>> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // Behind the name of the program, which may contain spaces.
        let (_, fields) = stat.rsplit_once(')').ok_or("the name is missing")?;
        let times = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        Ok(Duration::from_millis(10 * times.sum::<Result<u64, _>>()?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It also ends by itself once its input is closed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until standard input is closed.
pub fn serve(kind: Kind) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match kind {
            Kind::Simulator | Kind::Attacked => {
                let simulator = Simulator::start(config(kind)).await?;
                println!("{}", simulator.base_url());
                until_input_closes().await?;
                simulator.shutdown().await;
            }
            Kind::Baseline => {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                println!("http://{}", listener.local_addr()?);
                let constant =
                    || async { ([(header::CONTENT_TYPE, "application/json")], r#"{"id":"0"}"#) };
                let server = axum::serve(listener, Router::new().fallback(constant));
                tokio::select! {
                    served = async { server.await } => served?,
                    closed = until_input_closes() => closed?,
                }
            }
        }
        Ok(())
    })
}

/// What the simulator may keep, which is less than what arrives in a minute.
pub const KEPT_BYTES: u64 = 32 << 20;

/// Under load, most tasks stay active all the time. Those of one operation are ready at once, so
/// that there are pictures to fetch.
fn config(kind: Kind) -> Config {
    let (ready_after, client_timeout) = (Duration::ZERO, Duration::from_secs(10));
    if matches!(kind, Kind::Attacked) {
        return Config { ready_after, client_timeout, ..Config::default() };
    }
    Config {
        ready_after: Duration::from_secs(3600),
        ready_after_of: [(super::drive::QUICK.to_owned(), Duration::ZERO)].into(),
        max_active_tasks: usize::MAX,
        max_kept_bytes: KEPT_BYTES,
        ..Config::default()
    }
}

async fn until_input_closes() -> Result<(), Box<dyn Error>> {
    let read = || std::io::stdin().lock().read_to_end(&mut Vec::new()).map(drop);
    Ok(tokio::task::spawn_blocking(read).await??)
}
