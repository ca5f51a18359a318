//! The record of all runs, `fuzz/runs.tsv`, whose sums are in `docs/proof.md`.

use std::{fmt, fs::OpenOptions, io::Write as _, path::Path, thread};

use anyhow::{Context, Result};

use crate::process::{command, output};

const RECORD: &str = "fuzz/runs.tsv";

/// A run of a target.
#[derive(Debug, Default)]
pub struct Run {
    target: String,
    seconds: u64,
    pub executions: u64,
    /// The coverage features that libFuzzer counts, with those of earlier runs.
    features: u64,
    pub findings: u64,
    date: String,
    machine: String,
    commit: String,
}

impl Run {
    pub fn new(target: &str) -> Result<Self> {
        let line_of = |words: &[&str]| -> Result<String> {
            Ok(output(&mut command(Path::new("."), words))?.trim().to_owned())
        };
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        Ok(Self {
            target: target.to_owned(),
            date: line_of(&["date", "-u", "+%F"])?,
            machine: format!("{} with {cores} cores", std::env::consts::ARCH),
            commit: line_of(&["git", "rev-parse", "--short", "HEAD"])?,
            ..Self::default()
        })
    }

    /// Reads a line of libFuzzer. Returns whether it is only progress.
    pub fn read(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let is_progress = words.next().is_some_and(|word| {
            word.strip_prefix('#').is_some_and(|count| count.parse::<u64>().is_ok())
        });
        if is_progress {
            let features = words.skip_while(|word| *word != "ft:").nth(1);
            self.features = features.and_then(|count| count.parse().ok()).unwrap_or(self.features);
            return true;
        }
        let number = |prefix: &str| line.strip_prefix(prefix)?.trim().parse().ok();
        if let Some(count) = number("stat::number_of_executed_units:") {
            self.executions = count;
        }
        if let Some(rate) = number("stat::average_exec_per_sec:").filter(|rate| *rate > 0) {
            self.seconds = self.executions / rate;
        }
        // `Done 1234 runs in 61 second(s)` is exact.
        if let Some((_, time)) = line.strip_prefix("Done ").and_then(|rest| rest.split_once(" in "))
        {
            let seconds = time.split(' ').next().and_then(|seconds| seconds.parse().ok());
            self.seconds = seconds.unwrap_or(self.seconds);
        }
        line.starts_with("stat::")
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, seconds, executions, features, findings, date, machine, commit } = self;
        write!(f, "{target}\t{seconds}\t{executions}\t{features}\t{findings}\t")?;
        write!(f, "{date}\t{machine}\t{commit}")
    }
}

/// Adds a run to the record.
pub fn add(root: &Path, run: &Run) -> Result<()> {
    let record = OpenOptions::new().append(true).open(root.join(RECORD));
    record.and_then(|mut record| writeln!(record, "{run}")).context(RECORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_libfuzzer_is_read() {
        let mut run = Run::default();
        let lines = [
            "INFO: seed corpus: files: 14 min: 1b max: 21b total: 84b rss: 44Mb",
            "#15\tINITED cov: 77 ft: 82 corp: 13/78b exec/s: 0 rss: 45Mb",
            "#2097152\tpulse  cov: 91 ft: 120 corp: 25/210b lim: 17463 exec/s: 699050 rss: 398Mb",
            "Done 2340011 runs in 3 second(s)",
            "stat::number_of_executed_units: 2340011",
            "stat::average_exec_per_sec:     780003",
        ];
        let progress: Vec<_> = lines.iter().map(|line| run.read(line)).collect();
        assert_eq!(progress, [false, true, true, false, true, true]);
        assert_eq!((run.executions, run.seconds, run.features), (2_340_011, 3, 120));
    }
}
