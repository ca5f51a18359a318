//! Tests with lists as people publish them.

use serde_json::json;

use super::*;

/// The prompts of the jobs, and their metadata.
fn read_list(bench: &Bench, name: &str, content: &str) -> (List, Vec<(String, Value)>) {
    let list = bench.read(name, content).unwrap_or_else(|error| panic!("{error:?}"));
    let pair = |job: &FileJob| {
        let prompt = job.request.text("prompt").unwrap_or_default().to_owned();
        (prompt, job.metadata.clone().unwrap_or_default())
    };
    let pairs = list.jobs.iter().map(pair).collect();
    (list, pairs)
}

#[test]
fn tsv_has_quotes_only_around_whole_cells() {
    let text = "Prompt\tCategory\tNote\n\
                a red fox\tAnimals\t\r\n\
                \"Hi\" on a wall\t\"Signs, \"\"new\"\"\"\t5' x 3\"\n\n";
    let (list, jobs) = read_list(&Bench::new(), "a.tsv", text);
    assert_eq!(
        jobs,
        [
            ("a red fox".into(), json!({ "Category": "Animals" })),
            (
                "\"Hi\" on a wall".into(),
                json!({ "Category": "Signs, \"new\"", "Note": "5' x 3\"" })
            ),
        ]
    );
    assert_eq!(list.prompt_columns, ["Prompt"]);
    assert_eq!(list.metadata_columns, ["Category", "Note"]);
    Bench::new().refuses(
        "a.tsv",
        "prompt\tseed\n\"a fox\t1\na fox\n",
        &[
            "a.tsv:2: has a quote that is never closed",
            "a.tsv:3: number of cells: is 1; must be 2, as in the header",
        ],
    );
}

#[test]
fn members_that_no_model_has_become_metadata() {
    let line = r#"{"tag":"single","include":[{"class":"fox"}],"TEXT":"a fox","seed":7,
                   "metadata":{"tag":"mine"}}"#;
    let (list, jobs) = read_list(&Bench::new(), "a.jsonl", &line.replace('\n', ""));
    let metadata = json!({ "tag": "mine", "include": [{ "class": "fox" }] });
    assert_eq!(jobs, [("a fox".into(), metadata)]);
    assert_eq!(list.jobs[0].request.integer("seed"), Some(7));
    assert_eq!(list.prompt_columns, ["TEXT"]);

    let (list, jobs) = read_list(&Bench::new(), "a.csv", ",prompt,\n0,a fox,\n");
    assert_eq!(jobs, [("a fox".into(), json!({ "column 1": "0" }))]);
    assert!(list.prompt_columns.is_empty());
    // If there is a column `prompt`, a column that is the prompt in other lists becomes metadata.
    let (_, jobs) = read_list(&Bench::new(), "a.csv", "prompt,text\na fox,a cat\n");
    assert_eq!(jobs, [("a fox".into(), json!({ "text": "a cat" }))]);
}

/// If such a field were left out as metadata, a picture that is paid for would look different.
#[test]
fn misspelled_fields_and_those_of_other_models_are_no_metadata() {
    let bench = Bench::new();
    for name in ["sede", "Seed", "widht", "mask", "guidance", "finetune_id", "Name"] {
        let text = format!("prompt,{name}\na fox,1\na cat,2\n");
        let problems = bench.problems("a.csv", text);
        let start = format!("a.csv:2: `{name}` is not a field of gen-2-pro");
        assert!(problems[0].starts_with(&start) && problems.len() == 1, "{problems:?}");
        assert!(problems[0].ends_with("(also on line 3)"), "{problems:?}");
    }
}

#[test]
fn the_prompt_column_is_a_setting() {
    let mut bench = Bench::new();
    let text = "caption,text,prompt 2\na fox,a cat,a dog\n";
    let problems = bench.problems("a.csv", text);
    let problem = "both `caption` and `text` may be the prompt; set the name of the prompts";
    assert_eq!(problems, [format!("a.csv:1: {problem}")]);
    bench.defaults.prompt_column = Some("text".to_owned());
    let (list, jobs) = read_list(&bench, "a.csv", "caption,text,prompt\na fox,a cat,a dog\n");
    assert_eq!(jobs, [("a cat".into(), json!({ "caption": "a fox", "prompt": "a dog" }))]);
    assert_eq!(list.prompt_columns, ["text"]);
    bench.refuses("a.jsonl", "{\"prompt\":\"a fox\"}\n", &["a.jsonl:1: nothing is called `text`"]);
}

#[test]
fn lines_that_begin_with_a_hash_are_named_or_left_out() {
    let text = "# foxes\na red fox\n\n  #2 pencil\n";
    let mut bench = Bench::new();
    let (list, jobs) = read_list(&bench, "a.txt", text);
    assert_eq!((jobs.len(), &list.comments[..]), (3, &[1, 4][..]));
    bench.defaults.skip_comments = true;
    let (list, jobs) = read_list(&bench, "a.txt", text);
    assert_eq!((jobs.len(), list.jobs[0].line, list.comments.len()), (1, 2, 0));
    let prompt_file = Some(bench.write("b.txt", text));
    let matrix = Matrix { prompt_file, seeds: vec![1, 2], ..Matrix::default() };
    let list = matrix.jobs(&bench.defaults).unwrap();
    assert_eq!((list.jobs.len(), list.comments), (2, vec![]));
}

#[test]
fn bare_carriage_returns_are_no_line_ends() {
    let bench = Bench::new();
    let problem = "contains a carriage return (CR) that is not followed by a line feed; save the \
                   file with LF or CRLF line ends";
    for (name, text) in [
        ("a.txt", "a fox\ra cat\r"),
        ("a.csv", "prompt,seed\ra fox,1\ra cat,2\r"),
        ("b.csv", "prompt,seed\r\"a fox\",1\r"),
        ("a.tsv", "prompt\tseed\ra fox\t1\r"),
        ("a.jsonl", "{\"prompt\":\"a\"}\r{\"prompt\":\"b\"}\r"),
    ] {
        assert_eq!(bench.problems(name, text), [format!("{name}:1: {problem}")]);
    }
    let wide: Vec<u8> = "a fox\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let problems = bench.problems("a.txt", wide);
    assert!(problems[0].contains("contains a NUL, as UTF-16 does"), "{problems:?}");
}

#[test]
fn metadata_has_a_limit() {
    let line = format!("{{\"prompt\":\"a\",\"note\":\"{}\"}}", "x".repeat(16 * 1024));
    Bench::new().refuses("a.jsonl", line, &["a.jsonl:1: the metadata is larger than 16 KiB"]);
}
