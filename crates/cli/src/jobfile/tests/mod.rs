//! The tests read job files in a temporary folder.

mod files;
mod images;
mod lists;
mod matrices;
mod names;
mod properties;

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::*;
use imagekiln::find_model;

/// A temporary folder, and the defaults for all jobs.
struct Bench {
    folder: TempDir,
    defaults: Defaults,
}

impl Bench {
    fn new() -> Self {
        let model = find_model("gen-2-pro").unwrap();
        let defaults = Defaults { target: "{name}.{ext}".to_owned(), ..Defaults::new(model) };
        Self { folder: tempfile::tempdir().unwrap(), defaults }
    }

    fn with(mut self, field: &str, text: &str) -> Self {
        self.defaults.settings.push(Setting::new(field, Cell::Text(text.to_owned())));
        self
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn read(&self, name: &str, content: impl AsRef<[u8]>) -> Result<List, Failure> {
        read(&self.write(name, content), None, &self.defaults)
    }

    #[track_caller]
    fn jobs(&self, name: &str, content: impl AsRef<[u8]>) -> Vec<FileJob> {
        self.read(name, content).unwrap_or_else(|error| panic!("{error:?}")).jobs
    }

    /// The problems as the command prints them, without the path of the folder.
    #[track_caller]
    fn problems(&self, name: &str, content: impl AsRef<[u8]>) -> Vec<String> {
        let error = self.read(name, content).expect_err("the file is valid");
        self.shown(&error)
    }

    /// Checks which problems the command prints.
    #[track_caller]
    fn refuses(&self, name: &str, content: impl AsRef<[u8]>, problems: &[&str]) {
        assert_eq!(self.problems(name, content), problems);
    }

    fn shown(&self, failure: &Failure) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        failure.problems.iter().map(|problem| problem.to_string().replace(&folder, "")).collect()
    }
}

/// The requests as JSON, to compare them with what is expected.
fn requests(jobs: &[FileJob]) -> Vec<String> {
    jobs.iter().map(|job| job.request.to_json().unwrap()).collect()
}

fn lines(jobs: &[FileJob]) -> Vec<u64> {
    jobs.iter().map(|job| job.line).collect()
}

#[test]
fn the_extension_decides_the_format() {
    for (name, format) in [
        ("a.jsonl", Some(Format::Jsonl)),
        ("a.NDJSON", Some(Format::Jsonl)),
        ("b/a.csv", Some(Format::Csv)),
        ("a.tsv", Some(Format::Tsv)),
        ("a.txt", Some(Format::Text)),
        ("prompts", Some(Format::Text)),
        ("a.json", None),
        ("a.xlsx", None),
    ] {
        assert_eq!(Format::of_path(Path::new(name)), format, "{name}");
    }
    let error = Bench::new().read("a.xlsx", "a red fox").unwrap_err();
    assert!(error.message.ends_with("a.xlsx is not known"), "{error:?}");
}
