//! `--show`: pictures on the terminal.

use std::{process::Command, str};

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::json;

use crate::{
    bench::{Bench, Outcome, Place},
    server::Server,
    terminal::{Piped, Setup, Terminal},
};

/// Two rows of pixels, and half a row.
const BLOCKS: &str = "\
\u{1b}[38;2;255;0;0;48;2;0;0;255m▀\u{1b}[38;2;0;255;0;48;2;9;8;7m▀\u{1b}[0m\r\n\
\u{1b}[38;2;1;2;3m▀\u{1b}[38;2;4;5;6m▀\u{1b}[0m\r\n";

/// What asks the terminal.
const QUESTION: &str = "\u{1b}_Gi=1,s=1,v=1,a=q,t=d,f=24;AAAA\u{1b}\\\u{1b}[c";

fn picture() -> RgbImage {
    let rows = [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 8, 7]], [[1, 2, 3], [4, 5, 6]]];
    RgbImage::from_fn(2, 3, |x, y| Rgb(rows[y as usize][x as usize]))
}

fn encoded(picture: &RgbImage) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// A service with a task that is ready, and a directory.
struct Gallery {
    place: Place,
    server: Server,
}

impl Gallery {
    fn new() -> Self {
        Self { place: Place::new(), server: Server::new() }
    }

    /// Saves the picture of the task.
    fn save(&self, flags: &[&str]) -> Command {
        let url = format!("{}/poll", self.server.url());
        let task = json!({ "id": "t1", "polling_url": url }).to_string();
        let words = ["task", "save", &task, "--output", "fox.png", "--show"];
        let mut command = self.place.kiln(&[&words, flags].concat());
        self.server.point(&mut command).env("COLORTERM", "truecolor");
        command
    }

    /// Responds to the poll and the download.
    fn deliver(&self, picture: &RgbImage) {
        let ready =
            json!({ "status": "Ready", "result": { "sample": self.server.url() + "/fox.png" } });
        self.server.next().respond(200, &ready);
        self.server.next().send(&encoded(picture));
    }
}

/// What a terminal with these variables receives.
fn written(variables: &[(&str, &str)], picture: &RgbImage) -> String {
    let gallery = Gallery::new();
    let mut command = gallery.save(&[]);
    command.envs(variables.iter().copied());
    let mut terminal = Terminal::start(command);
    gallery.deliver(picture);
    terminal.end().ok();
    terminal.raw().to_owned()
}

/// What a terminal receives that responds like this to the question.
fn written_after(response: &str, picture: &RgbImage) -> String {
    let gallery = Gallery::new();
    let mut terminal = Terminal::start(gallery.save(&[]));
    terminal.until_it("the question", |terminal| terminal.raw().contains(QUESTION));
    assert!(!terminal.echoes());
    terminal.press(response);
    gallery.deliver(picture);
    terminal.end().ok();
    assert!(terminal.echoes());
    let (_, after) = terminal.raw().split_once(QUESTION).unwrap();
    after.to_owned()
}

/// The picture in kitty's protocol.
fn of_kitty(text: &str) -> RgbImage {
    let (_, data) = text.split_once("\u{1b}_Ga=T,f=100,q=2,").unwrap();
    let data: String = data
        .split("\u{1b}_G")
        .map(|sequence| {
            let (keys, data) = sequence.split_once(';').unwrap();
            let (data, after) = data.split_once("\u{1b}\\").unwrap();
            assert!(data.len() <= 4096);
            assert_eq!(keys.contains("m=0"), !after.is_empty(), "{keys}");
            data
        })
        .collect();
    image::load_from_memory(&BASE64_STANDARD.decode(data).unwrap()).unwrap().to_rgb8()
}

#[test]
fn half_blocks_are_shown_where_nothing_better_is_known() {
    let text = written(&[("TERM", "linux")], &picture());
    assert!(text.ends_with(BLOCKS), "{text:?}");
    let text = written(&[("TERM", "linux"), ("COLORTERM", "")], &picture());
    assert!(text.contains("\u{1b}[38;5;196;48;5;21m▀"), "{text:?}");
    // A terminal that shows neither says so.
    let text = written_after("\u{1b}_Gi=1;ENOTSUP:no\u{1b}\\\u{1b}[?62;22c", &picture());
    assert!(text.ends_with(BLOCKS), "{text:?}");
}

#[test]
fn a_terminal_that_does_not_respond_shows_half_blocks() {
    let text = written_after("", &picture());
    assert!(text.ends_with(BLOCKS), "{text:?}");
}

#[test]
fn kitty_shows_a_png() {
    assert_eq!(of_kitty(&written(&[("TERM", "xterm-kitty")], &picture())), picture());
    assert_eq!(
        of_kitty(&written_after("\u{1b}_Gi=1;OK\u{1b}\\\u{1b}[?62;4c", &picture())),
        picture()
    );
    // Noise is too large for one sequence.
    let noise = RgbImage::from_fn(90, 80, |x, y| {
        let noise = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
        Rgb([noise >> 8, noise >> 16, noise >> 24].map(|channel| channel as u8))
    });
    assert_eq!(of_kitty(&written(&[("TERM", "xterm-kitty")], &noise)), noise);
}

#[test]
fn iterm2_shows_a_png() {
    let text = written(&[("TERM_PROGRAM", "iTerm.app")], &picture());
    let (_, sequence) = text.split_once("\u{1b}]1337;File=inline=1;size=").unwrap();
    let (head, data) = sequence.split_once(':').unwrap();
    let (data, _) = data.split_once('\u{7}').unwrap();
    let data = BASE64_STANDARD.decode(data).unwrap();
    assert_eq!(head, format!("{};width=1;height=1;preserveAspectRatio=1", data.len()));
    assert_eq!(image::load_from_memory(&data).unwrap().to_rgb8(), picture());
}

#[test]
fn a_terminal_with_sixels_shows_them() {
    let picture = RgbImage::from_fn(60, 36, |x, y| Rgb([(x * 4) as u8, (y * 7) as u8, 90]));
    let text = written_after("\u{1b}[?62;4;22c", &picture);
    let at = text.find("\u{1b}P").unwrap();
    let (pixels, width, height) = icy_sixel::sixel_decode(&text.as_bytes()[at..]).unwrap();
    assert_eq!((width, height), (60, 36));
    // The colours are mixed from a palette.
    let differences = picture
        .pixels()
        .zip(pixels.chunks_exact(4))
        .flat_map(|(pixel, decoded)| (0..3).map(|at| u32::from(pixel.0[at].abs_diff(decoded[at]))));
    let mean = differences.sum::<u32>() / (60 * 36 * 3);
    assert!(mean < 12, "{mean}");
}

#[test]
fn the_picture_fits_the_terminal() {
    let gallery = Gallery::new();
    let mut command = gallery.save(&[]);
    command.env("TERM", "linux");
    let setup = Setup { columns: 30, rows: 12, ..Setup::default() };
    let mut terminal = Terminal::start_with(command, setup);
    gallery.deliver(&RgbImage::new(300, 100));
    terminal.end().ok();
    assert_eq!(rows_of_blocks(&terminal), [30; 5]);

    let gallery = Gallery::new();
    let mut command = gallery.save(&[]);
    command.env("TERM", "linux");
    let mut terminal =
        Terminal::start_with(command, Setup { columns: 30, rows: 12, ..Setup::default() });
    gallery.deliver(&RgbImage::new(100, 300));
    terminal.end().ok();
    assert_eq!(rows_of_blocks(&terminal), [7; 10]);
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
    let mut command = gallery.save(&[]);
    command.env("TERM", "linux");
    let setup = Setup { piped: Piped::Stdout, ..Setup::default() };
    let mut terminal = Terminal::start_with(command, setup);
    gallery.deliver(&picture());
    assert_eq!(terminal.end().ok().text(), "fox.png\n");
    assert!(terminal.raw().ends_with(BLOCKS), "{:?}", terminal.raw());

    // If standard error is a file, the picture is still shown.
    let gallery = Gallery::new();
    let mut command = gallery.save(&[]);
    command.env("TERM", "linux");
    let setup = Setup { piped: Piped::Stderr, ..Setup::default() };
    let mut terminal = Terminal::start_with(command, setup);
    gallery.deliver(&picture());
    let outcome = terminal.end().ok();
    assert!(outcome.stderr.starts_with("saved fox.png: PNG, 2 x 3 pixels"), "{outcome:?}");
    assert_eq!(terminal.raw(), format!("fox.png\r\n{BLOCKS}"));
}

#[test]
fn typed_text_is_left_for_the_next_program() {
    let gallery = Gallery::new();
    let mut shell = gallery.place.command("sh");
    let url = format!("{}/poll", gallery.server.url());
    let task = json!({ "id": "t1", "polling_url": url });
    let script = format!(
        "read _; {} task save '{task}' -o fox.png --show; read rest; echo \"left: $rest\"",
        env!("CARGO_BIN_EXE_kiln")
    );
    gallery.server.point(shell.args(["-c", &script]));
    let mut terminal = Terminal::start(shell);
    terminal.press("\rls");
    gallery.deliver(&picture());
    terminal.until("saved");
    terminal.press(" fox\r");
    terminal.until("left: ls fox");
    terminal.end().ok();
    assert!(!terminal.raw().contains(QUESTION), "{:?}", terminal.raw());
}

#[test]
fn ctrl_c_during_the_question_restores_the_terminal() {
    let gallery = Gallery::new();
    let mut shell = gallery.place.command("sh");
    let script = format!(
        "trap : INT; {} generate 'a fox' --show; echo \"code $?\"",
        env!("CARGO_BIN_EXE_kiln")
    );
    gallery.server.point(shell.args(["-c", &script]));
    let mut terminal = Terminal::start(shell);
    terminal.until_it("the question", |terminal| terminal.raw().contains(QUESTION));
    assert!(!terminal.echoes());
    terminal.interrupt();
    terminal.until("code 130");
    assert!(terminal.echoes());
    terminal.end().ok();
}

#[test]
fn what_can_not_be_shown_is_refused_before_anything_is_paid() {
    let bench = Bench::new();
    let refused = |words: &[&str], problem: &str| {
        let error = bench.run(&[&["--json", "generate", "a fox"], words].concat()).fails(2).error();
        assert_eq!((&error["kind"], &error["message"]), (&json!("usage"), &json!(problem)));
        assert!(error["advice"].as_str().unwrap().starts_with("nothing was sent; "), "{error}");
    };
    refused(&["--show"], "--show and --json exclude each other");
    refused(&["--open", "--output=/dev/null"], "--open needs a file");
    refused(&["--show", "--output=/dev/null"], "--show needs a file");
    let words = ["generate", "a fox", "--show"];
    let plain = |outcome: Outcome| outcome.fails(2).stderr.contains("--show needs a terminal that");
    assert!(plain(bench.run(&words)));
    let mut command = bench.kiln(&words);
    command.env("TERM", "dumb");
    let mut terminal = Terminal::start(command);
    terminal.end().fails(2);
    assert!(terminal.text().contains("--show needs a terminal that"), "{}", terminal.text());
    assert_eq!(bench.simulator.counts().accepted, 0);
}

#[test]
fn a_video_is_saved_and_not_shown() {
    let bench = Bench::new();
    let words =
        ["video", "a fox", "--size=64x64", "--extra=duration=1", "-o", "fox.webm", "--show"];
    let mut command = bench.kiln(&words);
    command.env("TERM", "linux");
    let mut terminal = Terminal::start(command);
    terminal.end().ok();
    let text = terminal.text();
    assert!(text.contains("saved fox.webm: WebM, "), "{text}");
    assert!(!text.contains("pixels"), "{text}");
    assert!(text.ends_with("can't show fox.webm in the terminal: it is a video"), "{text}");
}
