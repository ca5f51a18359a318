//! `cargo xtask generators`: runs the linters and client generators of other projects on the
//! contract, and each generated client against the simulator.
//!
//! The tools are installed and run below `target/generators`. `xtask/generators` has their versions
//! and a program for each generated client.

pub mod environment;
pub mod simulator;
mod tool;
mod tools;
mod warnings;

use std::{fs, process::ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Args;

use self::{
    environment::Environment,
    simulator::Simulator,
    tool::{Report, Tool, summary},
    tools::{NOT_INSTALLABLE, TOOLS},
};
use crate::repository;

/// The name of the folders in `xtask` and `target`.
const FOLDER: &str = "generators";

/// Runs other projects' linters and generators on the contract, and the clients they generate
#[derive(Args)]
pub struct Arguments {
    /// Run only these tools, for example `openapi-generator-go`
    #[arg(value_name = "TOOL")]
    only: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let tools = selected(&arguments.only)?;
    let environment = Environment::new(repository::root()?, FOLDER);
    // A task takes a few polls.
    let simulator = Simulator::start(&environment.root, &["--ready-after", "0.25"])?;
    fs::create_dir_all(&environment.folder).context("could not create the folder of the tools")?;
    fs::write(environment.folder.join("inlined.json"), simulator.inlined_contract()?)
        .context("could not write the inlined contract")?;
    let mut reports: Vec<Report> = Vec::new();
    for tool in tools {
        let first = reports.iter().find_map(Report::picture);
        let report = tool.report(&environment, &simulator, first);
        println!("{report}");
        reports.push(report);
    }
    if arguments.only.is_empty() {
        for (tool, reason) in NOT_INSTALLABLE {
            let report = Report::not_run(tool, reason);
            println!("{report}");
            reports.push(report);
        }
    }
    println!("\n{}", summary(&reports));
    let is_success = reports.iter().all(|report| !report.has_problem());
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the tools with these names, or all if there are none.
fn selected(names: &[String]) -> Result<Vec<&'static Tool>> {
    for name in names {
        let known = TOOLS.each_ref().map(|tool| tool.name);
        ensure!(known.contains(&name.as_str()), "unknown tool `{name}`; use {}", known.join(", "));
    }
    let is_selected = |tool: &&Tool| names.is_empty() || names.iter().any(|name| name == tool.name);
    Ok(TOOLS.iter().filter(is_selected).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tools_run_unless_some_are_named() {
        assert_eq!(selected(&[]).unwrap().len(), TOOLS.len());
        let named = selected(&["hey-api".to_owned()]).unwrap();
        assert_eq!(named.iter().map(|tool| tool.name).collect::<Vec<_>>(), ["hey-api"]);
    }

    #[test]
    fn an_unknown_tool_is_refused_with_the_known_ones() {
        let error = selected(&["swagger".to_owned()]).err().unwrap().to_string();
        assert!(error.starts_with("unknown tool `swagger`; use redocly, spectral, "), "{error}");
    }
}
