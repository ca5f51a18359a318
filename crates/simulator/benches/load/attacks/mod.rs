//! Attacks: what they take from the simulator, how long it stays busy, and what it gives back. Each
//! one meets a simulator of its own.

mod bodies;
mod connections;
mod pictures;
mod raw;

use std::{error::Error, time::Duration};

use tokio::time::{Instant, sleep};

use crate::process::{Kind, Process};

/// How long the simulator has to free its memory.
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// A simulator under attack.
struct Target {
    process: Process,
    /// Where it listens.
    address: String,
    /// Its memory before the attack.
    idle: u64,
}

impl Target {
    async fn start() -> Result<Self, Box<dyn Error>> {
        let process = Process::start(Kind::Attacked)?;
        let address = process.base_url.trim_start_matches("http://").to_owned();
        // The first submission loads what all of them need.
        raw::submit(&address, raw::TINY).await?;
        let idle = process.resident_bytes()?;
        Ok(Self { process, address, idle })
    }

    /// Prints a line with the findings of an attack, and the memory.
    async fn report(&self, attack: &str, findings: &str) -> Result<(), Box<dyn Error>> {
        sleep(SETTLE_TIME).await;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "{attack:<18} {findings}; {:.0} MiB before, {:.0} MiB at most, {:.0} MiB after",
            mib(self.idle),
            mib(self.process.peak_bytes()?),
            mib(self.process.resident_bytes()?),
        );
        Ok(())
    }
}

/// The status code and the time of a small submission.
async fn tiny(target: &Target) -> Result<String, Box<dyn Error>> {
    let begun = Instant::now();
    let status = raw::submit(&target.address, raw::TINY).await?;
    Ok(format!("{status} after {:.2} s", begun.elapsed().as_secs_f64()))
}

/// Makes all attacks, one after another.
pub async fn run() -> Result<(), Box<dyn Error>> {
    bodies::many_values(&Target::start().await?).await?;
    bodies::half_sent(&Target::start().await?).await?;
    bodies::unsent(&Target::start().await?).await?;
    for behavior in connections::BEHAVIORS {
        connections::hold(&Target::start().await?, &behavior).await?;
    }
    pictures::decoded(&Target::start().await?).await?;
    pictures::painted(&Target::start().await?).await
}
