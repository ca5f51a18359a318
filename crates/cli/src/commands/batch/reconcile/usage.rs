//! Reads the usage that a service reports: a table with a heading, or JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::{args::selection, failure::Failure, process::Process, text::one_line};

/// The columns of a table, or the members of a JSON object, each with all names that it may have.
const COLUMNS: [&[&str]; 5] = [
    &["time", "timestamp", "created_at", "created", "date"],
    &["model", "operation", "endpoint", "path"],
    &["task_id", "task", "request_id", "id"],
    &["cost", "credits", "amount", "price"],
    &["prompt"],
];

/// A column with its name in this file, given as `time=Created`.
pub type Renamed = (&'static str, String);

pub fn renamed(text: &str) -> Result<Renamed, String> {
    let found = text.split_once('=').and_then(|(what, name)| {
        let column = COLUMNS.iter().filter_map(|names| names.first()).find(|it| **it == what)?;
        Some((*column, name.to_owned()))
    });
    found.ok_or_else(|| {
        "give time, model, task_id, cost or prompt, and the name of the column, such as \
         time=Created"
            .to_owned()
    })
}

/// A charge in the usage.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub time: SystemTime,
    pub model: String,
    pub task: Option<String>,
    /// In credits.
    pub cost: Option<f64>,
    pub prompt: Option<String>,
}

type Row = Map<String, Value>;

/// Reads the entries of a file, or of standard input for `-`.
pub fn read(process: &Process, path: &str, renamed: &[Renamed]) -> Result<Vec<Entry>, Failure> {
    let text = selection::text(process, path, "the usage")?;
    parse(&text, renamed).map_err(|problem| {
        Failure::usage(format!("could not read the usage: {problem}")).advise(
            "nothing was changed; the usage is a table with a heading, or JSON objects, and \
             --column time=NAME names a column",
        )
    })
}

fn parse(text: &str, renamed: &[Renamed]) -> Result<Vec<Entry>, String> {
    let text = text.trim();
    let rows = if text.starts_with(['{', '[']) { json(text)? } else { table(text)? };
    let entries = rows.iter().enumerate().map(|(index, row)| {
        entry(row, renamed).map_err(|problem| format!("entry {}: {problem}", index + 1))
    });
    entries.collect()
}

/// Reads an array of objects, an object that contains one, or an object per line.
fn json(text: &str) -> Result<Vec<Row>, String> {
    let values: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    let mut values = values.map_err(|error| error.to_string())?;
    if let [Value::Object(only)] = &values[..]
        && let Some(list) = only.values().find(|value| value.is_array())
    {
        values = vec![list.clone()];
    }
    if let [Value::Array(list)] = &mut values[..] {
        values = std::mem::take(list);
    }
    let row = |value| if let Value::Object(row) = value { Some(row) } else { None };
    values.into_iter().map(row).collect::<Option<_>>().ok_or("an entry is no object".to_owned())
}

fn table(text: &str) -> Result<Vec<Row>, String> {
    let heading = text.lines().next().unwrap_or_default();
    let count = |delimiter: &char| heading.matches(*delimiter).count();
    let delimiter = [',', ';', '\t'].into_iter().max_by_key(count).unwrap_or(',');
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter as u8).from_reader(text.as_bytes());
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    let rows = reader.records().map(|record| {
        let record = record.map_err(|error| error.to_string())?;
        let cells = record.iter().map(|cell| cell.trim().into());
        Ok(names.iter().map(|name| name.trim().to_owned()).zip(cells).collect())
    });
    rows.collect()
}

fn entry(row: &Row, renamed: &[Renamed]) -> Result<Entry, String> {
    let value = |column: &str| {
        let cell = match renamed.iter().find(|(what, _)| *what == column) {
            Some((_, name)) => row.get(name),
            None => {
                let names = COLUMNS.iter().find(|names| names.first() == Some(&column));
                names.into_iter().copied().flatten().find_map(|name| {
                    row.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, it)| it)
                })
            }
        };
        let text = match cell? {
            Value::String(text) => text.clone(),
            Value::Null => return None,
            other => other.to_string(),
        };
        Some(text).filter(|text| !text.is_empty())
    };
    let needed = |column| value(column).ok_or_else(|| format!("it has no {column}"));
    let time = needed("time")?;
    let cost = value("cost").map(|text| {
        let cost = text.parse().ok().filter(|cost: &f64| cost.is_finite());
        cost.ok_or_else(|| format!("`{}` is no cost", one_line(&text)))
    });
    Ok(Entry {
        time: self::time(&time).ok_or_else(|| {
            format!("`{}` is no time such as 2026-11-20T08:15:09Z", one_line(&time))
        })?,
        model: model(&needed("model")?),
        task: value("task_id"),
        cost: cost.transpose()?,
        prompt: value("prompt"),
    })
}

/// Returns the name of a model, from a name or a path.
fn model(text: &str) -> String {
    text.trim_end_matches('/').rsplit('/').next().unwrap_or(text).to_lowercase()
}

/// Parses a time: seconds or milliseconds since 1970, or a time in RFC 3339, which may have a space
/// instead of the `T`. A time without a zone is in UTC.
fn time(text: &str) -> Option<SystemTime> {
    // Numbers from this one on are milliseconds: in seconds, it would be in the year 5138.
    const MILLISECONDS: f64 = 1e11;
    if let Ok(number) = text.parse::<f64>() {
        let seconds = if number < MILLISECONDS { number } else { number / 1000.0 };
        let at = UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        return Timestamp::try_from(at).is_ok().then_some(at);
    }
    let text = text.trim_end_matches("UTC").trim().replacen(' ', "T", 1);
    let parse = |text: &str| text.parse::<Timestamp>().ok();
    let time = parse(&text).or_else(|| parse(&format!("{text}Z")))?;
    SystemTime::try_from(time).ok().filter(|time| *time >= UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_json_are_the_same_entries() {
        let texts = [
            "time,task_id,model,cost,prompt\n2026-11-20T08:15:09Z,t1,gen-2-pro,3.0,\"a, fox\"\n",
            "Created_At;ID;Endpoint;Amount;Prompt\n\
             2026-11-20 08:15:09 UTC;t1;/v1/Gen-2-Pro;3;a, fox",
            "date\ttask\tmodel\tcredits\tprompt\r\n\
             2026-11-20 08:15:09\tt1\tgen-2-pro\t3\ta, fox\r\n",
            r#"[{"time": 1795162509, "task_id": "t1", "model": "gen-2-pro", "cost": 3,
                "prompt": "a, fox"}]"#,
            r#"{"next": null, "usage": [{"timestamp": 1795162509000, "request_id": "t1",
                "operation": "gen-2-pro", "price": "3.00", "prompt": "a, fox"}]}"#,
        ];
        let expected = Entry {
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_162_509),
            model: "gen-2-pro".to_owned(),
            task: Some("t1".to_owned()),
            cost: Some(3.0),
            prompt: Some("a, fox".to_owned()),
        };
        for text in texts {
            assert_eq!(parse(text, &[]), Ok(vec![expected.clone()]), "{text}");
        }
        let text = "When,What\n2026-11-20T08:15:09Z,gen-2-pro";
        let names = ["time=When", "model=What"].map(|name| renamed(name).unwrap());
        let expected = Entry { task: None, cost: None, prompt: None, ..expected };
        assert_eq!(parse(text, &names), Ok(vec![expected]));
        assert!(renamed("colour=red").is_err());
    }

    #[test]
    fn what_is_no_entry_is_named() {
        let problem = |text| parse(text, &[]).unwrap_err();
        assert_eq!(
            problem("time,model\nyesterday,gen-2-pro"),
            "entry 1: `yesterday` is no time such as 2026-11-20T08:15:09Z"
        );
        assert_eq!(problem("when,model\n1,gen-2-pro"), "entry 1: it has no time");
        assert_eq!(problem(r#"[{"time": 1}]"#), "entry 1: it has no model");
        assert_eq!(problem("time,model,cost\n1,gen-2-pro,free"), "entry 1: `free` is no cost");
        assert_eq!(problem("[1]"), "an entry is no object");
        assert!(problem("time,model\n1").contains("record"), "a row is too short");
        // A day is not precise enough: many submissions may be of the same day.
        for time in ["2026-11-20", "0001-01-01T00:00:00Z", "-1", "nan", "inf", "1e20"] {
            assert!(parse(&format!("time,model\n{time},gen-2-pro"), &[]).is_err(), "{time}");
        }
        assert_eq!(parse("", &[]), Ok(Vec::new()));
    }
}
