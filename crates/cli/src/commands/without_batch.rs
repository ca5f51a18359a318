//! Stands in for `kiln batch` in a build without the feature `batch`.

use clap::{ArgMatches, Command};

use super::without;
use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

pub fn command(_chosen: &'static Operation) -> Command {
    without::command(NAME, "Run many jobs from a file or a matrix")
}

pub mod ledgers {
    //! Stands in for the list of ledgers, which this build cannot read.

    use std::path::Path;

    use imagekiln_label::Description;

    use crate::{
        failure::Failure,
        history::costs::{Key, Sum},
        process::Process,
    };

    pub fn described(_process: &Process, _file: &Path, _sha256: &str) -> Option<Description> {
        None
    }

    pub async fn add_spending(
        _process: &Process,
        names: &[String],
        _add: impl FnMut(Key, Sum),
    ) -> Result<Vec<(String, String)>, Failure> {
        let unreadable = |name: &String| (name.clone(), "this kiln has no `kiln batch`".to_owned());
        Ok(names.iter().map(unreadable).collect())
    }
}

pub fn with_jobs(command: Command, _ledger: Option<&str>) -> Command {
    command
}

pub async fn execute(_context: &Context, _matches: &ArgMatches) -> Result<(), Failure> {
    Err(without::failure(NAME))
}
