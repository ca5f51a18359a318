//! Several pictures from one command.

use crate::{
    assert_shown,
    bench::{AGES, Bench},
    terminal::Terminal,
};

const FOXES: [&str; 6] = ["generate", "a red fox", "--seed=1..3", "-s=64x64", "-o", "{seed}.{ext}"];

/// A command that works on two of three tasks.
fn started(bench: &Bench) -> Terminal {
    bench.place.configure("max_active = 2");
    let mut terminal = Terminal::start(bench.kiln(&FOXES));
    terminal.until("0 of 3 saved, 2 active");
    terminal.until_it("two tasks", |terminal| terminal.text().matches("submitted").count() == 2);
    terminal
}

/// The lines of the terminal, sorted, because the tasks do not wait for each other. The pictures
/// are one line.
fn sorted(terminal: &Terminal) -> String {
    let text = terminal.text();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup_by(|one, other| one.starts_with('▀') && other.starts_with('▀'));
    lines.join("\n")
}

#[test]
fn the_progress_counts_the_pictures() {
    let bench = Bench::ready_after(AGES);
    let mut terminal = started(&bench);
    bench.simulator.clock().advance(AGES);
    terminal.until("2 of 3 saved, 1 active");
    terminal.until_it("the last", |terminal| terminal.text().matches("submitted").count() == 3);
    bench.simulator.clock().advance(AGES);
    terminal.end().ok();
    assert_shown!("several", sorted(&terminal));
    assert!(terminal.shows_cursor());
}

#[test]
fn a_person_is_asked_about_many_pictures() {
    const QUESTION: &str = "Make 3 pictures, whose price is not known? [y/N]:";
    let bench = Bench::new();
    bench.place.configure("ask_above = 2");
    for (answer, exit, accepted) in [("\r", 130, 0), ("no\r", 130, 0), ("y\r", 0, 3)] {
        let mut terminal = Terminal::start(bench.kiln(&FOXES));
        terminal.until(QUESTION);
        terminal.press(answer);
        terminal.end().fails(exit);
        assert_eq!(bench.simulator.counts().accepted, accepted);
    }
}

#[test]
fn a_person_is_asked_whether_single_words_are_prompts() {
    let bench = Bench::new();
    for (answer, exit, accepted) in [("\r", 130, 0), ("y\r", 0, 2)] {
        let mut terminal = Terminal::start(bench.kiln("generate fox owl -s=64x64 -o {seed}.{ext}"));
        terminal.until("Make 2 pictures, of `fox` and `owl`? [y/N]:");
        terminal.press(answer);
        terminal.end().fails(exit);
        assert_eq!(bench.simulator.counts().accepted, accepted);
    }
}

#[test]
fn ctrl_c_says_what_continues_and_leaves_a_clean_terminal() {
    let bench = Bench::ready_after(AGES);
    let mut terminal = started(&bench);
    terminal.interrupt();
    terminal.end().fails(130);
    let text = terminal.text();
    assert!(!text.contains(" active"), "{text}");
    assert!(text.contains("\nadvice: `kiln resume`"), "{text}");
    assert!(terminal.shows_cursor());
    bench.simulator.clock().advance(AGES);
    bench.run("resume").ok();
    assert_eq!(bench.place.files().len(), 2);
}
