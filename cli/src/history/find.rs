//! Finds a submission by `@last`, by its number, or by its task.

use super::{entry::Entry, store::Store};
use crate::{failure::Failure, sanitize::one_line};

/// The fewest characters of an id that are a prefix. Shorter texts are complete ids.
const SHORTEST_PREFIX: usize = 4;

const ADVICE: &str = "`kiln history` lists the submissions with their numbers";

/// The submission that `@last` or `@3` names. `None` if the text has another form.
pub fn by_number(store: &Store, text: &str) -> Result<Option<(u64, Entry)>, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(None) };
    let number = match name {
        "last" => {
            let numbers = store.numbers().map_err(|error| unreadable(store, error))?;
            let last = numbers.first().copied();
            last.ok_or_else(|| Failure::usage("the history is empty").advise(ADVICE))?
        }
        number => number.parse().map_err(|_| {
            Failure::usage(format!("`{}` is not a submission", one_line(text)))
                .advise("use @last, or @ and a number of `kiln history`")
        })?,
    };
    match store.read(number) {
        Ok(entry) => Ok(Some((number, entry))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::usage(format!("the history has no submission @{number}")).advise(ADVICE))
        }
        Err(error) => Err(Failure::file(format!("could not read submission @{number}"), error)),
    }
}

/// The submission whose task has this id.
pub fn by_id(store: &Store, id: &str) -> Option<(u64, Entry)> {
    with_task(store).find(|(_, entry)| id_of(entry) == id)
}

/// The submission whose task has this id, or is the only one whose id starts like this.
pub fn by_prefix(store: &Store, text: &str) -> Result<Option<(u64, Entry)>, Failure> {
    let starts = |entry: &Entry| id_of(entry).starts_with(text);
    let mut found: Vec<_> = with_task(store).filter(|(_, entry)| starts(entry)).collect();
    if let Some(at) = found.iter().position(|(_, entry)| id_of(entry) == text) {
        return Ok(Some(found.swap_remove(at)));
    }
    if text.len() < SHORTEST_PREFIX {
        return Ok(None);
    }
    if let [_, _, ..] = found[..] {
        let ids = found.iter().map(|(number, entry)| format!("{} (@{number})", id_of(entry)));
        let ids: Vec<_> = ids.take(5).collect();
        let problem = format!("several tasks start with {}: {}", one_line(text), ids.join(", "));
        return Err(Failure::usage(problem).advise("pass more of the id, or the number"));
    }
    Ok(found.pop())
}

pub fn unreadable(store: &Store, error: std::io::Error) -> Failure {
    Failure::file(format!("could not read the history in {}", store.directory().display()), error)
}

/// The readable submissions with a task, newest first.
fn with_task(store: &Store) -> impl Iterator<Item = (u64, Entry)> {
    let entries = store.numbers().unwrap_or_default().into_iter();
    let entries = entries.filter_map(|number| Some((number, store.read(number).ok()?)));
    entries.filter(|(_, entry)| entry.task.is_some())
}

fn id_of(entry: &Entry) -> &str {
    entry.task.as_ref().map_or("", |task| task.id())
}
