//! The session in the README, and the picture of the first command. `cargo xtask session` records
//! them again.

use std::{env, fs, path::Path};

use crate::{
    bench::{AGES, Bench},
    terminal::{Setup, Terminal, svg},
};
use imagekiln_simulator::Config;

/// An event while a command runs.
#[derive(PartialEq)]
enum Meanwhile {
    Nothing,
    TaskEnds,
    CtrlC,
}

use Meanwhile::{CtrlC, Nothing, TaskEnds};

const COMMANDS: [(&str, Meanwhile); 5] = [
    (r#"kiln generate "a red fox in the snow" -s 512x384 --seed 7 -o fox.png"#, TaskEnds),
    (r#"kiln edit "at night" fox.png --seed 8 -o night.png"#, TaskEnds),
    (r#"kiln generate "a grey wolf" -s 512x384 --seed 9 -o wolf.png"#, CtrlC),
    ("kiln resume", Nothing),
    ("kiln history", Nothing),
];

/// The first command of the README, which shows its picture.
const FIRST: &str =
    r#"kiln --simulate generate "a red fox in the snow" -s 1024x768 --seed 7 -o fox.png --show"#;

/// In place of an id that is different each time.
const SAMPLE: &str = "7c1e4b0a-93d2-4f6e-8a57-0c2b6d1f9e34";

const COLUMNS: u16 = 90;
/// More than the session has.
const ROWS: u16 = 100;

const BEGIN: &str = "<!-- recorded by `cargo xtask session` -->\n";
const END: &str = "<!-- the end of the recording -->\n";

#[test]
fn the_readme_has_the_session_that_kiln_shows() {
    let session = record();
    let text = session.primary_screen().text();
    let text: Vec<_> = text.iter().map(|line| line.trim_end()).collect();
    let block = format!("```console\n{}\n```\n", text.join("\n").trim_end());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    assert_recorded(&path, &format!("{before}{BEGIN}\n{block}\n{END}{after}"));
}

#[test]
fn the_readme_has_a_picture_of_the_first_command() {
    let bench = Bench::new();
    let mut command = bench.shell_command(&format!("exec {FIRST}"));
    // A terminal without a protocol for pictures.
    command.envs([("TERM", "linux"), ("COLORTERM", "truecolor")]);
    let setup = Setup { columns: COLUMNS, ..Setup::default() };
    let mut terminal = Terminal::start_with(command, setup);
    terminal.end().ok();
    let (before, rest) = terminal.raw().split_once("submitted task ").unwrap();
    let shown = format!("{before}submitted task {SAMPLE}{}", &rest[SAMPLE.len()..]);
    let mut picture = avt::Terminal::new(COLUMNS.into(), ROWS.into()).unwrap();
    picture.feed(format!("$ \x1b[1m{FIRST}\x1b[m\r\n{shown}").as_str());
    let rows: Vec<_> = picture.screen().visible_lines().collect();
    let height = rows.iter().rposition(|row| !row.text().trim().is_empty()).unwrap() + 1;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/first-picture.svg");
    assert_recorded(&path, &svg::of_rows(COLUMNS.into(), &rows[..height]));
}

/// Asserts the content of a file, or writes it for `cargo xtask session`.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
#[track_caller]
fn assert_recorded(path: &Path, content: &str) {
    if env::var_os("IMAGEKILN_SESSION").is_some() {
        fs::write(path, content).unwrap();
    }
    let recorded = fs::read_to_string(path).unwrap_or_default();
    let path = path.display();
    assert!(recorded == content, "{path}: run `cargo xtask session`; expected:\n{content}");
}

/// Runs the commands, each on its own terminal, and shows their output on another one.
fn record() -> avt::Terminal {
    let bench =
        Bench::with(Config { ready_after: AGES, seed: Some(7.into()), ..Config::default() });
    let mut session = avt::Terminal::new(COLUMNS.into(), ROWS.into()).unwrap();
    for (line, meanwhile) in COMMANDS {
        session.feed(format!("$ \x1b[1m{line}\x1b[m\r\n").as_str());
        let setup = Setup { columns: COLUMNS, ..Setup::default() };
        let mut terminal =
            Terminal::start_with(bench.shell_command(&format!("exec {line}")), setup);
        if meanwhile != Nothing {
            // The cursor returns when a frame of the progress is complete.
            terminal.until_it("the status", |terminal| {
                terminal.text().contains("Pending") && terminal.raw().ends_with('\r')
            });
        }
        let shown = terminal.raw().len();
        if meanwhile == CtrlC {
            // Keeps the progress, which kiln removes.
            session.feed(lasting(terminal.raw()).as_str());
            session.feed("\r\n^C\r\n");
            terminal.interrupt();
            terminal.end().fails(130);
            session.feed(lasting(&terminal.raw()[shown..]).as_str());
        }
        if meanwhile != Nothing {
            bench.simulator.clock().advance(AGES);
        }
        if meanwhile != CtrlC {
            terminal.end().ok();
            session.feed(lasting(terminal.raw()).as_str());
        }
    }
    session
}

/// The text without what differs between two runs: the times, and how far the spinner is.
fn lasting(text: &str) -> String {
    const TIME: &str = "2026-11-22 08:15";
    let lines = text.split_inclusive('\n').map(|line| match line.split_once("  ") {
        // A line of the history.
        Some((number, rest)) if number.starts_with('@') => {
            format!("{number}  {TIME}{}", &rest[TIME.len()..])
        }
        _ => line.replace(|c| ('⠀'..='⣿').contains(&c), "⠙"),
    });
    (1..60).fold(lines.collect(), |text: String, seconds| {
        text.replace(&format!("({seconds}s)"), "(0s)")
    })
}
