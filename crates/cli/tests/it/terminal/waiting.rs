//! The line that shows the progress while a command waits.

use crate::{
    assert_shown,
    bench::{AGES, Bench, Place},
    running::resume_command,
    server::Server,
    terminal::{Piped, Setup, Terminal},
};

const FOX: &str = "run gen-2-pro --prompt 'a fox' -s 64x64 --seed=7 --output fox.png --deadline=1h";

/// The terminal after a task that nobody interrupted.
fn saved(bench: &Bench) -> String {
    format!(
        "submitted task {} to gen-2-pro (3 credits)\n\
         saved fox.png: PNG, 64 x 64 pixels, 6 kB, 3 credits",
        bench.simulator.tasks()[0].id
    )
}

#[test]
fn the_progress_is_shown_while_a_task_waits_and_removed_afterwards() {
    let bench = Bench::ready_after(AGES);
    let mut terminal = Terminal::start(bench.kiln(FOX));
    terminal.until("Pending");
    let (row, _) = terminal.cursor();
    assert!(row <= 1, "{}", terminal.screen());
    bench.simulator.clock().advance(AGES);
    terminal.end().ok();
    assert_eq!(terminal.text(), saved(&bench));
    assert!(terminal.shows_cursor());
    assert_eq!(terminal.cursor(), (2, 0));
}

#[test]
fn the_progress_is_shown_while_the_result_goes_to_a_pipe() {
    let bench = Bench::ready_after(AGES);
    let piped = Setup { piped: Piped::Stdout, ..Setup::default() };
    let mut terminal = Terminal::start_with(bench.kiln(FOX), piped);
    terminal.until("Pending");
    bench.simulator.clock().advance(AGES);
    let outcome = terminal.end().ok();
    assert_eq!((terminal.text(), outcome.text()), (saved(&bench), "fox.png\n".to_owned()));
}

#[test]
fn nothing_moves_if_nobody_watches() {
    for (flags, piped, term) in [
        ("--quiet", Piped::Nothing, "xterm"),
        ("--json", Piped::Nothing, "xterm"),
        ("--verbose", Piped::Nothing, "xterm"),
        ("", Piped::Stderr, "xterm"),
        // It cannot move its cursor.
        ("", Piped::Nothing, "dumb"),
    ] {
        let bench = Bench::new();
        let setup = Setup { piped, ..Setup::default() };
        let mut command = bench.kiln(&format!("{FOX} {flags}"));
        command.env("NO_COLOR", "1").env("TERM", term);
        let mut terminal = Terminal::start_with(command, setup);
        let outcome = terminal.end().ok();
        let raw = terminal.raw().replace("\r\n", "\n") + &outcome.stderr;
        assert!(!raw.contains(['\r', '\u{1b}', '\u{8}']), "{flags:?}: {raw:?}");
        assert!(raw.contains("fox.png"), "{flags:?}: {raw:?}");
    }
}

#[test]
fn ctrl_c_while_a_task_waits_leaves_a_clean_terminal() {
    let bench = Bench::ready_after(AGES);
    let mut terminal = Terminal::start(bench.kiln(FOX));
    terminal.until("Pending");
    terminal.interrupt();
    terminal.end().fails(130);
    assert_shown!("interrupted", terminal.text());
    assert!(terminal.shows_cursor() && terminal.echoes());
    bench.simulator.clock().advance(AGES);
    bench.shell(resume_command(&terminal.text())).ok();
}

#[test]
fn ctrl_c_twice_during_a_submission_leaves_a_clean_terminal() {
    let (place, server) = (Place::new(), Server::new());
    let mut command = place.kiln(FOX);
    server.point(&mut command);
    let mut terminal = Terminal::start(command);
    let _post = server.next();
    terminal.until("submitting to gen-2-pro");
    terminal.interrupt();
    terminal.until("finishing the submission");
    terminal.until_it("the progress below", |terminal| {
        terminal.text().lines().last().is_some_and(|line| line.contains("submitting to gen-2-pro"))
    });
    terminal.interrupt();
    terminal.end().fails(8);
    assert_shown!("abandoned", terminal.text());
    assert!(terminal.shows_cursor());
}

#[test]
fn a_terminal_that_becomes_narrower_keeps_no_old_progress() {
    let bench = Bench::ready_after(AGES);
    // The progress is on the last row of the screen.
    let line = format!("echo before; exec kiln {FOX}");
    let setup = Setup { rows: 3, ..Setup::default() };
    let mut terminal = Terminal::start_with(bench.shell_command(&line), setup);
    terminal.until("Pending");
    for (columns, rows) in [(30, 3), (20, 8), (100, 5), (43, 4)] {
        terminal.resize(columns, rows);
        let before = terminal.raw().len();
        // The next frame is drawn at the new width, and on the line of the old one.
        terminal.until_it("the progress on one line", |terminal| {
            let text = terminal.text();
            let lines: Vec<_> = text.lines().collect();
            terminal.raw()[before..].contains("task")
                && lines.len() == 3
                && lines[2].chars().count() < columns.into()
                && (columns > 20 || lines[2].contains("... ("))
        });
    }
    bench.simulator.clock().advance(AGES);
    terminal.end().ok();
    assert_eq!(terminal.text(), format!("before\n{}", saved(&bench)));
}

#[test]
fn a_resumed_picture_is_printed_above_the_progress() {
    let bench = Bench::ready_after(AGES);
    for name in ["fox.png", "wolf.png"] {
        let submit = "task submit gen-2-pro --prompt 'a fox' -s 64x64 --seed=7 --output";
        bench.run(&format!("{submit} {name}")).ok();
    }
    let mut terminal = Terminal::start(bench.kiln("resume"));
    terminal.until("wait for: 2");
    bench.simulator.clock().advance(AGES);
    terminal.end().ok();
    let text = terminal.text();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    let saved = ["fox", "wolf"]
        .map(|name| format!("saved {name}.png: PNG, 64 x 64 pixels, 6 kB, 3 credits"));
    assert_eq!(lines, saved);
}
