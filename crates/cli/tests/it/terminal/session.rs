//! The picture of the first command in the README. `cargo xtask session` makes it again.

use std::{env, fs, path::Path};

use crate::{
    bench::Bench,
    terminal::{Setup, Terminal, svg},
};

/// The first command of the README, which shows its picture.
const FIRST: &str =
    r#"kiln generate "a red fox in the snow" -s 1024x768 --seed 7 -o fox.png --simulate --show"#;

/// In place of an id that is different each time.
const SAMPLE: &str = "7c1e4b0a-93d2-4f6e-8a57-0c2b6d1f9e34";

const COLUMNS: u16 = 90;
/// More than the session has.
const ROWS: u16 = 100;

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
    let parts = [("$ ", 500), (&format!("\x1b[1m{FIRST}\x1b[m\r\n"), 1000)];
    // The first line is written when the task is submitted, and the rest with its picture.
    let end = shown.find('\n').unwrap() + 1;
    let parts = parts.into_iter().chain([(&shown[..end], 1500), (&shown[end..], 5000)]);
    let frames = parts.map(|(part, milliseconds)| {
        picture.feed(part);
        svg::Frame { milliseconds, rows: picture.screen().visible_lines().cloned().collect() }
    });
    let frames: Vec<_> = frames.collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-picture.svg");
    assert_recorded(&path, &svg::recording(COLUMNS.into(), &frames));
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
