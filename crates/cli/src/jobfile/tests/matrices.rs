//! Matrices.

use super::*;

fn matrix(prompts: &[&str], seeds: &[i64], models: &[&str]) -> Matrix {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Matrix {
        prompts: owned(prompts),
        prompt_file: None,
        seeds: seeds.to_vec(),
        models: owned(models),
    }
}

#[test]
fn every_combination_is_a_job() {
    let bench = Bench::new();
    bench.write("prompts.txt", "b\n\nc\n");
    let prompt_file = Some(bench.folder.path().join("prompts.txt"));
    let matrix = matrix(&["a"], &[1, 2], &["gen-2-pro", "gen-2-flex"]);
    let jobs = Matrix { prompt_file, ..matrix }.jobs(&bench.defaults).unwrap().jobs;
    assert_eq!(lines(&jobs), [0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 3]);
    let mut expected = Vec::new();
    for prompt in ["a", "b", "c"] {
        for model in ["gen-2-pro", "gen-2-flex"] {
            for seed in [1, 2] {
                expected.push(format!(
                    "{{\"operation\":\"{model}\",\"fields\":{{\"prompt\":\"{prompt}\",\
                     \"seed\":{seed}}}}}"
                ));
            }
        }
    }
    assert_eq!(requests(&jobs), expected);
}

#[test]
fn seeds_and_models_may_be_left_out() {
    let bench = Bench::new().with("width", "128");
    let jobs = matrix(&["a"], &[], &[]).jobs(&bench.defaults).unwrap().jobs;
    let request = r#"{"operation":"gen-2-pro","fields":{"prompt":"a","width":128}}"#;
    assert_eq!(requests(&jobs), [request]);
}

#[test]
fn a_problem_of_a_prompt_is_reported_once() {
    let bench = Bench::new().with("width", "16");
    bench.write("prompts.txt", "b\nc\n");
    let prompt_file = Some(bench.folder.path().join("prompts.txt"));
    let matrix = Matrix { prompt_file, ..matrix(&["a"], &[1, 2, 3], &["gen-2-pro"]) };
    let error = matrix.jobs(&bench.defaults).unwrap_err();
    assert_eq!(
        bench.shown(&error),
        [("--prompt: ", ""), ("prompts.txt:1: ", " (also on line 2)")]
            .map(|(place, also)| format!("{place}width: is 16; must be at least 64{also}"))
    );
}

#[test]
fn the_number_of_combinations_is_bounded() {
    let bench = Bench::new();
    let seeds: Vec<i64> = (0..1_000_000).collect();
    let matrix = matrix(&["a", "b"], &seeds, &["nothing"]);
    let error = matrix.jobs(&bench.defaults).unwrap_err();
    assert!(error.message.contains("2000000 combinations"), "{error:?}");
}
