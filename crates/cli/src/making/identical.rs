//! Finds requests that are already paid, so that nobody pays for the same picture twice by mistake.
//! A request whose seed the command draws at random is always a new one.

use clap::{ArgMatches, Args};

use super::plan::Planned;
use crate::{
    context::Context,
    failure::Failure,
    history::{self, Entry, list::relative_to},
    service,
};
use imagekiln::{Client, journal::State};

/// An earlier submission of the same request: its number, and how a message describes it.
pub type Paid = (u64, String);

/// How many of the newest submissions are compared with a request. Each is a file to read.
const NEWEST: usize = 1000;

/// The maximum number of submissions or jobs to name.
const MOST_NAMED: usize = 5;

#[derive(Args)]
pub struct AgainOptions {
    /// Pay again for a request that is already paid
    #[arg(long, hide_short_help = true)]
    again: bool,
}

/// Refuses requests that are already paid, unless the user passes `--again`. Commands that do not
/// have this flag refuse nothing.
pub fn check(
    context: &Context,
    client: &Client,
    planned: &[Planned],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    if matches.try_get_one("again").ok().flatten().is_none_or(|insists| *insists) {
        return Ok(());
    }
    if !context.records()? {
        return Ok(());
    }
    let paid = paid(context, client, planned)?.into_iter().flatten();
    match &paid.map(|entry| named(context, &entry)).collect::<Vec<_>>()[..] {
        [] => Ok(()),
        names => Err(Failure::already_paid(format!("the same request is {}", first_of(names)))),
    }
}

/// Joins the first texts, and counts the others.
pub fn first_of(texts: &[String]) -> String {
    let first = texts.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    match texts.len().saturating_sub(MOST_NAMED) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

/// Returns the paid submissions for a command that sends nothing. Finds none if the history or the
/// base URL is missing, because a dry run must work without them.
pub fn of_dry_run(context: &Context, planned: &[Planned]) -> Result<Vec<Option<Paid>>, Failure> {
    let tls = service::tls(false)?;
    let builder = context.settings.unsent()?.api_key("not sent");
    let builder = builder.http_client(move |http| http.tls_backend_preconfigured(tls.clone()));
    let paid = builder.build().ok().and_then(|client| paid(context, &client, planned).ok());
    let paid = paid.unwrap_or_else(|| vec![None; planned.len()]).into_iter();
    Ok(paid.map(|entry| entry.map(|entry| (entry.number, named(context, &entry)))).collect())
}

/// Returns the newest paid submission of the same request for each picture.
fn paid(
    context: &Context,
    client: &Client,
    planned: &[Planned],
) -> Result<Vec<Option<Entry>>, Failure> {
    let mut found = vec![None; planned.len()];
    for entry in history::read(context.process())?.take(NEWEST).flatten() {
        // Submissions that were billed or may have been, and have a picture or may still get one.
        let is_paid = matches!(
            entry.record.state(),
            State::Unknown | State::Accepted | State::Ready | State::Saved { .. }
        );
        if entry.kept.request.is_none() || !is_paid || !client.can_continue(&entry.record) {
            continue;
        }
        for (planned, found) in planned.iter().zip(&mut found) {
            let is_same = planned.key.is_none() && planned.kept == entry.kept.request;
            if is_same && found.is_none() {
                *found = Some(entry.clone());
            }
        }
    }
    Ok(found)
}

/// For example `already paid as @12, saved as fox.png`.
fn named(context: &Context, entry: &Entry) -> String {
    let number = entry.number;
    match (entry.record.state(), entry.saved_path()) {
        (State::Unknown, _) => format!("submitted as @{number}, and may be paid"),
        (_, Some(path)) => {
            let path = relative_to(path, &context.process().directory);
            format!("already paid as @{number}, saved as {path}")
        }
        _ => format!("already paid as @{number}"),
    }
}
