//! The rules of the house that a program can check, for all crates, and the remaining exceptions.
//!
//! `xtask/exceptions.tsv` has how often each rule may be broken at each place. A number may only
//! fall: the check also fails if the file allows more than there is.

pub mod circles;
mod commits;
mod files;
mod phrases;
pub mod sources;

use std::collections::BTreeMap;

use anyhow::{Context, Result};

pub use self::commits::warnings;
use self::sources::{CRATES, Source};
use crate::repository;

/// The path of the list of exceptions in the repository.
const EXCEPTIONS: &str = "xtask/exceptions.tsv";

/// The prose that is checked for phrases, beside the Rust files. Some pages are generated.
const PROSE: [&str; 4] = ["*.md", ".ci/*", "*.js", "*.toml"];

/// The rules, and advice for a place that breaks one.
const RULES: [(&str, &str); 8] = [
    ("circle", "move what both parts need to one that both can import"),
    ("long file", "split it where its second idea starts"),
    ("wide line", "break it: `cargo fmt` leaves lines alone that hold a string too long to fit"),
    ("crumb", "merge it with the file whose idea it is a part of"),
    ("module docs", "say in `//!` what the file is for"),
    ("match on bool", "write `if`"),
    ("source printed", "leave the source out of `Display`: whoever prints the chain adds it"),
    ("phrase", "rewrite it as a native speaker would say it"),
];

/// How often a rule is broken at a place.
#[derive(Default)]
struct Broken {
    times: usize,
    /// The exact places, for a person.
    details: Vec<String>,
}

type Findings = BTreeMap<(&'static str, String), Broken>;

/// Returns violations of rules that are not exceptions, and exceptions that are not needed.
pub fn problems() -> Result<Vec<String>> {
    compare(&findings()?, &exceptions(&repository::read(EXCEPTIONS)?)?)
}

/// Compares the findings with the exceptions.
fn compare(found: &Findings, allowed: &BTreeMap<(String, String), usize>) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for ((rule, place), broken) in found {
        let allowed = allowed.get(&(rule.to_string(), place.clone())).copied().unwrap_or(0);
        if broken.times > allowed {
            let advice = RULES.iter().find(|(name, _)| name == rule).map_or("", |(_, text)| text);
            problems
                .push(format!("{place}: {rule}: {} of {allowed} allowed; {advice}", broken.times));
            problems.extend(broken.details.iter().map(|detail| format!("  {detail}")));
        }
    }
    for ((rule, place), allowed) in allowed {
        let rule = RULES.iter().find(|(name, _)| name == rule).map(|(name, _)| *name);
        let rule = rule.with_context(|| format!("{EXCEPTIONS} has the unknown rule {rule:?}"))?;
        let times = found.get(&(rule, place.clone())).map_or(0, |broken| broken.times);
        if times < *allowed {
            let line = format!("{EXCEPTIONS}: {rule}, {place}: {allowed} allowed, {times} found");
            problems.push(format!("{line}; lower the number, or remove the line"));
        }
    }
    Ok(problems)
}

/// Reads the list: rule, place and number, separated by tabs.
fn exceptions(text: &str) -> Result<BTreeMap<(String, String), usize>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let cells: Vec<_> = line.split('\t').collect();
        let [rule, place, times] = cells[..] else {
            anyhow::bail!("{EXCEPTIONS}: not three cells separated by tabs: {line:?}");
        };
        let times = times.parse().with_context(|| format!("{EXCEPTIONS}: {line:?}"))?;
        Ok(((rule.to_owned(), place.to_owned()), times))
    });
    rows.collect()
}

fn findings() -> Result<Findings> {
    let sources = sources::read()?;
    let mut findings = Findings::new();
    let mut add = |rule: &'static str, place: &str, times: usize, details: Vec<String>| {
        if times > 0 {
            let broken = findings.entry((rule, place.to_owned())).or_default();
            broken.times += times;
            broken.details.extend(details);
        }
    };
    for source in &sources {
        let path = &source.path;
        add("long file", path, usize::from(files::is_long(source)), vec![]);
        add("crumb", path, usize::from(files::is_crumb(source)), vec![]);
        let wide = files::wide_lines(&source.text);
        add("wide line", path, wide.len(), wide);
        add("module docs", path, usize::from(files::lacks_documentation(source)), vec![]);
        add("match on bool", path, files::matches_on_bool(source)?, vec![]);
        if !path.ends_with("tidy/phrases.rs") {
            let phrases = phrases::found(&source.text, false);
            add("phrase", path, phrases.len(), phrases);
        }
    }
    for folder in CRATES {
        let of_crate: Vec<&Source> =
            sources.iter().filter(|source| source.crate_folder() == Some(folder)).collect();
        for circle in circles::of_crate(folder, &of_crate)? {
            add("circle", &circle.folder, circle.imports.len(), circle.imports);
        }
        for path in files::sources_printed_twice(&of_crate)? {
            add("source printed", &path, 1, vec![]);
        }
    }
    for path in sources::files(&PROSE)? {
        let phrases = phrases::found(&repository::read(&path)?, path.ends_with(".md"));
        add("phrase", &path, phrases.len(), phrases);
    }
    for path in sources::files(&["*.js", "*.css", ":!simulator/page/vendor"])? {
        let wide = files::wide_lines(&repository::read(&path)?);
        add("wide line", &path, wide.len(), wide);
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_only_fall() {
        let compared = |times: usize, allowed: &str| {
            let broken = Broken { times, details: vec!["detail".to_owned()] };
            let found = Findings::from([(("crumb", "src/a.rs".to_owned()), broken)]);
            compare(&found, &exceptions(allowed).unwrap()).unwrap()
        };
        assert!(compared(2, "crumb\tsrc/a.rs\t2").is_empty());
        let more = compared(2, "# why\ncrumb\tsrc/a.rs\t1");
        assert!(more[0].starts_with("src/a.rs: crumb: 2 of 1 allowed; merge"), "{more:?}");
        assert_eq!(more[1], "  detail");
        let fewer = compared(2, "crumb\tsrc/a.rs\t3");
        assert!(fewer[0].contains("3 allowed, 2 found; lower the number"), "{fewer:?}");
        let removed = compared(0, "crumb\tsrc/b.rs\t1");
        assert!(removed[0].contains("src/b.rs: 1 allowed, 0 found"), "{removed:?}");
    }

    #[test]
    fn an_unreadable_exception_is_an_error() {
        assert!(exceptions("crumb\tsrc/a.rs").is_err());
        assert!(exceptions("crumb\tsrc/a.rs\tmany").is_err());
        let unknown = exceptions("nonsense\tsrc/a.rs\t1").unwrap();
        assert!(compare(&Findings::new(), &unknown).is_err());
    }
}
