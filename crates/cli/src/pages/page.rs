//! The HTML of a page around its data.

use std::{io, mem};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    Item, Kind, Totals,
    Value::{Html, Text},
    fill,
};

const PAGE: &str = include_str!("assets/page.html");
const SCRIPT: &str = concat!(
    include_str!("assets/page.js"),
    include_str!("assets/detail.js"),
    include_str!("assets/compare.js"),
);
const STYLE: &str = concat!(
    include_str!("assets/page.css"),
    include_str!("assets/jobs.css"),
    include_str!("assets/detail.css"),
);

/// The marker for the data in the template of the page.
const DATA: &str = "{{data}}";

/// The number of items that are written together, and that the page parses at once.
const CHUNK: usize = 200;

/// Writes a page. Its items are in the page, or in scripts beside it.
pub struct Page<W> {
    out: W,
    kind: Kind,
    totals: Totals,
    /// Items that are not written yet.
    items: Vec<String>,
}

impl<W: io::Write> Page<W> {
    /// Writes the head of a page. `notices` are shown below the title.
    pub fn begin(
        mut out: W,
        kind: Kind,
        (title, created_at): (&str, &str),
        notices: &[String],
    ) -> io::Result<Self> {
        let notices = notices.iter().map(|notice| {
            fill("<p class=\"notice\" dir=\"auto\">{{notice}}</p>\n", &[("notice", Text(notice))])
        });
        let noun = if kind == Kind::Sheet { "job" } else { "picture" };
        let served = if kind == Kind::Served { " data-served" } else { "" };
        let values = [
            ("policy", Text(&policy(kind))),
            ("title", Text(title)),
            ("created", Text(created_at)),
            ("notices", Html(&notices.collect::<String>())),
            ("style", Html(STYLE)),
            ("noun", Text(noun)),
            ("served", Html(served)),
        ];
        out.write_all(fill(parts().0, &values).as_bytes())?;
        Ok(Self { out, kind, totals: Totals::default(), items: Vec::new() })
    }

    /// Writes an item into the page.
    pub fn add(&mut self, item: &Item) -> io::Result<()> {
        self.totals.add(item);
        self.items.push(json(item)?);
        if self.items.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        let (count, items) = (self.items.len(), mem::take(&mut self.items).join(","));
        match count {
            0 => Ok(()),
            _ => self.chunk(count, "", &format!("[{items}]")),
        }
    }

    /// Refers to a script beside the page that passes `count` items to `receive`, a function of the
    /// page.
    pub fn refer(&mut self, count: usize, source: &str) -> io::Result<()> {
        self.chunk(count, &format!(" data-source=\"{source}\""), "")
    }

    fn chunk(&mut self, count: usize, source: &str, data: &str) -> io::Result<()> {
        let script = format!(
            "<script type=\"application/json\" data-count=\"{count}\"{source}>{data}</script>\n"
        );
        self.out.write_all(script.as_bytes())
    }

    /// Writes the totals and the end of the page, and returns the flushed file.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        let totals = mem::take(&mut self.totals);
        self.finish_with(&totals)
    }

    /// Writes the end of a page whose items are in other files, with their totals.
    pub fn finish_with(mut self, totals: &Totals) -> io::Result<W> {
        let summary = totals.html(self.kind);
        let foot = fill(parts().1, &[("summary", Html(&summary)), ("script", Html(SCRIPT))]);
        self.out.write_all(foot.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Returns JSON that is safe in a script element, because no text in it can end the script.
pub fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?.replace('<', "\\u003c"))
}

fn parts() -> (&'static str, &'static str) {
    PAGE.split_once(DATA).expect("the page has a place for the data")
}

/// The Content-Security-Policy of a page. Only the style and the script of this program take
/// effect, and data and images come only from the page itself or from files beside it. `file:` is
/// there in addition to `'self'`, because `'self'` does not include other files if the page itself
/// is a file.
fn policy(kind: Kind) -> String {
    let (scripts, connect) = match kind {
        Kind::Sheet => ("", "'none'"),
        Kind::Gallery => (" file: 'self'", "'none'"),
        Kind::Served => (" 'self'", "'self'"),
    };
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'{scripts}; connect-src {connect}; \
         img-src data: file: 'self'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT),
    )
}

fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}
