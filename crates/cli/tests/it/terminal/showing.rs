//! `--show`: which pictures are shown, where, and how large.

use image::RgbImage;

use crate::{
    bench::Bench,
    terminal::{
        Piped, Setup, Terminal,
        gallery::{BLOCKS, Gallery, picture},
    },
};

#[test]
fn the_picture_fits_the_terminal() {
    for (width, height, rows) in [(300, 100, &[30; 5][..]), (100, 300, &[7; 10])] {
        let gallery = Gallery::new();
        let setup = Setup { columns: 30, rows: 12, ..Setup::default() };
        let mut terminal = Terminal::start_with(gallery.save(), setup);
        gallery.deliver(&RgbImage::new(width, height));
        terminal.end().ok();
        assert_eq!(rows_of_blocks(&terminal), rows);
    }
}

/// The number of blocks in each row of the picture.
fn rows_of_blocks(terminal: &Terminal) -> Vec<usize> {
    let rows = terminal.screen();
    let counts = rows.lines().map(|row| row.matches('▀').count());
    counts.filter(|count| *count > 0).collect()
}

#[test]
fn standard_output_keeps_only_the_path() {
    let gallery = Gallery::new();
    let setup = Setup { piped: Piped::Stdout, ..Setup::default() };
    let mut terminal = Terminal::start_with(gallery.save(), setup);
    gallery.deliver(&picture());
    assert_eq!(terminal.end().ok().text(), "fox.png\n");
    assert!(terminal.raw().ends_with(BLOCKS), "{:?}", terminal.raw());

    // If standard error is a file, the picture is still shown.
    let gallery = Gallery::new();
    let setup = Setup { piped: Piped::Stderr, ..Setup::default() };
    let mut terminal = Terminal::start_with(gallery.save(), setup);
    gallery.deliver(&picture());
    let outcome = terminal.end().ok();
    assert!(outcome.stderr.starts_with("saved fox.png: PNG, 2 x 3 pixels"), "{outcome:?}");
    assert_eq!(terminal.raw(), format!("fox.png\r\n{BLOCKS}"));
}

#[test]
fn a_picture_of_the_history_is_shown_with_its_facts() {
    let bench = Bench::new();
    bench.run("generate 'a fox' -s=64x64 -o fox.jpg").ok();
    let shown = |words: &[&str]| {
        let mut command = bench.kiln(&[&["show", "@1"], words].concat());
        command.env("TERM", "linux");
        let mut terminal = Terminal::start(command);
        terminal.end().ok();
        terminal
    };
    let terminal = shown(&[]);
    assert!(!rows_of_blocks(&terminal).is_empty(), "{}", terminal.screen());
    assert!(terminal.text().contains("a fox"), "{}", terminal.text());
    assert!(rows_of_blocks(&shown(&["--info"])).is_empty());
    std::fs::remove_file(bench.place.path("fox.jpg")).unwrap();
    let gone = shown(&[]);
    assert!(gone.text().contains("the file of @1 was deleted or moved: `kiln"), "{}", gone.text());
    assert!(gone.text().contains("a fox"), "{}", gone.text());
}

/// A person compares them without a scroll.
#[test]
fn several_pictures_are_a_grid_with_their_numbers() {
    let bench = Bench::new();
    let screen = |words: &[&str]| {
        let mut command = bench.kiln(words);
        command.env("TERM", "linux");
        let setup = Setup { columns: 80, rows: 24, ..Setup::default() };
        let mut terminal = Terminal::start_with(command, setup);
        terminal.end().ok();
        terminal
    };
    let words = ["-m", "gen-2-flex", "--vary", "guidance=3,5", "-n", "2", "-o", "{index}.png"];
    let made = screen(&[&["generate", "a fox", "-s", "64x64"], &words[..]].concat());
    let text = made.screen();
    let labels: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with('@'))
        .map(|line| line.split("  ").map(str::trim).filter(|label| !label.is_empty()).collect())
        .collect();
    let expected = [["@1 guidance 3", "@2 guidance 3"], ["@3 guidance 5", "@4 guidance 5"]];
    assert_eq!(labels, expected, "{text}");
    let rows = rows_of_blocks(&made);
    assert!(rows.len() == 20 && rows.iter().all(|blocks| *blocks == 2 * 20), "{rows:?}");
    let shown = screen(&["show", "@1", "@2", "@3", "@4", "--info"]);
    assert!(rows_of_blocks(&shown).is_empty() && shown.text().contains("number         @4"));
    let shown = screen(&["show", "@3", "@4"]).text();
    let (pictures, facts) = shown.split_once("number ").unwrap();
    assert!(pictures.lines().any(|line| line.starts_with("@3") && line.ends_with("@4")), "{shown}");
    assert!(facts.contains("@3") && facts.contains("\nnumber "), "{shown}");
    // Programs, and people who want silence, get none.
    let quiet = screen(&["--quiet", "generate", "a fox", "-s", "64x64", "-n", "2", "-o", "."]);
    assert!(rows_of_blocks(&quiet).is_empty());
}

#[test]
fn a_terminal_without_pictures_is_named_before_anything_is_paid() {
    let bench = Bench::new();
    let mut command = bench.kiln("generate 'a fox' --show");
    command.env("TERM", "dumb");
    let mut terminal = Terminal::start(command);
    terminal.end().fails(2);
    assert!(terminal.text().contains("--show needs a terminal that"), "{}", terminal.text());
    assert_eq!(bench.simulator.counts().accepted, 0);
}

#[test]
fn a_video_is_saved_and_not_shown() {
    let bench = Bench::new();
    let line = "tool video 'a fox' --size=64x64 --extra=duration=1 -o fox.webm --show";
    let mut command = bench.kiln(line);
    command.env("TERM", "linux");
    let mut terminal = Terminal::start(command);
    terminal.end().ok();
    let text = terminal.text();
    assert!(text.contains("saved fox.webm: WebM, "), "{text}");
    assert!(!text.contains("pixels"), "{text}");
    assert!(text.ends_with("can't show fox.webm in the terminal: it is a video"), "{text}");
}

#[test]
fn a_format_without_a_decoder_is_saved_and_not_shown() {
    let gallery = Gallery::new();
    let mut terminal = Terminal::start(gallery.save());
    gallery.deliver_file(
        b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;",
    );
    terminal.end().ok();
    let text = terminal.text();
    assert!(text.contains("saved fox.gif: GIF, 1 x 1 pixels, 35 bytes"), "{text}");
    assert!(text.contains("can't show fox.gif in the terminal: "), "{text}");
}

#[test]
fn every_resumed_picture_is_shown_below_its_line() {
    let bench = Bench::new();
    for name in ["one.png", "two.png"] {
        let words = ["--prompt=a fox", "--width=64", "--height=64", "--output", name];
        bench.run(&[&["task", "submit", "gen-2-pro"][..], &words].concat()).ok();
    }
    let mut command = bench.kiln("resume --show");
    // --show asks for colour.
    command.env("TERM", "linux").env("NO_COLOR", "1");
    let setup = Setup { rows: 10, ..Setup::default() };
    let mut terminal = Terminal::start_with(command, setup);
    terminal.end().ok();
    let screen = terminal.screen();
    let rows: Vec<&str> = screen.lines().collect();
    assert_eq!(rows.len(), 18, "{screen}");
    for (at, row) in rows.iter().enumerate() {
        match at % 9 {
            0 => assert!(row.starts_with("saved ") && row.contains(".png: PNG, 64 x 64"), "{row}"),
            _ => assert_eq!(*row, "▀".repeat(16)),
        }
    }
}
