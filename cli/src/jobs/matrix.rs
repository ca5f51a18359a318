//! A matrix: every prompt with every seed and every model.

use serde_json::Value;

use super::{
    draft::{Cell, Draft, Setting},
    planner::Planner,
    source::{Matrix, open},
    text,
};
use crate::{failure::Failure, text::parse};

/// The maximum number of jobs of a matrix.
const MOST_JOBS: usize = parse::MOST_SEEDS;

pub fn read(matrix: &Matrix, planner: &mut Planner) -> Result<(), Failure> {
    let mut prompts: Vec<_> = matrix.prompts.iter().map(|prompt| (0, prompt.clone())).collect();
    if let Some(path) = &matrix.prompt_file {
        let each = |line, prompt: Result<&str, String>| match prompt {
            Ok(prompt) => prompts.push((line, prompt.to_owned())),
            Err(problem) => planner.problem(line, problem),
        };
        let read = text::prompts(open(path)?, each);
        let unreadable = |error| Failure::file(format!("could not read {}", path.display()), error);
        read.map_err(unreadable)?;
    }
    let count = prompts
        .len()
        .saturating_mul(matrix.seeds.len().max(1))
        .saturating_mul(matrix.models.len().max(1));
    if count > MOST_JOBS {
        let problem = format!(
            "the prompts, seeds and models have {count} combinations; at most {MOST_JOBS} are \
             possible"
        );
        return Err(Failure::usage(problem).advise("nothing was sent; pass fewer of them"));
    }
    for (line, prompt) in prompts {
        combine(matrix, line, &prompt, planner);
    }
    Ok(())
}

fn combine(matrix: &Matrix, line: u64, prompt: &str, planner: &mut Planner) {
    let models = matrix.models.iter().cloned().map(Some);
    let models: Vec<_> = if matrix.models.is_empty() { vec![None] } else { models.collect() };
    let seeds = matrix.seeds.iter().copied().map(Some);
    let seeds: Vec<_> = if matrix.seeds.is_empty() { vec![None] } else { seeds.collect() };
    for model in &models {
        for seed in &seeds {
            let mut draft = Draft { model: model.clone(), ..text::draft(line, prompt) };
            let seed = seed.map(|seed| Setting::listed("seed", Cell::Json(Value::from(seed))));
            draft.settings.extend(seed);
            planner.add(draft);
        }
    }
}
