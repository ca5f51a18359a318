//! The bars of `kiln batch run`.

use crate::{
    assert_shown,
    batch::stopping::RUN,
    bench::{AGES, Bench},
    terminal::{Setup, Terminal},
};

/// Waits until the last lines are the bars, with this state.
#[track_caller]
fn until_bars(terminal: &mut Terminal, state: &str) {
    terminal.until_it(state, |terminal| {
        let text = terminal.text();
        text.lines().last().is_some_and(|line| line.contains(state))
    });
}

#[test]
fn bars_are_shown_and_removed() {
    let bench = Bench::ready_after(AGES);
    let mut terminal = Terminal::start(bench.kiln(RUN));
    until_bars(&mut terminal, "submitted 1");
    assert!(terminal.text().contains("0/2 jobs"), "{}", terminal.text());
    bench.simulator.clock().advance(AGES);
    until_bars(&mut terminal, "submitted 1, saved 1");
    bench.simulator.clock().advance(AGES);
    terminal.end().ok();
    assert_shown!("batch", terminal.text());
    assert!(terminal.shows_cursor());
}

#[test]
fn a_job_without_a_picture_is_reported_above_the_bars() {
    let bench = Bench::ready_after(AGES);
    let owl = "--prompt 'an owl [[request-moderated]]' --max-active=3";
    let mut terminal = Terminal::start(bench.kiln(&RUN.replace("--max-active=1", owl)));
    until_bars(&mut terminal, "submitted 3");
    bench.simulator.clock().advance(AGES);
    terminal.end().fails(5);
    assert_shown!("batch_moderated", terminal.text());
}

#[test]
fn ctrl_c_leaves_no_bars() {
    let bench = Bench::ready_after(AGES);
    let mut terminal = Terminal::start(bench.kiln(RUN));
    until_bars(&mut terminal, "submitted 1");
    terminal.interrupt();
    terminal.until("stopping: no more jobs are submitted");
    until_bars(&mut terminal, "submitted 1");
    terminal.interrupt();
    terminal.end().fails(130);
    assert_shown!("batch_interrupted", terminal.text());
    assert!(terminal.shows_cursor());
}

#[test]
fn a_terminal_that_becomes_narrower_keeps_no_old_bars() {
    let bench = Bench::ready_after(AGES);
    // The bars are on the last rows of the screen.
    let setup = Setup { rows: 4, ..Setup::default() };
    let line = format!("echo 1; echo 2; exec kiln {RUN}");
    let mut terminal = Terminal::start_with(bench.shell_command(&line), setup);
    until_bars(&mut terminal, "submitted 1");
    for (columns, rows) in [(30, 4), (15, 8), (100, 5), (43, 4)] {
        terminal.resize(columns, rows);
        let before = terminal.raw().len();
        // The next frame is drawn at the new width, and on the lines of the old one.
        terminal.until_it("bars on two lines", |terminal| {
            let text = terminal.text();
            let lines: Vec<_> = text.lines().collect();
            terminal.raw()[before..].contains("queu")
                && lines.len() == 4
                && lines[2..].iter().all(|line| line.chars().count() < columns.into())
        });
    }
    bench.simulator.clock().advance(AGES);
    until_bars(&mut terminal, "submitted 1, saved 1");
    bench.simulator.clock().advance(AGES);
    terminal.end().ok();
    assert_eq!(
        terminal.text(),
        "1\n2\nSTATE  JOBS  CREDITS  MODEL\nsaved     2     6.00  gen-2-pro",
        "{}",
        terminal.screen()
    );
}
