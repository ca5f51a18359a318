//! Reads job files from a temporary folder.

mod files;
mod images;
mod matrices;
mod names;
mod properties;

use std::{fs, io};

use tempfile::TempDir;

use super::{Cell, Defaults, Format, PlannedJob, Setting, Source, read};
use crate::{failure::Failure, models, process::Input};

fn read_source(source: &Source, defaults: &Defaults) -> Result<Vec<PlannedJob>, Failure> {
    read(&Input::new(io::empty()), source, defaults)
}

/// A folder, and the settings of the command line.
struct Bench {
    folder: TempDir,
    defaults: Defaults,
}

impl Bench {
    fn new() -> Self {
        let defaults = Defaults {
            model: models::find("gen-2-pro").unwrap(),
            settings: Vec::new(),
            target: "{name}.{ext}".to_owned(),
        };
        Self { folder: tempfile::tempdir().unwrap(), defaults }
    }

    fn with(mut self, field: &str, text: &str) -> Self {
        self.defaults.settings.push(Setting::listed(field, Cell::Text(text.to_owned())));
        self
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Source {
        self.write(name, content);
        let path = self.folder.path().join(name);
        Source::of(path.as_os_str(), None).unwrap()
    }

    fn read(&self, name: &str, content: impl AsRef<[u8]>) -> Result<Vec<PlannedJob>, Failure> {
        read_source(&self.file(name, content), &self.defaults)
    }

    #[track_caller]
    fn jobs(&self, name: &str, content: impl AsRef<[u8]>) -> Vec<PlannedJob> {
        self.read(name, content).unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    /// The problems as they are printed, without the path of the folder.
    #[track_caller]
    fn problems(&self, name: &str, content: impl AsRef<[u8]>) -> Vec<String> {
        let failure = self.read(name, content).expect_err("the file is valid");
        self.shown(&failure)
    }

    fn shown(&self, failure: &Failure) -> Vec<String> {
        assert!(!failure.problems.is_empty(), "{failure:?}");
        let folder = format!("{}/", self.folder.path().display());
        let problems = failure.problems.iter();
        problems.map(|problem| problem.to_string().replace(&folder, "")).collect()
    }
}

/// The requests as JSON, to compare them with what is expected.
fn requests(jobs: &[PlannedJob]) -> Vec<String> {
    jobs.iter().map(|job| job.request.to_json().unwrap()).collect()
}

fn lines(jobs: &[PlannedJob]) -> Vec<u64> {
    jobs.iter().map(|job| job.line).collect()
}
