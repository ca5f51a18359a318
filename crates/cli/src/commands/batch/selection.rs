//! The jobs that a command changes: those with given names, those that meet conditions, or all.
//! Also completes the names and the groups of jobs.

use std::collections::{BTreeSet, HashSet};

use clap::{Arg, Args, Command, ValueHint};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use tokio::runtime::Builder;

use super::place::{Place, model};
use crate::{
    args::selection::{Sent, lines},
    failure::Failure,
    process::Process,
    text::one_line,
};
use imagekiln_batch::{Filter, JobState, JobStatus, Ledger};

#[derive(Args)]
pub struct Selection {
    /// The names of jobs, or the ids of their tasks
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The jobs in this file: each line is a name, or the id of a task; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    from: Option<String>,
    #[command(flatten)]
    conditions: Conditions,
    /// All jobs that the command can change
    #[arg(long, conflicts_with_all = ["names", "from", "model", "group"])]
    all: bool,
}

/// Conditions that jobs meet.
#[derive(Args)]
#[group(multiple = true)]
pub struct Conditions {
    /// Only jobs of this model
    #[arg(long, hide_possible_values = true, value_parser = model())]
    model: Option<String>,
    /// Only jobs of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

/// The selected jobs.
pub struct Selected {
    pub filter: Filter,
    /// The names or task ids that the user gave, if any.
    pub names: Option<Vec<String>>,
}

impl Selection {
    pub fn has_names(&self) -> bool {
        !self.names.is_empty() || self.from.is_some()
    }

    /// Returns the selected jobs. Fails if the user has given neither names nor conditions nor
    /// `--all`, or if the ledger has no job with a given name. `is_conditional` says that the
    /// command has a condition of its own, such as a state.
    pub async fn read(
        self,
        process: &Process,
        ledger: &Ledger,
        is_conditional: bool,
    ) -> Result<Selected, Failure> {
        let Self { names, from, conditions, all } = self;
        let in_file = from.map(|path| lines(process, &path)).transpose()?;
        let names = match in_file {
            Some(lines) => Some(lines.into_iter().chain(names).collect()),
            None => Some(names).filter(|names| !names.is_empty()),
        };
        let is_conditional =
            is_conditional || conditions.model.is_some() || conditions.group.is_some();
        if names.is_none() && !all && !is_conditional {
            let advice = "nothing was changed; pass names, --from, --all, or conditions such as \
                          --group";
            return Err(Failure::usage("no jobs are given").advise(advice));
        }
        let filter = Filter { names: names.clone(), ..Filter::default() };
        if let Some(names) = &names {
            let found = ledger.jobs().list(&filter).await?;
            let ids = found.iter().filter_map(|job| job.task_id.as_deref());
            let known: HashSet<_> = found.iter().map(|job| job.name.as_str()).chain(ids).collect();
            if let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) {
                let problem = format!("the ledger has no job `{}`", one_line(name));
                return Err(Failure::usage(problem).advise("nothing was changed"));
            }
        }
        Ok(Selected { filter: conditions.filter(filter), names })
    }
}

impl Conditions {
    pub fn filter(self, filter: Filter) -> Filter {
        Filter { operation: self.model, group: self.group, ..filter }
    }
}

/// Restricts a filter to jobs that were submitted in a time range.
pub fn sent_at(filter: Filter, sent: Sent) -> Filter {
    let Sent { sent_after, sent_before } = sent;
    Filter { sent_after, sent_before, ..filter }
}

impl Selected {
    /// Returns the number of jobs that are given by their names, or 0 if no names are given. Fails
    /// if one of these jobs is in another state, before the command changes anything.
    pub async fn must_be(&self, ledger: &Ledger, states: &[JobState]) -> Result<u64, Failure> {
        if self.names.is_none() {
            return Ok(0);
        }
        let found = ledger.jobs().list(&self.filter).await?;
        let Some(job) = found.iter().find(|job| !states.contains(&job.state)) else {
            return Ok(found.len() as u64);
        };
        let expected: Vec<_> = states.iter().map(JobState::to_string).collect();
        let (name, expected) = (one_line(&job.name), expected.join(", "));
        let problem = format!("job `{name}` is {}, not {expected}", job.state);
        Err(Failure::usage(problem).advise("nothing was changed"))
    }
}

/// The maximum number of jobs that completion reads, starting with the first job of the ledger.
const MOST_OFFERED: usize = 1_000;

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
        ledger.jobs().page(&Filter::default(), 0, MOST_OFFERED).await
    };
    runtime.block_on(read).ok()
}
