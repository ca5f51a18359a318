//! The jobs that a command changes: those with given names, those that meet conditions, or all.

use std::collections::HashSet;

use clap::{Args, ValueHint};

use super::place::model;
use crate::{
    args::selection::{Sent, lines},
    failure::Failure,
    process::Process,
    text::sanitize::one_line,
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
        if names.is_none() && !all && !is_conditional && !conditions.are_given() {
            let advice = "nothing was changed; pass names, --from, --all, or conditions such as \
                          --group";
            return Err(Failure::usage("no jobs are given").advise(advice));
        }
        let filter = Filter { names: names.clone(), ..Filter::default() };
        if let Some(names) = &names {
            check_known(names, &ledger.jobs().list(&filter).await?)?;
        }
        Ok(Selected { filter: conditions.filter(filter), names })
    }
}

impl Conditions {
    fn are_given(&self) -> bool {
        self.model.is_some() || self.group.is_some()
    }

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

/// Refuses a name that belongs neither to a job nor to a task of the ledger.
fn check_known(names: &[String], found: &[JobStatus]) -> Result<(), Failure> {
    let known: HashSet<_> = found
        .iter()
        .flat_map(|job| [Some(job.name.as_str()), job.task_id.as_deref()])
        .flatten()
        .collect();
    match names.iter().find(|name| !known.contains(name.as_str())) {
        Some(name) => {
            let problem = format!("the ledger has no job `{}`", one_line(name));
            Err(Failure::usage(problem).advise("nothing was changed"))
        }
        None => Ok(()),
    }
}
