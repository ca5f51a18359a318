//! The history as a table for people and as JSON for programs.

use std::{collections::BTreeMap, path::Path, time::SystemTime};

use serde_json::{Value, json};

use super::{Entry, Found, costs::Prices, numbered, relative, request};
use crate::{
    failure::Failure,
    output::{Output, write_failed},
    process::Process,
    text::{Clock, Table, json::json_line, printable, rfc3339, seconds, wrapped},
};
use imagekiln::{
    TaskRef,
    journal::{Key, State},
    text::Credits,
};

/// The state of a submission whose file is damaged.
const UNREADABLE: &str = "unreadable";

/// The columns, and the indices of the columns that narrow terminals leave out, in this order.
const HEADING: [&str; 7] = ["", "TIME", "MODEL", "STATE", "CREDITS", "FILE", "PROMPT"];
const OPTIONAL: [usize; 4] = [4, 1, 2, 5];

/// Prints submissions. For people, the table is followed by `hint`.
pub fn print(output: &Output, found: &[Found], hint: &str, clock: &Clock) -> Result<(), Failure> {
    print_drawn(output, found.iter().map(|found| ("", found)), hint, clock)
}

/// Prints submissions as a tree: each one below the submission whose picture it was made from, or
/// which it repeats. Adds such submissions if they are missing in `found`.
pub fn print_tree(output: &Output, found: Vec<Found>, clock: &Clock) -> Result<(), Failure> {
    let mut nodes: BTreeMap<u64, Found> = BTreeMap::new();
    let mut waiting = found;
    while let Some(found) = waiting.pop() {
        let number = number(&found);
        let sources = found.as_ref().map(Entry::sources).unwrap_or_default();
        nodes.insert(number, found);
        for source in sources.into_iter().filter(|source| !nodes.contains_key(source)) {
            waiting.extend(numbered(&output.process, source)?.map(Ok));
        }
    }
    // Each submission appears once, below the newest of its sources.
    let mut children: BTreeMap<Option<u64>, Vec<u64>> = BTreeMap::new();
    for (number, found) in &nodes {
        let sources = found.as_ref().map(Entry::sources).unwrap_or_default();
        let source = sources.into_iter().filter(|source| nodes.contains_key(source)).max();
        // A file may contain any number, and a source that is newer than its picture would close a
        // circle.
        let source = source.filter(|source| source < number);
        children.entry(source).or_default().push(*number);
    }
    let roots = children.get(&None).into_iter().flatten().rev();
    let drawn: Vec<_> = roots.flat_map(|root| drawn(*root, &children)).collect();
    let drawn = drawn.iter().filter_map(|(prefix, at)| Some((&**prefix, nodes.get(at)?)));
    print_drawn(output, drawn, "", clock)
}

/// The deepest level that is drawn further to the right than the level above it.
const DEEPEST: usize = 20;

/// Returns a submission and those below it, with the lines before their numbers.
fn drawn(root: u64, children: &BTreeMap<Option<u64>, Vec<u64>>) -> Vec<(String, u64)> {
    let mut drawn = Vec::new();
    // Not a recursion, because a chain may be as long as the history.
    let mut waiting = vec![(root, String::new(), String::new())];
    while let Some((number, own, below)) = waiting.pop() {
        drawn.push((own, number));
        let numbers = children.get(&Some(number)).into_iter().flatten().rev().enumerate();
        waiting.extend(numbers.map(|(at, child)| {
            let [own, next] = if at > 0 { ["├ ", "│ "] } else { ["└ ", "  "] };
            let is_deep = below.chars().count() >= 2 * DEEPEST;
            let next = if is_deep { "" } else { next };
            (*child, format!("{below}{own}"), format!("{below}{next}"))
        }));
    }
    drawn
}

fn number(found: &Found) -> u64 {
    found.as_ref().map_or_else(|file| file.number, |entry| entry.number)
}

fn print_drawn<'f>(
    output: &Output,
    found: impl Iterator<Item = (&'f str, &'f Found)> + Clone,
    hint: &str,
    clock: &Clock,
) -> Result<(), Failure> {
    let entries = found.clone().filter_map(|(_, found)| found.as_ref().ok());
    let prices = Prices::for_unknown(&output.process, entries);
    if output.json {
        for (_, found) in found {
            let line = json_line(&match found {
                Ok(entry) => facts(entry, &prices),
                Err(file) => json!({
                    "number": file.number, "state": UNREADABLE, "path": file.path.to_string_lossy(),
                }),
            });
            output.process.line_on_stdout(&line).or_else(write_failed)?;
        }
        return Ok(());
    }
    let hint = if hint.is_empty() { String::new() } else { format!("\n\n{hint}") };
    let people = || {
        let Process { stdout, directory, .. } = &*output.process;
        let rows = found.map(|(prefix, found)| row(prefix, found, &prices, (directory, clock)));
        let table = Table::with_heading(HEADING, rows);
        let table = table.long(&[5, 6]).paths(&[5]).optional(&OPTIONAL);
        stdout.table(&table) + &wrapped(&hint, (stdout.columns)())
    };
    output.result(people, || Value::Null)
}

fn row(
    prefix: &str,
    found: &Found,
    prices: &Prices,
    (here, clock): (&Path, &Clock),
) -> [String; 7] {
    let name = format!("{prefix}@{}", number(found));
    let entry = match found {
        Ok(entry) => entry,
        Err(file) => {
            let [time, model, credits, prompt] = [(); 4].map(|()| String::new());
            let path = relative_to(&file.path, here);
            return [name, time, model, UNREADABLE.to_owned(), credits, path, prompt];
        }
    };
    let cost = match entry.cost() {
        Some(cost) => Credits(cost).to_string(),
        None if entry.is_unknown() => prices
            .expected(entry)
            .map_or("unknown".to_owned(), |cost| format!("expected {}", Credits(cost))),
        None => String::new(),
    };
    // The exact time, because a person compares it with the usage report of the service, and passes
    // it to --sent-after.
    let at = entry.at();
    let time = if entry.is_unknown() { rfc3339(at) } else { clock.shown(at) };
    let path = entry.saved_path().map(Path::to_owned).or_else(|| entry.kept.destination.output());
    [
        name,
        time,
        printable(&entry.model()),
        entry.state().to_owned(),
        cost,
        path.map(|path| relative_to(&path, here)).unwrap_or_default(),
        printable(entry.prompt().unwrap_or_default()),
    ]
}

/// Returns everything that is known about a submission, for programs.
pub fn facts(entry: &Entry, prices: &Prices) -> Value {
    let Entry { number, record, kept, .. } = entry;
    let (task, intent) = (record.task(), record.intent());
    let bytes = match record.state() {
        State::Saved { bytes, .. } => Some(*bytes),
        _ => None,
    };
    let at = |time: Option<SystemTime>| time.map(seconds);
    json!({
        "number": number,
        "state": entry.state(),
        "details": record.details(),
        "damaged": record.damaged().map(Path::to_string_lossy),
        "path": entry.saved_path().map(Path::to_string_lossy),
        "output": kept.destination.output().map(|path| path.to_string_lossy().into_owned()),
        "bytes": bytes,
        "sha256": entry.sha256(),
        "made_from": kept.made_from,
        "again_of": kept.again_of,
        "model": entry.model(),
        "seed": entry.seed(),
        "cost": entry.cost(),
        "expected_cost": prices.expected(entry),
        "submitted_at": seconds(intent.at()),
        "accepted_at": at(task.and_then(TaskRef::submitted_at)),
        "ready_at": at(record.ready_at()),
        "id": task.map(TaskRef::id),
        "profile": kept.profile,
        "group": entry.group(),
        "index": kept.index + 1,
        "key": intent.key().map(Key::name),
        "attempt": intent.key().map(Key::number),
        "prompt": entry.prompt(),
        "fields": kept.request.as_ref().map(request::fields),
    })
}

/// Returns a path for people in the directory `here`.
pub fn relative_to(path: &Path, here: &Path) -> String {
    printable(&relative(path, here).to_string_lossy())
}
