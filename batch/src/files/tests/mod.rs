//! Reads job files from a temporary folder.

mod files;
mod images;
mod lists;
mod matrices;
mod names;
mod properties;

use std::{fs, path::PathBuf};

use imagekiln::find_model;
use tempfile::TempDir;

use super::*;

/// A folder, and the defaults of all jobs.
struct Bench {
    folder: TempDir,
    defaults: Defaults,
}

impl Bench {
    fn new() -> Self {
        let defaults = Defaults::new(find_model("gen-2-pro").unwrap()).target("{name}.{ext}");
        Self { folder: tempfile::tempdir().unwrap(), defaults }
    }

    fn with(self, field: &str, text: &str) -> Self {
        Self { defaults: self.defaults.field_text(field, text), ..self }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn read(&self, name: &str, content: impl AsRef<[u8]>) -> Result<List, Error> {
        read(&self.write(name, content), None, &self.defaults)
    }

    #[track_caller]
    fn jobs(&self, name: &str, content: impl AsRef<[u8]>) -> Vec<FileJob> {
        self.read(name, content).unwrap_or_else(|error| panic!("{error}")).jobs
    }

    /// The problems as they are printed, without the path of the folder.
    #[track_caller]
    fn problems(&self, name: &str, content: impl AsRef<[u8]>) -> Vec<String> {
        let error = self.read(name, content).expect_err("the file is valid");
        self.shown(&error)
    }

    fn shown(&self, error: &Error) -> Vec<String> {
        let Error::Invalid { problems, .. } = error else { panic!("{error}") };
        let folder = format!("{}/", self.folder.path().display());
        problems.iter().map(|problem| problem.to_string().replace(&folder, "")).collect()
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
    assert!(Format::NAMES.iter().all(|name| Format::named(name).is_some()));
    let error = Bench::new().read("a.xlsx", "a red fox").unwrap_err();
    assert!(error.to_string().ends_with("a.xlsx is not known"), "{error}");
}
