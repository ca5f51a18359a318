//! `--show`: the terminal is recognised or asked, and then receives the picture.

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{Rgb, RgbImage};
use serde_json::json;

use crate::terminal::{
    Terminal,
    gallery::{BLOCKS, Gallery, QUESTION, picture},
};

/// The bytes that a terminal with these variables receives.
fn written(variables: &[(&str, &str)], picture: &RgbImage) -> String {
    let gallery = Gallery::new();
    let mut command = gallery.save();
    command.envs(variables.iter().copied());
    let mut terminal = Terminal::start(command);
    gallery.deliver(picture);
    terminal.end().ok();
    terminal.raw().to_owned()
}

/// The bytes that a terminal with this response to the question receives.
fn written_after(response: &str, picture: &RgbImage) -> String {
    let gallery = Gallery::new();
    let mut terminal = Terminal::start(gallery.save());
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
