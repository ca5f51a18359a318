//! The record of all runs, `fuzz/runs.tsv`, and its sums in `docs/reliability.md`.

use std::{collections::BTreeMap, fmt, fs, path::Path, thread};

use anyhow::{Context, Result};

use crate::process::{command, output};

const RECORD: &str = "fuzz/runs.tsv";
const PAGE: &str = "docs/reliability.md";

/// The lines around the sums.
const START: &str = "<!-- The sums of fuzz/runs.tsv, written by `cargo xtask fuzz`. -->\n";
const END: &str = "<!-- End of the sums. -->";

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

/// Adds a run to the record, and its figures to the page.
pub fn add(root: &Path, run: &Run) -> Result<()> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).with_context(|| format!("could not read {name}"))
    };
    let write = |name: &str, text: String| {
        fs::write(root.join(name), text).with_context(|| format!("could not write {name}"))
    };
    let record = format!("{}{run}\n", read(RECORD)?);
    let page = with_sums(&read(PAGE)?, &record)?;
    write(RECORD, record)?;
    write(PAGE, page)
}

/// The page with the sums of a record.
fn with_sums(page: &str, record: &str) -> Result<String> {
    let parts = page.split_once(START).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.with_context(|| format!("{PAGE} has no place for the sums"))?;
    Ok(format!("{before}{START}{}{END}{after}", sums(record)?))
}

/// The sums of all runs, as a sentence.
fn sums(record: &str) -> Result<String> {
    let (mut seconds, mut executions, mut findings) = (0, 0, 0);
    // The time of the runs of each target after its last one with a finding.
    let mut seconds_without: BTreeMap<&str, u64> = BTreeMap::new();
    for line in record.lines().skip(1) {
        let mut cells = line.split('\t');
        let without = seconds_without.entry(cells.next().unwrap_or_default()).or_default();
        let mut number = || {
            let number = cells.next().and_then(|cell| cell.parse::<u64>().ok());
            number.with_context(|| format!("could not parse this line of {RECORD}: {line}"))
        };
        let (run_seconds, run_executions, _features, run_findings) =
            (number()?, number()?, number()?, number()?);
        seconds += run_seconds;
        executions += run_executions;
        findings += run_findings;
        *without = if run_findings > 0 { 0 } else { *without + run_seconds };
    }
    let least = seconds_without.values().min().copied().unwrap_or_default();
    let (targets, minutes) = (seconds_without.len(), seconds / 60);
    Ok(format!(
        "\n{targets} targets, {executions} executions in {minutes} minutes, {findings} findings. \
         Each target has run\nfor at least {least} seconds since its last finding.\n\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_sums_of_the_record() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        let page = read(PAGE);
        assert!(with_sums(&page, &read(RECORD)).unwrap() == page, "run `cargo xtask fuzz`");
    }

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

    #[test]
    fn seconds_executions_and_findings_are_added() {
        let head = "target\tseconds\texecutions\tfeatures\tfindings\tdate\tmachine\tcommit\n";
        let record = format!(
            "{head}b\t50\t10\t5\t1\t\t\t\na\t90\t20\t7\t1\t\t\t\nb\t30\t30\t4\t0\t\t\t\n\
             a\t20\t5\t7\t0\t\t\t\n"
        );
        let text = sums(&record).unwrap();
        assert!(text.contains("2 targets, 65 executions in 3 minutes, 2 findings."), "{text}");
        assert!(text.contains("at least 20 seconds since"), "{text}");
        assert!(sums(&format!("{head}b\tone\n")).is_err());
    }
}
