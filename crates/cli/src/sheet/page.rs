//! The page header and footer.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use super::{
    template::{
        Value::{Html, Text},
        fill,
    },
    totals::Totals,
};

const PAGE: &str = include_str!("assets/page.html");
const SCRIPT: &str = include_str!("assets/page.js");
const STYLE: &str = concat!(
    include_str!("assets/page.css"),
    include_str!("assets/jobs.css"),
    include_str!("assets/detail.css"),
);

/// The marker for the jobs in the template of the page.
const JOBS: &str = "{{jobs}}";

pub fn head(title: &str, created_at: &str) -> String {
    let (head, _) = parts();
    let values = [
        ("policy", Text(&policy())),
        ("title", Text(title)),
        ("created", Text(created_at)),
        ("style", Html(STYLE)),
    ];
    fill(head, &values)
}

pub fn foot(totals: &Totals) -> String {
    let (_, foot) = parts();
    fill(foot, &[("summary", Html(&totals.html())), ("script", Html(SCRIPT))])
}

fn parts() -> (&'static str, &'static str) {
    PAGE.split_once(JOBS).expect("the page has a place for the jobs")
}

/// The Content-Security-Policy. Only the style and the script of this program take effect, and
/// images come from the sheet or from files beside it. For a page that is a file itself, the
/// specification of `'self'` does not include other files.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data: file: 'self'; \
         base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT),
    )
}

fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}
