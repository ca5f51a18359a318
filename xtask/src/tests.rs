//! Tests of the commands as a whole.

mod mutations;

use clap::CommandFactory;

use crate::{Command, repository};

#[test]
fn the_page_says_when_each_command_is_needed() {
    let page = repository::read("CONTRIBUTING.md").unwrap();
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
