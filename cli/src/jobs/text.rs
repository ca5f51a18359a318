//! Text: a prompt per line.

use std::io::{self, BufRead};

use serde_json::Value;

use super::{
    draft::{Cell, Draft, Setting},
    lines::Lines,
    planner::Planner,
};
use crate::args::prompt::PROMPT;

pub fn read(input: impl BufRead, planner: &mut Planner) -> io::Result<()> {
    prompts(input, |line, prompt| match prompt {
        Ok(prompt) => planner.add(draft(line, prompt)),
        Err(problem) => planner.problem(line, problem),
    })
}

/// Calls `take` with every line that is not blank, and its number.
pub fn prompts(
    input: impl BufRead,
    mut take: impl FnMut(u64, Result<&str, String>),
) -> io::Result<()> {
    let mut lines = Lines::new(input);
    while let Some(line) = lines.next()? {
        match line.text.as_deref().map(str::trim) {
            Ok("") => {}
            Ok(prompt) => take(line.number, Ok(prompt)),
            Err(problem) => take(line.number, Err(problem.clone())),
        }
    }
    Ok(())
}

pub fn draft(line: u64, prompt: &str) -> Draft {
    let prompt = Setting::listed(PROMPT, Cell::Json(Value::from(prompt)));
    Draft { settings: vec![prompt], ..Draft::new(line) }
}
