//! The pictures of the book. `cargo xtask session` writes them, and the tests compare them, but not
//! those of pages that show the time, which always differ.

use std::{env, fs, path::Path};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;
use tokio::runtime::Runtime;

use super::root;
use crate::bench::Place;
use imagekiln_testbed::browser::Browser;

/// The page that a command of `docs/fleet.md` writes. It shows ids and the time.
const SHEET: &str = "pictures/report.html";
const SHEET_PICTURE: &str = "docs/pictures/contact-sheet.png";

/// The page that a command of `docs/making.md` writes, in the directory of the state.
const GALLERY: &str = "gallery/index.html";
const GALLERY_PICTURE: &str = "docs/pictures/gallery.png";

/// The pictures that commands on the page do not make.
const OTHERS: [&str; 6] = [
    "first-picture.svg",
    "pictures/contact-sheet.png",
    "pictures/gallery.png",
    "pictures/killed.svg",
    "pictures/requests.png",
    "simulator-page.png",
];

/// Whether pictures are written instead of compared.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
pub fn is_session() -> bool {
    env::var_os("IMAGEKILN_SESSION").is_some()
}

/// Compares the pictures and videos that a page shows with those that its commands have made.
pub fn compare(place: &Place, page: &str) {
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_picture =
        |link: &&str| [".png", ".jpg", ".svg", ".webm"].iter().any(|ending| link.ends_with(ending));
    for link in links.filter(is_picture).filter(|link| !OTHERS.contains(link)) {
        let name = Path::new(link).file_name().unwrap().to_str().unwrap();
        let made = place.read(name);
        let path = root().join("docs").join(link);
        if is_session() {
            fs::write(&path, &made).unwrap();
        }
        let is_same = fs::read(&path).is_ok_and(|shown| shown == made);
        assert!(is_same, "docs/{link} differs: run `cargo xtask session`");
    }
    let pages =
        [(place.path(SHEET), 860, SHEET_PICTURE), (place.state(GALLERY), 800, GALLERY_PICTURE)];
    for (path, height, picture) in pages {
        let is_shown = page.contains(picture.trim_start_matches("docs/"));
        if is_session() && is_shown && path.exists() {
            let is_drawn = "document.images.length > 2
                 && [...document.images].every((image) => image.hidden || image.complete)";
            photograph(&format!("file://{}", path.display()), is_drawn, height, picture);
        }
    }
}

/// Writes a picture of a page in a browser, once the condition holds there.
pub fn photograph(url: &str, condition: &str, height: u32, path: &str) {
    let picture = Runtime::new().unwrap().block_on(Browser::with(async |browser| {
        browser.resize(1000, height).await;
        browser.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": true })).await;
        browser.open(url).await;
        browser.wait(condition).await;
        browser.devtools("Page.captureScreenshot", json!({})).await
    }));
    let picture = BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
    fs::write(root().join(path), picture).unwrap();
}
