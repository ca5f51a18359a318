//! Prompts: one per line, or combined with seeds and models.

use std::{
    io::{self, BufRead},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    Defaults, List,
    draft::{Cell, Draft, Setting},
    lines::Lines,
    open,
    planner::{PROMPTS, Planner},
};
use crate::{
    failure::Failure,
    models::{PROMPT, SEED},
};

/// The maximum number of jobs of a matrix.
const MOST_JOBS: usize = 1_000_000;

/// Prompts, seeds and models to combine: each combination is a job.
#[derive(Default)]
pub struct Matrix {
    pub prompts: Vec<String>,
    /// A file with a prompt per line.
    pub prompt_file: Option<PathBuf>,
    /// The seeds. If the list is empty, the matrix sets no seed.
    pub seeds: Vec<i64>,
    /// The names of the models. If the list is empty, all jobs have the default model.
    pub models: Vec<String>,
}

impl Matrix {
    /// Returns a job for each combination, sorted by prompt, then by model, then by seed.
    pub fn jobs(&self, defaults: &Defaults) -> Result<List, Failure> {
        let name = self.prompt_file.as_ref().map(|path| path.display().to_string());
        let name = name.unwrap_or_else(|| PROMPTS.to_owned());
        // Prompts do not refer to files, so no folder is needed.
        let mut planner = Planner::new(name, Path::new(""), defaults);
        let mut prompts: Vec<_> = self.prompts.iter().map(|prompt| (0, prompt.clone())).collect();
        if let Some(path) = &self.prompt_file {
            let read = each_prompt(open(path)?, &mut planner, |_, line, prompt| {
                prompts.push((line, prompt.to_owned()));
            });
            read.map_err(|error| planner.unreadable(error))?;
        }
        let count = prompts
            .len()
            .saturating_mul(self.seeds.len().max(1))
            .saturating_mul(self.models.len().max(1))
            .saturating_mul(defaults.count);
        if count > MOST_JOBS {
            let problem = format!(
                "the prompts, seeds and models have {count} combinations; at most {MOST_JOBS} are \
                 possible"
            );
            return Err(Failure::usage(problem).advise("nothing was sent; pass fewer of them"));
        }
        for (line, prompt) in prompts {
            for model in all_or_none(&self.models) {
                for seed in all_or_none(&self.seeds) {
                    let mut draft = Draft { model: model.clone(), ..draft(line, &prompt) };
                    let seed = seed.map(|seed| Setting::new(SEED, Cell::Json(seed.into())));
                    draft.settings.extend(seed);
                    planner.add(draft);
                }
            }
        }
        planner.finish()
    }
}

/// Yields each of the values, or a single `None` if there are none.
fn all_or_none<T: Clone>(values: &[T]) -> impl Iterator<Item = Option<T>> {
    values.iter().cloned().map(Some).chain(values.is_empty().then_some(None))
}

/// Reads a file with one prompt per line.
pub fn read(input: impl BufRead, planner: &mut Planner<'_>) -> io::Result<()> {
    each_prompt(input, planner, |planner, line, prompt| planner.add(draft(line, prompt)))
}

/// Calls `take` with each line that is a prompt, and with its number.
fn each_prompt<'a>(
    input: impl BufRead,
    planner: &mut Planner<'a>,
    mut take: impl FnMut(&mut Planner<'a>, u64, &str),
) -> io::Result<()> {
    let mut lines = Lines::new(input);
    while let Some(line) = lines.next()? {
        match line.text.as_deref().map(str::trim) {
            Ok("") => {}
            Ok(prompt) => {
                if prompt.starts_with('#') {
                    if planner.defaults.skip_comments {
                        continue;
                    }
                    planner.list.comments.push(line.number);
                }
                take(planner, line.number, prompt);
            }
            Err(problem) => planner.problem(line.number, problem.clone()),
        }
    }
    Ok(())
}

fn draft(line: u64, prompt: &str) -> Draft {
    let prompt = Setting::new(PROMPT, Cell::Json(Value::from(prompt)));
    Draft { line, settings: vec![prompt], ..Draft::default() }
}
