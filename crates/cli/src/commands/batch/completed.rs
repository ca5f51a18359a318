//! Completion of the names and the groups of jobs.

use std::collections::BTreeSet;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use tokio::runtime::Builder;

use super::place::Place;
use imagekiln_batch::{Filter, JobStatus, Ledger};

/// The maximum number of jobs that completion reads, starting with the first job of the ledger.
const MOST: usize = 1_000;

/// Adds the names and the groups of the jobs of a ledger as candidates. Without a `ledger`, this
/// reads the one in the working directory.
pub fn with_jobs(command: Command, ledger: Option<&str>) -> Command {
    let ledger = ledger.map(str::to_owned);
    with_candidates(command, &|of: fn(JobStatus) -> Option<String>| {
        let ledger = ledger.clone();
        ArgValueCandidates::new(move || {
            let jobs = jobs(ledger.as_deref()).unwrap_or_default();
            let texts: BTreeSet<_> = jobs.into_iter().filter_map(of).collect();
            texts.into_iter().map(CompletionCandidate::new).collect()
        })
    })
}

type Candidates<'a> = &'a dyn Fn(fn(JobStatus) -> Option<String>) -> ArgValueCandidates;

fn with_candidates(command: Command, candidates: Candidates<'_>) -> Command {
    let with = |arg: Arg| match arg.get_id().as_str() {
        "group" => arg.add(candidates(|job| job.group)),
        "names" | "name" => arg.add(candidates(|job| Some(job.name))),
        _ => arg,
    };
    command.mut_args(with).mut_subcommands(|inner| with_candidates(inner, candidates))
}

/// Reads the jobs of a ledger in a file, even while a run has it open, and writes nothing. Returns
/// `None` for a ledger in PostgreSQL, so completion never connects to a server.
fn jobs(ledger: Option<&str>) -> Option<Vec<JobStatus>> {
    let Ok(Place::File(path)) = Place::given(ledger) else { return None };
    let runtime = Builder::new_current_thread().build().ok()?;
    let read = async {
        let ledger = Ledger::open_read_only(path).await?;
        ledger.jobs().page(&Filter::default(), 0, MOST).await
    };
    runtime.block_on(read).ok()
}
