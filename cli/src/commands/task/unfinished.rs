//! `kiln task list|dismiss`: the unfinished submissions in the history.

use clap::ArgMatches;

use crate::{
    context::Context,
    failure::Failure,
    history::{self, Entry, History, find, list},
    text::sanitize::one_line,
};

/// Prints the unfinished submissions.
pub fn list(context: &Context) -> Result<(), Failure> {
    let mut entries = history::read(context.process())?;
    entries.retain(|entry| !entry.is_finished());
    if entries.is_empty() {
        context.output.note("nothing is unfinished");
        return Ok(());
    }
    let has = |state| entries.iter().any(|entry| entry.state() == state);
    let mut hints = Vec::new();
    if has("unfinished") {
        hints.push("`kiln resume` waits for the unfinished tasks and saves their pictures");
    }
    if has("unknown") {
        hints.push(
            "unknown submissions may have been charged: check your usage with the service, then \
             run\n  kiln task resolve @NUMBER ID\nif it shows the task, otherwise\n  kiln task \
             dismiss @NUMBER",
        );
    }
    list::print(&context.output, &entries, &hints.join("\n"))
}

/// Marks submissions as dismissed, all of them or none.
pub async fn dismiss(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let entries = history::read(context.process())?;
    let given = matches.get_many::<String>("ref").into_iter().flatten();
    let found: Vec<Entry> =
        given.map(|given| unfinished(&entries, given)).collect::<Result<_, _>>()?;
    let history = History::open(&context.output, Vec::new())?;
    for entry in &found {
        history.include(entry).await?;
    }
    for entry in &found {
        history.dismiss(entry).await?;
    }
    Ok(())
}

pub fn unfinished(entries: &[Entry], given: &str) -> Result<Entry, Failure> {
    let found = match find::by_number(entries, given)? {
        Some(found) => Some(found),
        None => find::by_prefix(entries, given)?,
    };
    let entry = found.ok_or_else(|| {
        Failure::usage(format!("the history has no task {}", one_line(given)))
            .advise("`kiln task list` lists the unfinished submissions")
    })?;
    let number = entry.number;
    if entry.is_finished() {
        let problem = format!("submission @{number} is finished: {}", entry.state());
        return Err(
            Failure::usage(problem).advise("`kiln task list` lists the unfinished submissions")
        );
    }
    if entry.is_in_use {
        return Err(Failure::usage(format!("another command is waiting for @{number}"))
            .advise("stop that command first"));
    }
    Ok(entry)
}
