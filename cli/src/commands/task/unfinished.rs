//! `kiln task list|dismiss`: the unfinished submissions in the history.

use clap::ArgMatches;

use crate::{
    context::Context,
    failure::Failure,
    history::{End, Entry, Record, Store, find, list},
    sanitize::one_line,
};

/// Prints the unfinished submissions.
pub fn list(context: &Context) -> Result<(), Failure> {
    let is_unfinished = |entry: &Entry| entry.end.is_none();
    let lines = list::lines(&Store::locate()?, context.output, usize::MAX, is_unfinished)?;
    if lines.is_empty() {
        context.output.note("nothing is unfinished");
        return Ok(());
    }
    let has = |state| lines.iter().any(|line| line.state == state);
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
    list::print(context.output, &lines, &hints.join("\n"))
}

/// Marks submissions as dismissed, all of them or none.
pub fn dismiss(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let store = Store::locate()?;
    let given = matches.get_many::<String>("ref").into_iter().flatten();
    let records = given.map(|given| unfinished(context, &store, given));
    for mut record in records.collect::<Result<Vec<_>, _>>()? {
        record.end(End::Dismissed);
    }
    Ok(())
}

pub fn unfinished(context: &Context, store: &Store, given: &str) -> Result<Record, Failure> {
    let found = match find::by_number(store, given)? {
        Some(found) => Some(found),
        None => find::by_prefix(store, given)?,
    };
    let (number, entry) = found.ok_or_else(|| {
        Failure::usage(format!("the history has no task {}", one_line(given)))
            .advise("`kiln task list` lists the unfinished submissions")
    })?;
    if entry.end.is_some() {
        let problem = format!("submission @{number} is finished: {}", entry.state(false));
        return Err(
            Failure::usage(problem).advise("`kiln task list` lists the unfinished submissions")
        );
    }
    let claim = store.claim(number).map_err(|error| find::unreadable(store, error))?;
    let claim = claim.ok_or_else(|| {
        Failure::usage(format!("another command is waiting for @{number}"))
            .advise("stop that command first")
    })?;
    Ok(Record::existing(store, context.output, (number, entry), Some(claim)))
}
