//! The files of the page, which are built into the crate.

use axum::{
    Router,
    http::{HeaderValue, header},
    routing::get,
};

use super::Control;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const ICON: &str = "image/svg+xml";

/// The path, content and media type of each file.
const FILES: [(&str, &str, &str); 40] = [
    ("/", include_str!("../../page/index.html"), HTML),
    ("/icon.svg", include_str!("../../page/icon.svg"), ICON),
    ("/page.css", include_str!("../../page/page.css"), STYLE),
    ("/controls.css", include_str!("../../page/controls.css"), STYLE),
    ("/tasks.css", include_str!("../../page/tasks.css"), STYLE),
    ("/task.css", include_str!("../../page/task.css"), STYLE),
    ("/requests.css", include_str!("../../page/requests.css"), STYLE),
    ("/accounts.css", include_str!("../../page/accounts.css"), STYLE),
    ("/faults.css", include_str!("../../page/faults.css"), STYLE),
    ("/docs.css", include_str!("../../page/docs.css"), STYLE),
    ("/main.js", include_str!("../../page/main.js"), SCRIPT),
    ("/api.js", include_str!("../../page/api.js"), SCRIPT),
    ("/copy.js", include_str!("../../page/copy.js"), SCRIPT),
    ("/dom.js", include_str!("../../page/dom.js"), SCRIPT),
    ("/filters.js", include_str!("../../page/filters.js"), SCRIPT),
    ("/format.js", include_str!("../../page/format.js"), SCRIPT),
    ("/live.js", include_str!("../../page/live.js"), SCRIPT),
    ("/service.js", include_str!("../../page/service.js"), SCRIPT),
    ("/time.js", include_str!("../../page/time.js"), SCRIPT),
    ("/welcome.js", include_str!("../../page/welcome.js"), SCRIPT),
    ("/tasks.js", include_str!("../../page/tasks.js"), SCRIPT),
    ("/card.js", include_str!("../../page/card.js"), SCRIPT),
    ("/picture.js", include_str!("../../page/picture.js"), SCRIPT),
    ("/task.js", include_str!("../../page/task.js"), SCRIPT),
    ("/facts.js", include_str!("../../page/facts.js"), SCRIPT),
    ("/timeline.js", include_str!("../../page/timeline.js"), SCRIPT),
    ("/repeat.js", include_str!("../../page/repeat.js"), SCRIPT),
    ("/requests.js", include_str!("../../page/requests.js"), SCRIPT),
    ("/accounts.js", include_str!("../../page/accounts.js"), SCRIPT),
    ("/organization.js", include_str!("../../page/organization.js"), SCRIPT),
    ("/project.js", include_str!("../../page/project.js"), SCRIPT),
    ("/keys.js", include_str!("../../page/keys.js"), SCRIPT),
    ("/finetunes.js", include_str!("../../page/finetunes.js"), SCRIPT),
    ("/webhooks.js", include_str!("../../page/webhooks.js"), SCRIPT),
    ("/faults.js", include_str!("../../page/faults.js"), SCRIPT),
    ("/presets.js", include_str!("../../page/presets.js"), SCRIPT),
    ("/switches.js", include_str!("../../page/switches.js"), SCRIPT),
    ("/clock.js", include_str!("../../page/clock.js"), SCRIPT),
    ("/docs.js", include_str!("../../page/docs.js"), SCRIPT),
    ("/viewer.js", include_str!("../../page/viewer.js"), SCRIPT),
];

pub(super) fn routes() -> Router<Control> {
    FILES.into_iter().fold(Router::new(), |router, (address, text, kind)| {
        let file = ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text);
        router.route(address, get(async move || file.clone()))
    })
}
