//! A matrix: every prompt with every seed and every model.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    draft::{Cell, Draft, Setting},
    planner::Planner,
    source::open,
    text,
};
use crate::failure::Failure;

/// The maximum number of jobs of a matrix.
const MOST_JOBS: usize = 1_000_000;

/// What is combined. A matrix without seeds has one job per prompt and model, without a seed.
pub struct Matrix {
    pub prompts: Vec<String>,
    /// A prompt per line.
    pub prompt_file: Option<PathBuf>,
    pub seeds: Vec<i64>,
    /// The names of the models. Without any, the default model.
    pub models: Vec<String>,
}

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

/// Reads seeds: numbers and inclusive ranges, such as `1..8` or `1,5,10..12`. Returns each seed
/// once, in ascending order.
pub fn seeds(text: &str) -> Result<Vec<i64>, String> {
    let mut seeds = Vec::new();
    for part in text.split(',').map(str::trim) {
        let number = |text: &str| text.trim().parse::<i64>().ok();
        let ends = match part.split_once("..") {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(part).map(|seed| (seed, seed)),
        };
        let Some((first, last)) = ends.filter(|(first, last)| first <= last) else {
            return Err("use numbers and ranges, such as 7, 1..8 or 1,5,10..12".to_owned());
        };
        if last.abs_diff(first) >= MOST_JOBS as u64 - seeds.len() as u64 {
            return Err(format!("at most {MOST_JOBS} seeds are possible"));
        }
        seeds.extend(first..=last);
    }
    seeds.sort_unstable();
    seeds.dedup();
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_numbers_and_inclusive_ranges() {
        assert_eq!(seeds("7"), Ok(vec![7]));
        assert_eq!(seeds("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("1, 5,10..12"), Ok(vec![1, 5, 10, 11, 12]));
        assert_eq!(seeds("5,1..2,2"), Ok(vec![1, 2, 5]));
        assert_eq!(seeds("-1..1"), Ok(vec![-1, 0, 1]));
        for text in ["", "a", "3..1", "1..", "1...3", "1..=3", "1,", "99999999999999999999"] {
            assert!(seeds(text).is_err(), "{text}");
        }
        for text in ["0..9223372036854775807", "-9223372036854775808..9223372036854775807"] {
            assert_eq!(seeds(text), Err("at most 1000000 seeds are possible".to_owned()));
        }
        assert_eq!(seeds("1..1000000").map(|seeds| seeds.len()), Ok(1_000_000));
        assert!(seeds("1..1000000,5").is_err());
    }
}
