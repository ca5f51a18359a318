//! The files of the page, which are built into the crate.

use axum::{Router, http::header, routing::get};

use super::Control;

/// The path and content of each file.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

pub(super) fn routes() -> Router<Control> {
    FILES.iter().fold(Router::new(), |router, (path, content)| {
        let file = ([(header::CONTENT_TYPE, media_type(path))], *content);
        let path = path.strip_suffix("index.html").unwrap_or(path);
        router.route(path, get(async move || file))
    })
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}
