//! `--show`: the terminal is recognised, and receives the picture in its protocol.

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{Rgb, RgbImage};

use crate::terminal::{
    Terminal,
    gallery::{BLOCKS, Gallery, picture},
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
    let text = written(&[], &picture());
    assert!(text.ends_with(BLOCKS), "{text:?}");
    let text = written(&[("COLORTERM", "")], &picture());
    assert!(text.contains("\u{1b}[38;5;196;48;5;21m▀"), "{text:?}");
}

#[test]
fn kitty_shows_a_png() {
    assert_eq!(of_kitty(&written(&[("TERM", "xterm-kitty")], &picture())), picture());
    // Noise is too large for one sequence.
    let noise = RgbImage::from_fn(90, 80, |x, y| {
        let noise = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
        Rgb([noise >> 8, noise >> 16, noise >> 24].map(|channel| channel as u8))
    });
    assert_eq!(of_kitty(&written(&[("TERM", "xterm-kitty")], &noise)), noise);
}

#[test]
fn iterm2_shows_a_png() {
    let text = written(&[("TERM_PROGRAM", "iTerm.app"), ("TERM", "xterm-256color")], &picture());
    let (_, sequence) = text.split_once("\u{1b}]1337;File=inline=1;size=").unwrap();
    let (head, data) = sequence.split_once(':').unwrap();
    let (data, _) = data.split_once('\u{7}').unwrap();
    let data = BASE64_STANDARD.decode(data).unwrap();
    assert_eq!(head, format!("{};width=1;height=1;preserveAspectRatio=1", data.len()));
    assert_eq!(image::load_from_memory(&data).unwrap().to_rgb8(), picture());
}
