//! The history as a table for people and as JSON for programs.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use time::UtcDateTime;

use super::{Entry, Found, prices::Prices, relative, request};
use crate::{
    failure::Failure,
    output::{Output, write_failed},
    process::Process,
    text::{fit::wrapped, json::json_line, sanitize::printable, table::Table},
};
use imagekiln::{TaskRef, journal::Key, text::Credits};

/// The state of a submission whose file is damaged.
const UNREADABLE: &str = "unreadable";

/// The columns, and those that narrow terminals leave out, in this order.
const HEADING: [&str; 7] = ["", "TIME (UTC)", "MODEL", "STATE", "CREDITS", "FILE", "PROMPT"];
const OPTIONAL: [usize; 4] = [4, 1, 2, 5];

/// Prints submissions. For people, the table is followed by `hint`.
pub fn print(output: &Output, found: &[Found], hint: &str) -> Result<(), Failure> {
    let prices = Prices::for_unknown(&output.process, found.iter().flatten());
    if output.json {
        for found in found {
            let line = json_line(&match found {
                Ok(entry) => for_programs(entry, &prices),
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
        stdout.table(&table(found, &prices, directory)) + &wrapped(&hint, (stdout.columns)())
    };
    output.result(people, || Value::Null)
}

fn table(found: &[Found], prices: &Prices, here: &Path) -> Table<7> {
    let rows = found.iter().map(|found| match found {
        Ok(entry) => row(entry, prices, here),
        Err(file) => {
            let [number, path] = [format!("@{}", file.number), relative_to(&file.path, here)];
            let [time, model, credits, prompt] = [(); 4].map(|()| String::new());
            [number, time, model, UNREADABLE.to_owned(), credits, path, prompt]
        }
    });
    Table::with_heading(HEADING, rows).long(&[5, 6]).paths(&[5]).optional(&OPTIONAL)
}

fn row(entry: &Entry, prices: &Prices, here: &Path) -> [String; 7] {
    let cost = match entry.record.task().and_then(TaskRef::cost) {
        Some(cost) => Credits(cost).to_string(),
        None if entry.is_unknown() => prices
            .expected(entry)
            .map_or("unknown".to_owned(), |cost| format!("expected {}", Credits(cost))),
        None => String::new(),
    };
    // A person compares it with the usage that the service reports, and passes it to --sent-after.
    let precise = || rfc3339(entry.record.intent().at());
    let time = if entry.is_unknown() { precise() } else { time(entry) };
    let path = entry.saved_path().map(Path::to_owned).or_else(|| entry.kept.destination.output());
    [
        format!("@{}", entry.number),
        time,
        printable(&entry.model()),
        entry.state().to_owned(),
        cost,
        path.map(|path| relative_to(&path, here)).unwrap_or_default(),
        printable(entry.prompt().unwrap_or_default()),
    ]
}

fn for_programs(entry: &Entry, prices: &Prices) -> Value {
    let Entry { number, record, kept, .. } = entry;
    let fields = kept.request.as_ref().map(request::fields);
    json!({
        "number": number,
        "submitted_at": seconds(record.intent().at()),
        "model": entry.model(),
        "state": entry.state(),
        "details": record.details(),
        "damaged": record.damaged().map(Path::to_string_lossy),
        "id": record.task().map(TaskRef::id),
        "cost": record.task().and_then(TaskRef::cost),
        "expected_cost": prices.expected(entry),
        "path": entry.saved_path().map(Path::to_string_lossy),
        "output": kept.destination.output().map(|path| path.to_string_lossy().into_owned()),
        "prompt": entry.prompt(),
        "seed": entry.seed(),
        "key": record.intent().key().map(Key::name),
        "attempt": record.intent().key().map(Key::number),
        "fields": fields,
    })
}

/// For example `2026-11-22 08:15`.
pub fn time(entry: &Entry) -> String {
    time_of(seconds(entry.record.intent().at()))
}

/// Seconds since the Unix epoch.
pub fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The time of a number of seconds since the Unix epoch.
pub fn time_of(seconds: u64) -> String {
    // The file may contain any number.
    let at = i64::try_from(seconds).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok());
    let at = at.unwrap_or(UtcDateTime::UNIX_EPOCH);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, _) = at.as_hms();
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}", u8::from(month))
}

/// For example `2026-11-22T08:15:09Z`.
pub fn rfc3339(at: SystemTime) -> String {
    let second = seconds(at) % 60;
    format!("{}:{second:02}Z", time_of(seconds(at)).replace(' ', "T"))
}

/// A path for people in the directory `here`.
pub fn relative_to(path: &Path, here: &Path) -> String {
    printable(&relative(path, here).to_string_lossy())
}
