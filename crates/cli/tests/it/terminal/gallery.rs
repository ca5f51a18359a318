//! A service with one picture, for the tests of `--show`.

use std::process::Command;

use image::{ImageFormat, Rgb, RgbImage};
use serde_json::json;

use crate::{bench::Place, server::Server};
use imagekiln_testbed::picture::encoded;

/// Two rows of pixels, and half a row.
pub const BLOCKS: &str = "\
\u{1b}[38;2;255;0;0;48;2;0;0;255m▀\u{1b}[38;2;0;255;0;48;2;9;8;7m▀\u{1b}[0m\r\n\
\u{1b}[38;2;1;2;3m▀\u{1b}[38;2;4;5;6m▀\u{1b}[0m\r\n";

pub fn picture() -> RgbImage {
    let rows = [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 8, 7]], [[1, 2, 3], [4, 5, 6]]];
    RgbImage::from_fn(2, 3, |x, y| Rgb(rows[y as usize][x as usize]))
}

/// A service with a task that is ready, and a directory.
pub struct Gallery {
    pub place: Place,
    pub server: Server,
}

impl Gallery {
    pub fn new() -> Self {
        Self { place: Place::new(), server: Server::new() }
    }

    /// Saves the picture of the task, for a terminal without a protocol for pictures.
    pub fn save(&self) -> Command {
        let url = format!("{}/poll", self.server.url());
        let task = json!({ "id": "t1", "polling_url": url }).to_string();
        let words = ["task", "save", &task, "--output", "fox.png", "--show"];
        let mut command = self.place.kiln(&words);
        self.server.point(&mut command).env("TERM", "linux").env("COLORTERM", "truecolor");
        command
    }

    /// Responds to the poll and the download.
    pub fn deliver(&self, picture: &RgbImage) {
        self.deliver_file(&encoded(picture.clone(), ImageFormat::Png));
    }

    /// Responds to the poll, and to the download with this file.
    pub fn deliver_file(&self, file: &[u8]) {
        self.server.next().respond(200, &self.server.ready());
        self.server.next().send(file);
    }
}
