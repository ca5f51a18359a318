//! `cargo xtask proof`, and `docs/proof.md`: what is promised, and what the checks of it found.
//!
//! `xtask/proof/checks.tsv` lists the checks. Each run of one adds a line to a record, and the page
//! is made from the records.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Write as _,
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    process::{cargo, command, output, read_lines},
    repository,
    tidy::sources,
};

/// The path of the page in the repository.
pub const PATH: &str = "docs/proof.md";

/// The checks: the name, the page or source, the command and the promise of each.
const CHECKS: &str = "xtask/proof/checks.tsv";

/// What checks found: the name, the figure, the date and the commit of each run.
const RUNS: &str = "xtask/proof/runs.tsv";

/// A test prints this before the figure to record, if that is not the number of tests.
const FIGURE: &str = "proof: ";

const HEAD: &str = "\
# Proof

What imagekiln promises, the checks that try to refute it, and what their last recorded runs found.
The checks use the simulator and scripted servers. None of them has used the real service.

`cargo xtask proof NAME` runs a check that is a test. The other commands record their runs, too.
Each figure is from such a record, for example `xtask/proof/runs.tsv`, or counted in the code.

| promise | check | found | command | at |
|---|---|---|---|---|
";

/// Runs checks of docs/proof.md that are tests, records what they find, and writes the page
#[derive(Args)]
pub struct Arguments {
    /// The checks; all tests by default
    checks: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let list = repository::read(CHECKS)?;
    let tests = cells(&list).map(|row| row.map(|[check, _, command, _]| (check, command)));
    let mut tests = tests.collect::<Result<BTreeMap<_, _>>>()?;
    tests.retain(|_, command| command.starts_with("cargo test --") && command.ends_with("::"));
    for check in &arguments.checks {
        let names: Vec<_> = tests.keys().copied().collect();
        ensure!(names.contains(&check.as_str()), "`{check}` is not one of {}", names.join(", "));
    }
    if !arguments.checks.is_empty() {
        tests.retain(|check, _| arguments.checks.iter().any(|name| name == check));
    }
    let mut failed = 0;
    for (check, command) in tests {
        failed += test(check, command)?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tests of a check, records what they found, and returns how many failed.
fn test(check: &str, command: &str) -> Result<u64> {
    let words: Vec<_> = command.split(' ').skip(1).collect();
    let mut tests = cargo(&repository::root()?, &words);
    tests.args(["--", "--nocapture"]).stdout(Stdio::piped());
    let (mut passed, mut failed, mut figure) = (0, 0, String::new());
    let status = read_lines(&mut tests, |line| {
        println!("{line}");
        if line.starts_with("test result: ") {
            passed += number_of("passed", line);
            failed += number_of("failed", line);
        }
        if let Some((_, printed)) = line.split_once(FIGURE) {
            figure = format!("{printed}, ");
        }
    })?;
    ensure!(passed + failed > 0, "`{command}` did not run ({status})");
    record(check, &format!("{figure}{passed} tests passed, {failed} failed"))?;
    Ok(failed)
}

/// Returns the sum of the numbers before a word.
pub fn number_of(word: &str, text: &str) -> u64 {
    let words: Vec<_> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[1].trim_end_matches([';', ',']) == word);
    pairs.filter_map(|pair| pair[0].parse::<u64>().ok()).sum()
}

/// Adds what a run of a check found to the record, and writes the page.
pub fn record(check: &str, figure: &str) -> Result<()> {
    let root = repository::root()?;
    let date = output(&mut command(&root, &["date", "-u", "+%F"]))?;
    let commit = output(&mut command(&root, &["git", "rev-parse", "--short=8", "HEAD"]))?;
    let line = format!("{check}\t{figure}\t{}\t{}\n", date.trim(), commit.trim());
    let added = OpenOptions::new().append(true).open(root.join(RUNS));
    added.and_then(|mut runs| runs.write_all(line.as_bytes())).context(RUNS)?;
    println!("{check}: {figure}");
    write()
}

/// Writes the page, after a record has changed.
pub fn write() -> Result<()> {
    fs::write(repository::root()?.join(PATH), page()?).context(PATH)
}

/// Returns the page.
pub fn page() -> Result<String> {
    let mut page = HEAD.to_owned();
    for row in cells(&repository::read(CHECKS)?) {
        let [check, source, command, promise] = row?;
        let found = match check {
            "fuzz" => fuzzed(&repository::read("fuzz/runs.tsv")?)?,
            "properties" => properties()?,
            "performance" => measured(&repository::read("docs/performance.md")?)?,
            "suite" => repeated(&repository::read(".ci/repeat.tsv")?)?,
            _ => recorded(check, &repository::read(RUNS)?)?,
        };
        let source = source.strip_prefix("docs/").map_or(format!("../{source}"), str::to_owned);
        page += &format!("| {promise} | [{check}]({source}) | {} | `{command}` | ", found[0]);
        page += &format!("{} |\n", found[1]);
    }
    Ok(page)
}

/// Returns the cells of a record's lines, without those of its head.
fn cells<const N: usize>(record: &str) -> impl Iterator<Item = Result<[&str; N]>> {
    record.lines().skip(1).map(|line| {
        let cells: Vec<_> = line.split('\t').collect();
        cells.try_into().ok().with_context(|| format!("not {N} cells: {line}"))
    })
}

/// The figure of a check, and the date and the commit of its run.
type Found = [String; 2];

fn recorded(check: &str, runs: &str) -> Result<Found> {
    let mut found = ["not run yet".to_owned(), String::new()];
    for run in cells(runs) {
        let [name, figure, date, commit] = run?;
        if name == check {
            found = [figure.to_owned(), format!("{date}, `{commit}`")];
        }
    }
    Ok(found)
}

/// Adds up the runs of fuzz targets.
fn fuzzed(runs: &str) -> Result<Found> {
    let (mut inputs, mut seconds, mut findings, mut at) = (0, 0, 0, String::new());
    // The time since the last finding.
    let mut since = BTreeMap::new();
    for run in cells(runs) {
        let [target, time, executions, _, found, date, _, commit] = run?;
        let since: &mut u64 = since.entry(target).or_default();
        let (time, found) = (time.parse::<u64>()?, found.parse::<u64>()?);
        inputs += executions.parse::<u64>()?;
        seconds += time;
        findings += found;
        *since = if found > 0 { 0 } else { *since + time };
        at = format!("{date}, `{commit}`");
    }
    let (targets, least) = (since.len(), since.values().min().copied().unwrap_or_default() / 60);
    let figure = format!(
        "{targets} targets, {} million inputs in {} hours, {findings} findings, none in the last \
         {least} minutes of any target",
        inputs / 1_000_000,
        seconds / 3600,
    );
    Ok([figure, at])
}

/// Counts the property tests in the code.
fn properties() -> Result<Found> {
    let (mut properties, mut files) = (0, 0);
    for source in sources::read()? {
        let (mut count, mut end) = (0, None);
        for line in source.text.lines() {
            let code = line.trim_start();
            match code {
                "proptest! {" => end = Some(format!("{}}}", &line[..line.len() - code.len()])),
                "#[test]" if end.is_some() => count += 1,
                _ if end.as_deref() == Some(line) => end = None,
                _ => {}
            }
        }
        properties += count;
        files += u64::from(count > 0);
    }
    Ok([format!("{properties} properties in {files} files"), "counted in the code".to_owned()])
}

/// Counts the figures of the page about performance that have an aim.
fn measured(page: &str) -> Result<Found> {
    let aims = page.lines().filter(|line| line.contains("| ≥ ") || line.contains("| ≤ "));
    let (missed, met): (Vec<_>, Vec<_>) = aims.partition(|line| line.ends_with(", missed |"));
    let date = page.split_once("| date | ").context("no date in the figures")?.1;
    let date = date.split(' ').next().unwrap_or_default();
    Ok([format!("{} of {} aims met", met.len(), met.len() + missed.len()), date.to_owned()])
}

/// Reads the runs of all tests.
fn repeated(runs: &str) -> Result<Found> {
    let runs: Vec<Vec<_>> = runs.lines().map(|run| run.split('\t').collect()).collect();
    let last = runs.last().filter(|run| run.len() == 6).context("no run of all tests")?;
    let passed = runs.iter().rev().take_while(|run| run[5].starts_with("ok")).count();
    let figure = format!("{}, {}; runs since the last failure: {passed}", last[4], last[5].trim());
    let date = last[1].split('T').next().unwrap_or_default();
    Ok([figure, format!("{date}, `{}`", last[2])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_of_a_check_is_shown() {
        let runs = "check\tfound\tdate\tcommit\na\t1\tMay\t12\na\t2\tJune\t34\nb\t3\tJuly\t56\n";
        assert_eq!(recorded("a", runs).unwrap(), ["2", "June, `34`"]);
        assert_eq!(recorded("c", runs).unwrap(), ["not run yet", ""]);
        assert!(recorded("a", "check\na\t1\n").is_err());
    }

    #[test]
    fn the_time_since_a_finding_is_that_of_each_target() {
        let head = "target\tseconds\texecutions\tfeatures\tfindings\tdate\tmachine\tcommit\n";
        let run = |target, seconds, findings| {
            format!("{target}\t{seconds}\t2000000\t0\t{findings}\tMay\tx86_64\t12\n")
        };
        let runs = [run("a", 3600, 1), run("a", 120, 0), run("b", 60, 1), run("b", 180, 0)];
        let [figure, at] = fuzzed(&(head.to_owned() + &runs.concat())).unwrap();
        let end = "2 findings, none in the last 2 minutes of any target";
        assert_eq!(figure, format!("2 targets, 8 million inputs in 1 hours, {end}"));
        assert_eq!(at, "May, `12`");
    }

    #[test]
    fn the_aims_of_the_figures_are_counted() {
        let page = "| date | May |\n| a | 1 | ≥ 2, missed |\n| b | 3 | ≤ 4 |\n| c | 5 | ≥ 5 |\n";
        assert_eq!(measured(page).unwrap(), ["2 of 3 aims met", "May"]);
        assert!(measured("| a | 1 | ≥ 2 |\n").is_err());
    }

    #[test]
    fn numbers_before_a_word_are_added() {
        let text = "test result: ok. 12 passed; 0 failed\n  3 passed, 1 failed";
        assert_eq!(["passed", "failed", "lost"].map(|word| number_of(word, text)), [15, 1, 0]);
    }
}
