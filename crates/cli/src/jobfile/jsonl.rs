//! JSON lines: an object per line.

use std::{
    fmt,
    io::{self, BufRead},
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::{
    draft::{Cell, Draft},
    lines::{Line, Lines},
    planner::Planner,
};
use crate::text::one_line;
use imagekiln::text::without_value;

pub fn read(input: impl BufRead, planner: &mut Planner<'_>) -> io::Result<()> {
    let mut lines = Lines::new(input);
    while let Some(Line { number, text, .. }) = lines.next()? {
        if let Err(problem) = text.and_then(|text| add(number, text, planner)) {
            planner.problem(number, problem);
        }
    }
    Ok(())
}

/// Adds the job of a line, unless the line is blank.
fn add(line: u64, text: String, planner: &mut Planner<'_>) -> Result<(), String> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let Members(members) = serde_json::from_str(&text).map_err(|error| malformed(&error))?;
    drop(text);
    let prompt = planner.prompt_among(members.iter().map(|(key, _)| key.as_str()))?;
    let mut draft = Draft { line, ..Draft::default() };
    let set = members
        .into_iter()
        .map(|(key, value)| draft.set_by(prompt.as_deref(), &key, Cell::Json(value)));
    let problems: Vec<String> = set.filter_map(Result::err).collect();
    planner.add_unless(draft, problems);
    Ok(())
}

/// Describes a line that is not a JSON object. Leaves out the line number of the parser, which is
/// wrong because the parser sees only this line.
fn malformed(error: &serde_json::Error) -> String {
    let text = without_value(error);
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => {
            format!("is not a JSON object: {}, at column {}", one_line(what), error.column())
        }
        None => format!("is not a JSON object: {}", one_line(&text)),
    }
}

/// The members of an object, including repeated ones. A map would keep only the last of two members
/// with the same name, and nobody would notice that a field is set twice.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
