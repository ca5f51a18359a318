//! The history as a table for people and as JSON for programs.

use std::{path::Path, time::UNIX_EPOCH};

use serde_json::{Value, json};
use time::UtcDateTime;

use super::{
    destination::{StoredPath, relative},
    entry::{End, Entry},
    store::Store,
};
use crate::{
    failure::Failure,
    output::{Output, line_on_stdout, write_failed},
    paint::Paint,
    sanitize::{json_line, printable},
};

/// The number of characters of a prompt in the table.
const PROMPT_LENGTH: usize = 40;

/// A line of the history.
pub struct Line {
    pub number: u64,
    pub entry: Entry,
    pub state: &'static str,
}

/// Reads submissions, newest first, until there are `limit` that `is_listed` accepts. A damaged
/// file is a warning.
pub fn lines(
    store: &Store,
    output: Output,
    limit: usize,
    is_listed: impl Fn(&Entry) -> bool,
) -> Result<Vec<Line>, Failure> {
    let numbers = store.numbers().map_err(|error| super::unreadable(store, error))?;
    let mut lines = Vec::new();
    for number in numbers {
        if lines.len() == limit {
            break;
        }
        match store.read(number) {
            Ok(entry) if is_listed(&entry) => {
                let state = entry.state(entry.end.is_none() && store.is_claimed(number));
                lines.push(Line { number, entry, state });
            }
            Ok(_) => {}
            Err(error) => {
                let file = store.directory().join(format!("{number}.json"));
                output.warning(&format!("could not read {}: {error}", file.display()));
            }
        }
    }
    Ok(lines)
}

/// Prints the lines. For people, the table is followed by `hint`.
pub fn print(output: Output, lines: &[Line], hint: &str) -> Result<(), Failure> {
    if output.json {
        for line in lines {
            line_on_stdout(&json_line(&for_programs(line))).or_else(write_failed)?;
        }
        return Ok(());
    }
    let hint = if hint.is_empty() { String::new() } else { format!("\n\n{hint}") };
    output.result(|| Paint::on_stdout().table(&table(lines)) + &hint, || Value::Null)
}

fn table(lines: &[Line]) -> String {
    let heading = ["", "TIME (UTC)", "MODEL", "STATE", "CREDITS", "FILE", "PROMPT"];
    let rows = std::iter::once(heading.map(str::to_owned)).chain(lines.iter().map(row));
    let rows: Vec<[String; 7]> = rows.collect();
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        (cells.collect::<String>() + &row[6]).trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn row(line: &Line) -> [String; 7] {
    let Line { number, entry, state } = line;
    let prompt = entry.prompt.as_deref().unwrap_or_default();
    let start: String = prompt.chars().take(PROMPT_LENGTH).collect();
    let more = if start.len() < prompt.len() { "..." } else { "" };
    let cost = entry.task.as_ref().and_then(|task| task.cost());
    let path = saved_path(entry).map(Path::to_owned).or_else(|| entry.destination.output());
    [
        format!("@{number}"),
        time(entry),
        printable(entry.intent.operation()),
        (*state).to_owned(),
        cost.map(|cost| cost.to_string()).unwrap_or_default(),
        path.map(|path| printable(&relative(&path).to_string_lossy())).unwrap_or_default(),
        printable(&start) + more,
    ]
}

fn for_programs(line: &Line) -> Value {
    let Line { number, entry, state } = line;
    let at = entry.intent.at().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "number": number,
        "submitted_at": at.as_secs(),
        "model": entry.intent.operation(),
        "state": state,
        "id": entry.task.as_ref().map(|task| task.id()),
        "cost": entry.task.as_ref().and_then(|task| task.cost()),
        "path": saved_path(entry).map(Path::to_string_lossy),
        "output": entry.destination.output().map(|path| path.to_string_lossy().into_owned()),
        "prompt": entry.prompt,
    })
}

fn saved_path(entry: &Entry) -> Option<&Path> {
    match &entry.end {
        Some(End::Saved { path }) => path.as_ref().map(StoredPath::path),
        _ => None,
    }
}

/// For example `2026-11-22 08:15`.
pub fn time(entry: &Entry) -> String {
    let at = entry.intent.at().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // The file may contain any number.
    let at = i64::try_from(at).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok());
    let at = at.unwrap_or(UtcDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, _) = at.as_hms();
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}", u8::from(month))
}
