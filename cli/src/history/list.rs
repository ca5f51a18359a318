//! The history as a table for people and as JSON for programs.

use std::{path::Path, time::UNIX_EPOCH};

use serde_json::{Value, json};
use time::UtcDateTime;

use super::{destination::relative, entry::Entry};
use crate::{
    failure::Failure,
    output::{Output, write_failed},
    process::Process,
    text::{
        json::json_line,
        sanitize::printable,
        table::{Table, wrapped},
    },
};
use imagekiln::TaskRef;

/// The number of characters of a prompt in the table.
const PROMPT_LENGTH: usize = 40;

/// Prints submissions. For people, the table is followed by `hint`.
pub fn print(output: &Output, entries: &[Entry], hint: &str) -> Result<(), Failure> {
    if output.json {
        for entry in entries {
            let line = json_line(&for_programs(entry));
            output.process.line_on_stdout(&line).or_else(write_failed)?;
        }
        return Ok(());
    }
    let hint = if hint.is_empty() { String::new() } else { format!("\n\n{hint}") };
    let people = || {
        let Process { stdout, directory, .. } = &*output.process;
        stdout.table(&table(entries, directory)) + &wrapped(&hint, (stdout.columns)())
    };
    output.result(people, || Value::Null)
}

fn table(entries: &[Entry], here: &Path) -> Table<7> {
    let heading = ["", "TIME (UTC)", "MODEL", "STATE", "CREDITS", "FILE", "PROMPT"];
    let rows = entries.iter().map(|entry| row(entry, here));
    Table::with_heading(heading, rows).long(&[5, 6]).optional(&[1, 4, 2])
}

fn row(entry: &Entry, here: &Path) -> [String; 7] {
    let prompt = entry.kept.prompt.as_deref().unwrap_or_default();
    let start: String = prompt.chars().take(PROMPT_LENGTH).collect();
    let more = if start.len() < prompt.len() { "..." } else { "" };
    let cost = entry.record.task().and_then(TaskRef::cost);
    let path = entry.saved_path().map(Path::to_owned).or_else(|| entry.kept.destination.output());
    [
        format!("@{}", entry.number),
        time(entry),
        printable(entry.record.intent().operation()),
        entry.state().to_owned(),
        cost.map(|cost| cost.to_string()).unwrap_or_default(),
        path.map(|path| printable(&relative(&path, here).to_string_lossy())).unwrap_or_default(),
        printable(&start) + more,
    ]
}

fn for_programs(entry: &Entry) -> Value {
    let Entry { number, record, kept, .. } = entry;
    let at = record.intent().at().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "number": number,
        "submitted_at": at.as_secs(),
        "model": record.intent().operation(),
        "state": entry.state(),
        "id": record.task().map(TaskRef::id),
        "cost": record.task().and_then(TaskRef::cost),
        "path": entry.saved_path().map(Path::to_string_lossy),
        "output": kept.destination.output().map(|path| path.to_string_lossy().into_owned()),
        "prompt": kept.prompt,
    })
}

/// For example `2026-11-22 08:15`.
pub fn time(entry: &Entry) -> String {
    let at = entry.record.intent().at().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // The file may contain any number.
    let at = i64::try_from(at).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok());
    let at = at.unwrap_or(UtcDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, _) = at.as_hms();
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}", u8::from(month))
}
