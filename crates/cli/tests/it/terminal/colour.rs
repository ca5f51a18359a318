//! The colours of the output, and the settings that turn them off.

use std::process::Command;

use avt::Color;

use crate::{
    bench::{Bench, Place},
    terminal::{Piped, Setup, Terminal},
};

const RED: Option<Color> = Some(Color::Indexed(1));
const GREEN: Option<Color> = Some(Color::Indexed(2));
const YELLOW: Option<Color> = Some(Color::Indexed(3));
const CYAN: Option<Color> = Some(Color::Indexed(6));

/// Commands that end at once, and what each of them colours.
const COLOURED: [(&[&str], &str); 4] = [
    (&["generate", "a fox"], "error:"),
    (&["generate", "a fox", "--nonsense"], "error:"),
    (&["run", "gen-2-prp"], "error:"),
    (&["models"], "MODEL"),
];

/// The output of a command on a terminal.
fn written(command: Command) -> String {
    let mut terminal = Terminal::start(command);
    terminal.end();
    terminal.raw().to_owned()
}

#[test]
fn the_words_that_matter_are_coloured_on_a_terminal() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln("generate 'a fox'"));
    terminal.end().fails(2);
    assert_eq!(terminal.pen("error:").foreground(), RED);
    assert_eq!(terminal.pen("advice:").foreground(), CYAN);
    assert!(terminal.pen("error:").is_bold() && terminal.pen("run `kiln setup`").is_default());

    let bench = Bench::new();
    bench.place.write("fox.png", "another fox");
    let mut terminal =
        Terminal::start(bench.kiln("generate 'a fox' --width=64 --height=64 -o fox.png"));
    terminal.end().ok();
    assert_eq!(terminal.pen("warning:").foreground(), YELLOW);
    assert_eq!(terminal.pen("fox-2.png: PNG").foreground(), GREEN);
    assert!(terminal.pen(": PNG").is_default() && terminal.pen("saved fox-2").is_default());
}

#[test]
fn help_and_tables_have_headings_on_a_terminal() {
    let place = Place::new();
    for (words, heading) in [(["models"].as_slice(), "MODEL"), (&["--help"], "Make")] {
        let mut terminal = Terminal::start(place.kiln(words));
        terminal.end().ok();
        assert!(terminal.pen(heading).is_bold(), "{words:?}");
    }
    let mut terminal = Terminal::start(place.kiln("models"));
    terminal.end().ok();
    assert!(terminal.pen("gen-2-pro").is_default());
}

#[test]
fn no_color_turns_colour_off() {
    let place = Place::new();
    for (words, coloured) in COLOURED {
        let mut command = place.kiln(words);
        command.env("NO_COLOR", "1");
        let text = written(command);
        assert!(text.contains(coloured) && !text.contains('\u{1b}'), "{words:?}: {text:?}");
        // An empty variable counts as unset.
        let mut command = place.kiln(words);
        command.env("NO_COLOR", "");
        let text = written(command);
        assert!(text.contains('\u{1b}'), "{words:?}: {text:?}");
        let mut command = place.kiln(words);
        command.env("TERM", "dumb");
        let text = written(command);
        assert!(text.contains(coloured) && !text.contains('\u{1b}'), "{words:?}: {text:?}");
    }
}

#[test]
fn json_is_never_coloured() {
    let bench = Bench::new();
    bench.place.write("fox.png", "another fox");
    for words in [
        &["generate", "a fox", "--width=64", "--height=64", "-o", "fox.png"][..],
        &["generate", "a fox", "--nonsense"],
        &["generate", ""],
        &["models"],
        &["history"],
    ] {
        let mut command = bench.kiln(&[words, &["--json"]].concat());
        command.env("CLICOLOR_FORCE", "1");
        let text = written(command);
        assert!(text.starts_with(['{', '[']), "{words:?}: {text:?}");
        // JSON escapes control characters.
        let has_colour = text.contains('\u{1b}') || text.contains("u001b");
        assert!(!has_colour, "{words:?}: {text:?}");
    }
}

#[test]
fn pipes_are_coloured_only_by_force() {
    let place = Place::new();
    for (words, coloured) in COLOURED {
        let to_stdout = words == ["models"];
        let piped = if to_stdout { Piped::Stdout } else { Piped::Stderr };
        for force in [false, true] {
            let mut command = place.kiln(words);
            if force {
                command.env("CLICOLOR_FORCE", "1");
            }
            let setup = Setup { piped, ..Setup::default() };
            let outcome = Terminal::start_with(command, setup).end();
            let text = if to_stdout { outcome.text() } else { outcome.stderr };
            assert!(text.contains(coloured), "{words:?}: {text:?}");
            assert_eq!(text.contains('\u{1b}'), force, "{words:?}: {text:?}");
        }
    }
}
