//! The first hours in `docs/hours.md`, and a recording of a batch, typed by the scripts in
//! `docs/hours`. `cargo xtask session` records them again.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::svg::{self, Frame};

/// The size of the terminal that is recorded, as in the script.
const COLUMNS: usize = 90;
const ROWS: usize = 20;

/// How long frames are shown at least, and the last one longer, in milliseconds.
const SHORTEST: usize = 400;
const LAST: usize = 6000;

pub fn liked() {
    replay("liked.sh");
}

pub fn many() {
    replay("many.sh");
}

/// The most bytes of a recording.
const MOST: usize = 30_000;

/// Records a batch that is killed, and compares the end with that of the recording in the book.
pub fn killed() {
    let shown = run("killed.sh");
    let mut frames: Vec<(usize, Vec<_>)> = Vec::new();
    for frame in shown.split('\u{c}').skip(1) {
        let (time, screen) = frame.split_once('\n').unwrap();
        let mut terminal = avt::Terminal::new(COLUMNS, ROWS).unwrap();
        terminal.feed(screen.trim_end().replace('\n', "\r\n").as_str());
        frames.push((time.parse().unwrap(), terminal.screen().visible_lines().cloned().collect()));
    }
    let end = frames.last().unwrap().0 + LAST;
    let next: Vec<_> = frames.iter().skip(1).map(|(time, _)| *time).chain([end]).collect();
    let frames = frames
        .into_iter()
        .zip(next)
        .map(|((time, rows), next)| Frame { milliseconds: (next - time).max(SHORTEST), rows });
    let recording = svg::recording(COLUMNS, &frames.collect::<Vec<_>>());
    assert!(recording.len() < MOST, "{} bytes", recording.len());

    let path = docs().join("pictures/killed.svg");
    if is_session() {
        fs::write(path, recording).unwrap();
        return;
    }
    // How far the progress bar is when the batch is killed differs.
    let shown = |svg: &str| {
        let lines = svg.split("</desc>").next().unwrap().lines();
        let lines = lines.map(|line| line.split(['█', '░']).next().unwrap());
        lasting(&lines.collect::<Vec<_>>().join("\n"))
    };
    let (before, now) = (shown(&fs::read_to_string(path).unwrap()), shown(&recording));
    assert!(before == now, "docs/pictures/killed.svg: run `cargo xtask session`; now:\n{now}");
}

/// Runs a script, and compares what its terminal shows with the page.
fn replay(script: &str) {
    let shown = run(script);
    let path = docs().join("hours.md");
    let page = fs::read_to_string(&path).unwrap();
    let (begin, end) =
        (format!("<!-- recorded: {script} -->\n"), format!("<!-- the end of {script} -->\n"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (recorded, after) = rest.split_once(&end).unwrap();
    let block = format!("\n```text\n{shown}```\n\n");
    if is_session() {
        fs::write(path, format!("{before}{begin}{block}{end}{after}")).unwrap();
    } else {
        let same = lasting(recorded) == lasting(&block);
        assert!(same, "docs/hours.md: run `cargo xtask session`; expected:\n{block}");
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Whether recordings are written instead of compared.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn is_session() -> bool {
    env::var_os("IMAGEKILN_SESSION").is_some()
}

/// Runs a script, and returns what it prints.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn run(script: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_kiln")).parent().map(Path::to_owned);
    let others = env::var_os("PATH").unwrap_or_default();
    let paths: Vec<PathBuf> = programs.into_iter().chain(env::split_paths(&others)).collect();
    let mut command = Command::new(docs().join("hours").join(script));
    command.env_clear().env("PATH", env::join_paths(paths).unwrap()).env("LC_ALL", "C.UTF-8");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The text without numbers, ids and digests, and without the widths that depend on them.
fn lasting(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut lasting = String::new();
    for word in text.split_inclusive(|c: char| !is_word(c)) {
        let (word, end) = word.split_at(word.trim_end_matches(|c: char| !is_word(c)).len());
        let has_digit = word.chars().any(|c| c.is_ascii_digit());
        lasting += if has_digit { "N" } else { word };
        lasting += if end == " " && lasting.ends_with(' ') { "" } else { end };
    }
    lasting
}
