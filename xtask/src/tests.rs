//! Tests of the commands as a whole.

pub mod mutations;

use clap::CommandFactory;

use crate::{Command, repository};

#[test]
fn the_page_says_when_each_command_is_needed() {
    let page = repository::read("docs/contributing.md").unwrap();
    let mut lines =
        page.lines().skip_while(|line| *line != "| command | needed after a change of |");
    let table = lines.by_ref().skip(2).take_while(|line| !line.is_empty());
    let cells = table.flat_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(','));
    let mut listed: Vec<_> = cells.map(|name| name.trim().trim_matches('`')).collect();
    listed.sort_unstable();
    let commands = Command::command();
    let mut names: Vec<_> = commands.get_subcommands().map(|command| command.get_name()).collect();
    names.sort_unstable();
    assert_eq!(listed, names);
}

#[test]
fn the_page_about_checks_has_the_steps_of_ci() {
    let (page, run) = (repository::read("docs/checks.md").unwrap(), repository::read(".ci/run"));
    let table = page.lines().skip_while(|line| *line != "| check | what it finds |").skip(2);
    let rows = table.take_while(|line| !line.is_empty());
    let listed: Vec<_> = rows.flat_map(|row| row.split(" | ").next()?.strip_prefix("| ")).collect();
    let run = run.unwrap();
    let steps = run.lines().filter_map(|line| line.strip_prefix("step \"")?.strip_suffix('"'));
    assert_eq!(listed, steps.filter(|step| *step != "done").collect::<Vec<_>>());
}

#[test]
fn the_workflow_has_the_platforms_of_the_packages() {
    let build = repository::read("crates/cli/packaging/build").unwrap();
    let workflow = repository::read(".github/workflows/dist.yaml").unwrap();
    let list = build.split_once("platforms=\"").and_then(|(_, rest)| rest.split_once('"'));
    let rows = list.unwrap().0.lines().filter_map(|row| row.split(' ').next());
    let built: Vec<_> = rows.filter(|target| !target.is_empty()).collect();
    let targets = workflow.lines().filter_map(|line| line.trim().strip_prefix("- target: "));
    assert_eq!(built, targets.collect::<Vec<_>>());
}
