//! Finds a submission by `@last`, by its number, or by its task.

use super::entry::Entry;
use crate::{failure::Failure, text::sanitize::one_line};
use imagekiln::TaskRef;

/// The fewest characters of an id that are a prefix. Shorter texts are complete ids.
const SHORTEST_PREFIX: usize = 4;

const ADVICE: &str = "`kiln history` lists the submissions with their numbers";

/// The submission that `@last` or `@3` names. `None` if the text has another form.
pub fn by_number(entries: &[Entry], text: &str) -> Result<Option<Entry>, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(None) };
    let found = match name {
        "last" => {
            entries.first().ok_or_else(|| Failure::usage("the history is empty").advise(ADVICE))?
        }
        number => {
            let number: u64 = number.parse().map_err(|_| {
                Failure::usage(format!("`{}` is not a submission", one_line(text)))
                    .advise("use @last, or @ and a number of `kiln history`")
            })?;
            entries.iter().find(|entry| entry.number == number).ok_or_else(|| {
                Failure::usage(format!("the history has no submission @{number}")).advise(ADVICE)
            })?
        }
    };
    Ok(Some(found.clone()))
}

/// The submission of this task.
pub fn by_task(entries: &[Entry], task: &TaskRef) -> Option<Entry> {
    let is_it = |entry: &&Entry| match task.submission() {
        Some(submission) => entry.submission() == submission,
        None => entry.record.task().is_some_and(|other| {
            let regions = other.region().zip(task.region());
            other.id() == task.id() && regions.is_none_or(|(one, other)| one == other)
        }),
    };
    entries.iter().find(is_it).cloned()
}

/// The submission whose task has this id, or is the only one whose id starts like this.
pub fn by_prefix(entries: &[Entry], text: &str) -> Result<Option<Entry>, Failure> {
    let starts = |entry: &&Entry| entry.record.task().is_some() && id_of(entry).starts_with(text);
    let found: Vec<&Entry> = entries.iter().filter(starts).collect();
    if let Some(entry) = found.iter().find(|entry| id_of(entry) == text) {
        return Ok(Some((*entry).clone()));
    }
    let is_numbered = |number: u64| entries.iter().any(|entry| entry.number == number);
    if text.parse().is_ok_and(|number| text.len() < SHORTEST_PREFIX || is_numbered(number)) {
        return Err(Failure::usage(format!("{text} is not the id of a task")).advise(format!(
            "nothing was sent; write @{text} for the submission with this number"
        )));
    }
    if text.len() < SHORTEST_PREFIX {
        return Ok(None);
    }
    if let [_, _, ..] = found[..] {
        let ids = found.iter().map(|entry| format!("{} (@{})", id_of(entry), entry.number));
        let ids: Vec<_> = ids.take(5).collect();
        let problem = format!("several tasks start with {}: {}", one_line(text), ids.join(", "));
        return Err(Failure::usage(problem).advise("pass more of the id, or the number"));
    }
    Ok(found.first().map(|entry| (*entry).clone()))
}

fn id_of(entry: &Entry) -> &str {
    entry.record.task().map_or("", TaskRef::id)
}
