//! The jobs that a command changes: their names, or all jobs in some states, of a model or of a
//! group.

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};

use crate::{commands::chosen_model::model_names, failure::Failure, models};
use imagekiln_batch::{Filter, JobState, Ledger};

/// Adds the arguments to a command that accepts jobs in these states.
pub fn of_states(command: Command, states: &'static [JobState]) -> Command {
    let names = Arg::new("names")
        .value_name("NAME")
        .action(ArgAction::Append)
        .required_unless_present("state")
        .conflicts_with("state")
        .help("The names of jobs");
    command.arg(names).arg(state_arg(states).help("All jobs in this state; repeat it for several"))
}

pub fn state_arg(states: &'static [JobState]) -> Arg {
    Arg::new("state")
        .long("state")
        .value_name("STATE")
        .action(ArgAction::Append)
        .value_delimiter(',')
        .value_parser(PossibleValuesParser::new(states.iter().map(|state| state.as_str())))
}

/// `--model`, and `--group`.
pub fn model_and_group(what: &str) -> [Arg; 2] {
    let model = Arg::new("model")
        .long("model")
        .value_name("MODEL")
        .hide_possible_values(true)
        .value_parser(model_names(models::models()))
        .help(format!("{what} of this model"));
    let group = Arg::new("group").long("group").value_name("NAME");
    [model, group.help(format!("{what} of this group"))]
}

/// The name that the ledger has for the model of `--model`.
pub fn model(matches: &ArgMatches) -> Option<&'static str> {
    let name = matches.get_one::<String>("model")?;
    models::find(name).map(|model| model.name)
}

pub fn group(matches: &ArgMatches) -> Option<&str> {
    matches.get_one::<String>("group").map(String::as_str)
}

/// The states that `--state` names.
pub fn states(matches: &ArgMatches) -> Vec<JobState> {
    let named: Vec<_> = matches.get_many::<String>("state").into_iter().flatten().collect();
    let is_named = |state: &JobState| named.iter().any(|name| *name == state.as_str());
    JobState::ALL.into_iter().filter(is_named).collect()
}

/// The names of the selected jobs.
pub async fn names(ledger: &Ledger, matches: &ArgMatches) -> Result<Vec<String>, Failure> {
    if let Some(names) = matches.get_many::<String>("names") {
        return Ok(names.cloned().collect());
    }
    let jobs = ledger.list(&Filter::all().states(states(matches)), 0, usize::MAX).await?;
    Ok(jobs.into_iter().map(|job| job.name).collect())
}
