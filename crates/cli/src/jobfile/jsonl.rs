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
    lines::Lines,
    planner::Planner,
};
use crate::text::sanitize::one_line;
use imagekiln::text::without_value;

pub fn read(input: impl BufRead, planner: &mut Planner<'_>) -> io::Result<()> {
    let mut lines = Lines::new(input);
    while let Some(line) = lines.next()? {
        let text = match line.text {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => text,
            Err(problem) => {
                planner.problem(line.number, problem);
                continue;
            }
        };
        let Members(members) = match serde_json::from_str(&text) {
            Ok(members) => members,
            Err(error) => {
                planner.problem(line.number, malformed(&error));
                continue;
            }
        };
        drop(text);
        let mut draft = Draft::new(line.number);
        let prompt = match planner.prompt_among(members.iter().map(|(key, _)| key.as_str())) {
            Ok(prompt) => prompt,
            Err(problem) => {
                planner.problem(line.number, problem);
                continue;
            }
        };
        let set = members
            .into_iter()
            .map(|(key, value)| draft.set_by(prompt.as_deref(), &key, Cell::Json(value)));
        let problems: Vec<String> = set.filter_map(Result::err).collect();
        planner.add_unless(draft, problems);
    }
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
