//! `kiln history`: lists the submissions of this user and their states.

use std::{ops::RangeInclusive, time::SystemTime};

use clap::{Args, value_parser};

use crate::{
    args::completers::{self, Submissions},
    context::Context,
    failure::Failure,
    history::{self, Entry, find, list},
    text::{Clock, one_line, parse::credits, when},
};

pub const NAME: &str = "history";

/// The number of submissions that are listed without `--limit`.
const LIMIT: u32 = 20;

/// List the submissions and their states, newest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  kiln history fox --since 7d --cost 4..
  kiln history moderated --tree

`kiln show`, `again`, `edit` and `task` find a submission by @3 or @last.")]
#[command(after_long_help = "\
Examples:
  kiln history fox --since 7d --cost 4..
  kiln history moderated --tree

`kiln show`, `again`, `edit` and `task` find a submission by its number, such as @3, or by @last. \
The history is a directory of files that only you can read: kiln/history in $XDG_STATE_HOME or \
~/.local/state, in ~/Library/Application Support on macOS, and in %LOCALAPPDATA% on Windows. \
KILN_STATE_DIR is another directory in place of kiln. It has the fields of each request, with the \
paths and digests of images instead of their content, and no keys, secrets or queries of URLs. It \
forgets nothing.")]
pub struct Options {
    /// Only submissions with all of these words: in the prompt, the model, the state, the reason of
    /// a failure, the path, the key or the time
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Only submissions to this model
    #[arg(long, short, value_name = "MODEL", add = completers::models())]
    model: Option<String>,
    /// Only submissions since then: so long ago, such as 2h or 7d, since a day, such as 2026-11-20,
    /// or since a time, such as 2026-11-20T08:15:09Z
    #[arg(long, value_name = "WHEN", value_parser = when)]
    since: Option<SystemTime>,
    /// Only submissions before then
    #[arg(long, value_name = "WHEN", value_parser = when)]
    before: Option<SystemTime>,
    /// Only the submissions of the command that made this picture
    #[arg(long, value_name = "PICTURE", add = completers::submissions(Submissions::Any))]
    group: Option<String>,
    /// Only submissions that cost this much: credits, such as 4, 4.. or 1..4.5
    #[arg(long, value_name = "CREDITS", value_parser = costs)]
    cost: Option<RangeInclusive<f64>>,
    /// How many submissions to list [default: 20]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// List each submission below its source: the one whose picture it was made from, or made again
    /// from
    #[arg(long)]
    tree: bool,
    /// Show times in UTC
    #[arg(long)]
    utc: bool,
}

fn costs(text: &str) -> Result<RangeInclusive<f64>, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let end = |text: &str, open: f64| if text.is_empty() { Ok(open) } else { credits(text) };
    Ok(end(least, 0.0)?..=end(most, f64::INFINITY)?)
}

pub fn run(context: &Context, options: &Options) -> Result<(), Failure> {
    let process = context.process();
    let clock = if options.utc { Clock::utc() } else { Clock::local() };
    let group = match &options.group {
        Some(picture) => Some(find::recorded(process, picture)?.ok_or_else(|| {
            Failure::usage(format!("the history has no task {}", one_line(picture)))
                .advise("pass @last, or @ and a number of `kiln history`")
        })?),
        None => None,
    };
    let fits = |entry: &Entry| {
        let (at, cost) = (entry.at(), entry.cost());
        options.words.iter().all(|word| has_word(entry, &word.to_lowercase(), &clock))
            && options.model.as_ref().is_none_or(|model| find::is_of_model(entry, model))
            && options.since.is_none_or(|since| at >= since)
            && options.before.is_none_or(|before| at < before)
            && options.cost.as_ref().is_none_or(|costs| cost.is_some_and(|it| costs.contains(&it)))
            && group.as_ref().is_none_or(|group| entry.group() == group.group())
    };
    let mut found = history::read(process)?.peekable();
    let is_empty = found.peek().is_none();
    // Lists a submission that cannot be read, whatever the conditions, because it may be the one
    // that the user looks for.
    let found = found.filter(|found| found.as_ref().map_or(true, fits));
    let found: Vec<_> = found.take(options.limit.unwrap_or(LIMIT) as usize).collect();
    if found.is_empty() {
        let why = if is_empty { "the history is empty" } else { "no submission fits" };
        context.output.note(why);
        return Ok(());
    }
    if options.tree {
        list::print_tree(&context.output, found, &clock)
    } else {
        list::print(&context.output, &found, "", &clock)
    }
}

fn has_word(entry: &Entry, word: &str, clock: &Clock) -> bool {
    let intent = entry.record.intent();
    let path = entry.saved_path().map(|path| path.to_string_lossy().into_owned());
    let texts = [
        entry.prompt().map(str::to_owned),
        Some(entry.model()),
        Some(entry.state().to_owned()),
        entry.record.details().map(|details| details.to_string()),
        path,
        intent.key().map(|key| key.name().to_owned()),
        Some(clock.minute(intent.at())),
    ];
    texts.iter().flatten().any(|text| text.to_lowercase().contains(word))
}
