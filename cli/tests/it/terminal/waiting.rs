//! The line that shows the progress while a command waits.

use crate::{
    bench::{AGES, Bench},
    terminal::{Piped, Setup, Terminal},
};

const FOX: [&str; 9] = [
    "run",
    "gen-2-pro",
    "--prompt",
    "a fox",
    "--width=64",
    "--height=64",
    "--output",
    "fox.png",
    "--deadline=1h",
];

/// What the terminal shows after a task that nobody interrupted.
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
    let mut terminal = Terminal::start(bench.kiln(&FOX));
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
    let mut terminal = Terminal::start_with(bench.kiln(&FOX), piped);
    terminal.until("Pending");
    bench.simulator.clock().advance(AGES);
    let outcome = terminal.end().ok();
    assert_eq!((terminal.text(), outcome.text()), (saved(&bench), "fox.png\n".to_owned()));
}

#[test]
fn nothing_moves_if_nobody_watches() {
    let plain: [(&[&str], Piped); 4] = [
        (&["--quiet"], Piped::Nothing),
        (&["--json"], Piped::Nothing),
        (&["--verbose"], Piped::Nothing),
        (&[], Piped::Stderr),
    ];
    for (flags, piped) in plain {
        let bench = Bench::new();
        let words = [&FOX, flags].concat();
        let setup = Setup { piped, ..Setup::default() };
        let mut command = bench.kiln(&words);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::start_with(command, setup);
        terminal.end().ok();
        let raw = terminal.raw().replace("\r\n", "\n");
        assert!(!raw.contains(['\r', '\u{1b}', '\u{8}']), "{flags:?}: {raw:?}");
        assert!(raw.contains("fox.png"), "{flags:?}: {raw:?}");
    }
}
