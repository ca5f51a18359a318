//! The first hours in `docs/hours.md`, typed by the scripts in `docs/hours`. `cargo xtask session`
//! records them again.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

pub fn liked() {
    replay("liked.sh");
}

pub fn many() {
    replay("many.sh");
}

/// Runs a script, and compares what its terminal shows with the page.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn replay(script: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let programs = Path::new(env!("CARGO_BIN_EXE_kiln")).parent().map(Path::to_owned);
    let others = env::var_os("PATH").unwrap_or_default();
    let paths: Vec<PathBuf> = programs.into_iter().chain(env::split_paths(&others)).collect();
    let mut command = Command::new(docs.join("hours").join(script));
    command.env_clear().env("PATH", env::join_paths(paths).unwrap()).env("LC_ALL", "C.UTF-8");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();

    let path = docs.join("hours.md");
    let page = fs::read_to_string(&path).unwrap();
    let (begin, end) =
        (format!("<!-- recorded: {script} -->\n"), format!("<!-- the end of {script} -->\n"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (recorded, after) = rest.split_once(&end).unwrap();
    let block = format!("\n```text\n{shown}```\n\n");
    if env::var_os("IMAGEKILN_SESSION").is_some() {
        fs::write(path, format!("{before}{begin}{block}{end}{after}")).unwrap();
    } else {
        let same = lasting(recorded) == lasting(&block);
        assert!(same, "docs/hours.md: run `cargo xtask session`; expected:\n{block}");
    }
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
