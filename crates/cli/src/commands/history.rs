//! `kiln history`: lists the submissions of this user and their states.

use clap::{Args, value_parser};
use time::UtcDateTime;

use crate::{
    args::completers,
    context::Context,
    failure::Failure,
    history::{self, Entry, find, list},
    text::parse,
};

pub const NAME: &str = "history";

/// The number of submissions that are listed without `--limit`.
const LIMIT: u32 = 20;

/// List the submissions and their states, newest first
#[derive(Args)]
#[command(after_help = "\
    `kiln show`, `again` and `task` find a submission by its number, such as @3, or by @last.\n\
    The history is a directory of files that only you can read: kiln/history in $XDG_STATE_HOME \
    or ~/.local/state, in ~/Library/Application Support on macOS, and in %LOCALAPPDATA% on \
    Windows. KILN_STATE_DIR is another directory in place of kiln. It has the fields of each \
    request, with the paths and digests of images instead of their content, and no keys, secrets \
    or queries of URLs. It forgets nothing.")]
pub struct Options {
    /// Only submissions whose prompts have all of these words
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Only submissions to this model
    #[arg(long, short, value_name = "MODEL", add = completers::models())]
    model: Option<String>,
    /// Only submissions since then: so long ago, such as 2h or 7d, since a day in UTC, such as
    /// 2026-11-20, or since a time, such as 2026-11-20T08:15:09Z
    #[arg(long, value_name = "WHEN", value_parser = parse::since)]
    since: Option<UtcDateTime>,
    /// How many submissions to list [default: 20]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub fn run(context: &Context, options: &Options) -> Result<(), Failure> {
    let mut found = history::read(context.process())?.peekable();
    let is_empty = found.peek().is_none();
    // What cannot be read may be what is looked for.
    let found = found.filter(|found| found.as_ref().map_or(true, |entry| options.fits(entry)));
    let found: Vec<_> = found.take(options.limit.unwrap_or(LIMIT) as usize).collect();
    if found.is_empty() {
        let why = if is_empty { "the history is empty" } else { "no submission fits" };
        context.output.note(why);
        return Ok(());
    }
    list::print(&context.output, &found, "")
}

impl Options {
    fn fits(&self, entry: &Entry) -> bool {
        let prompt = entry.prompt().unwrap_or_default().to_lowercase();
        self.words.iter().all(|word| prompt.contains(&word.to_lowercase()))
            && self.model.as_ref().is_none_or(|model| find::is_of_model(entry, model))
            && self.since.is_none_or(|since| UtcDateTime::from(entry.record.intent().at()) >= since)
    }
}
