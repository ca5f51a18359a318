//! What a run took, as a row of a table.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{AT_ONCE, PICTURES};
use crate::generators::simulator::Simulator;

/// The metrics of the simulator that count requests.
const REQUESTS: [&str; 4] =
    ["submissions_total", "polls_total", "deliveries_total", "rejections_total"];

/// The first lines of a table.
pub const HEAD: &str = "\
| client | wall (s) | wall / ideal | requests a picture | lateness mean | lateness p99 | CPU (s) | \
memory (MiB) |
|---|---|---|---|---|---|---|---|";

/// What a run took.
pub struct Run {
    wall: f64,
    cpu: f64,
    mebibytes: f64,
    requests: f64,
    lateness: Option<[f64; 2]>,
}

impl Run {
    /// Reads what GNU time wrote, and what the simulator counted.
    pub fn read(usage: &str, simulator: &Simulator) -> Result<Self> {
        let [wall, user, system, kibibytes] = numbers(usage)?;
        let (cpu, mebibytes) = (user + system, kibibytes / 1024.0);
        let requests = requests(&simulator.get("/metrics")?);
        let lateness = lateness(&simulator.get("/api/state")?)?;
        Ok(Self { wall, cpu, mebibytes, requests, lateness })
    }

    /// Returns the row of a table. The ideal is that each of the `AT_ONCE` places makes its share
    /// of the pictures without a pause. It can't be reached if the durations vary.
    pub fn row(&self, label: &str, duration: f64) -> String {
        let Self { wall, cpu, mebibytes, requests, lateness } = self;
        let ideal = f64::from(PICTURES) / f64::from(AT_ONCE) * duration;
        let ratio = wall / ideal;
        let each = requests / f64::from(PICTURES);
        let lateness = lateness.map(|times| times.map(|seconds| format!("{seconds:.2} s")));
        let [mean, p99] = lateness.unwrap_or_default();
        format!(
            "| {label} | {wall:.2} | {ratio:.2} | {each:.1} | {mean} | {p99} | {cpu:.2} | \
             {mebibytes:.0} |"
        )
    }
}

/// Reads the numbers that GNU time wrote.
fn numbers(usage: &str) -> Result<[f64; 4]> {
    let numbers = usage.trim().split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.with_context(|| format!("time wrote something else than four numbers: {usage}"))
}

/// Adds the metrics that count requests.
fn requests(metrics: &str) -> f64 {
    let counts = metrics.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("imagekiln_simulator_")?.rsplit_once(' ')?;
        let name = name.split('{').next()?;
        if REQUESTS.contains(&name) { value.parse::<f64>().ok() } else { None }
    });
    counts.sum()
}

/// Returns how long after a task was ready its picture was requested: the mean and the 99th
/// percentile in seconds, if any was.
fn lateness(state: &str) -> Result<Option<[f64; 2]>> {
    let state: Value = serde_json::from_str(state).context("the simulator's state is not JSON")?;
    let fetched = &state["lateness"]["fetched"];
    Ok(fetched["mean"].as_f64().zip(fetched["p99"].as_f64()).map(<[f64; 2]>::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_ratio_to_the_ideal_and_the_requests_of_a_picture() {
        let [wall, user, system, kibibytes] = numbers("6.12,0.25,0.05,20480\n").unwrap();
        let metrics = "# TYPE imagekiln_simulator_polls_total counter\n\
                       imagekiln_simulator_submissions_total 72\n\
                       imagekiln_simulator_polls_total 288\n\
                       imagekiln_simulator_active_tasks 7\n\
                       imagekiln_simulator_rejections_total{status=\"404\"} 36\n";
        let state = r#"{"lateness":{"fetched":{"count":72,"mean":0.125,"p99":0.5,"max":0.5}}}"#;
        let run = Run {
            wall,
            cpu: user + system,
            mebibytes: kibibytes / 1024.0,
            requests: requests(metrics),
            lateness: lateness(state).unwrap(),
        };
        let row = "| sdk | 6.12 | 1.02 | 5.5 | 0.12 s | 0.50 s | 0.30 | 20 |";
        assert_eq!(run.row("sdk", 2.0), row);
    }
}
