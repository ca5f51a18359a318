//! Every screen on a terminal of 80 and of 40 columns, in colour.

use std::{collections::BTreeSet, process::Command};

use super::{Setup, Terminal};
use crate::{
    bench::{Bench, Place},
    help,
};

/// Commands whose `-h` lists all models.
const LISTS: [&str; 2] = ["run", "task submit"];

/// The rows of a screen, without that of the next prompt of the shell.
const ROWS: usize = 24;

const COLUMNS: [u16; 2] = [80, 40];

/// What is wrong with the screens of a command at each width. The rows are those on a terminal of
/// the usual width.
fn problems(line: &str, rows: usize, command: impl Fn() -> Command) -> Vec<String> {
    let mut problems = Vec::new();
    for columns in COLUMNS {
        let mut terminal =
            Terminal::start_with(command(), Setup { columns, rows: 200, ..Setup::default() });
        terminal.end();
        let (text, screen) = (terminal.text(), terminal.screen());
        // `text` joins the lines that the terminal has wrapped. Commands to copy may be long.
        let is_wide =
            text.lines().find(|line| width(line) > columns.into() && !line.starts_with("  kiln "));
        problems.extend(is_wide.map(|wide| format!("{line} at {columns}: wide: {wide}")));
        problems.extend(
            lone(&screen, columns.into())
                .map(|word| format!("{line} at {columns}: `{word}` is alone on a line\n{screen}")),
        );
        let open = terminal.raw().split('\n').find(|line| ends_coloured(line));
        problems.extend(open.map(|open| format!("{line} at {columns}: colours: {open:?}")));
        assert!(!text.is_empty(), "{line}");
        let count = screen.lines().count();
        if columns == COLUMNS[0] && count > rows {
            problems.push(format!("{line}: {count} rows"));
        }
    }
    problems
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Whether the colours of a line do not end with it.
fn ends_coloured(line: &str) -> bool {
    let codes = line.split("\u{1b}[").skip(1).filter_map(|code| code.split_once('m'));
    let is_style = |code: &&str| code.chars().all(|c| c.is_ascii_digit() || c == ';');
    codes.map(|(code, _)| code).filter(is_style).last().is_some_and(|code| code != "0")
}

/// The first word that is alone on the last line of a paragraph, although the line before it could
/// give it company and keep two words.
fn lone(screen: &str, columns: usize) -> Option<&str> {
    let lines: Vec<&str> = screen.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    (1..lines.len()).find_map(|at| {
        let (before, line) = (lines[at - 1], lines[at]);
        let (word, column) = (line.trim(), indent(line));
        let goes_on =
            lines.get(at + 1).is_some_and(|next| !next.is_empty() && indent(next) == column);
        if word.is_empty() || word.contains(' ') || goes_on {
            return None;
        }
        let text: String = before.chars().skip(column).collect();
        let starts = column == 0 || before.chars().nth(column - 1) == Some(' ');
        let words: Vec<&str> = text.split(' ').collect();
        let is_wrapped = width(before) + 1 + width(word) > columns;
        let moved = words.last()?;
        let fits = column + width(moved) + 1 + width(word) <= columns;
        // The cells of a table are narrower than the screen.
        let is_text =
            starts && !text.starts_with(' ') && !text.contains('`') && !text.contains("  ");
        (is_text && is_wrapped && fits && words.len() > 2).then_some(word)
    })
}

#[test]
fn every_help_fits_the_terminal() {
    let place = Place::new();
    let groups = ["", "tool", "task", "batch", "batch jobs", "webhook", "exit-codes"];
    let names: BTreeSet<&str> = help::commands().chain(groups).collect();
    let mut found = Vec::new();
    for name in names {
        let rows = if LISTS.contains(&name) { usize::MAX } else { ROWS };
        for (flag, rows) in [("-h", rows), ("--help", usize::MAX)] {
            let line = format!("{name} {flag}");
            found.extend(problems(&line, rows, || place.kiln(&line)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn the_first_screen_shows_how_to_begin() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln(""));
    terminal.end();
    let screen = terminal.screen();
    assert!(screen.starts_with("Generate and edit pictures"), "{screen}");
    // The prompt of the shell needs a row, too.
    assert!(screen.lines().count() < ROWS, "{screen}");
    assert!(screen.contains("generate  Generate a picture from a prompt"), "{screen}");
}

#[test]
fn every_screen_fits_the_terminal() {
    let bench = Bench::new();
    bench.run("generate 'a red fox in the snow, at night' -s 64x64 -o fox.png").ok();
    bench.run("batch run --prompt 'a wolf [[error]]' --output pictures").fails(4);
    let mut found = Vec::new();
    for line in [
        "",
        "models",
        "models gen-2-pro",
        "history",
        "show @1 --info",
        "config",
        "config profiles",
        "doctor",
        "exit-codes",
        "batch status --ledger pictures",
        "batch limits --ledger pictures",
        "spending --ledger pictures",
        "batch run --output pictures --prompt fox --dry-run",
        "generat",
        "login --now",
        "delete",
        "generate",
        "generate fox --widht 3",
        "generate fox --size big",
        "generate fox --output-format gif",
        "generate fox -m gen-2-prp",
        "edit fox cat.png",
        "batch pause",
        "batch limits --budget much",
        "task save @7",
        "show nothing.png",
        "config set colour red",
    ] {
        found.extend(problems(line, usize::MAX, || bench.kiln(line)));
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}
