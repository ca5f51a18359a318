//! Tests of the formats, and of the problems that are reported for a line.

use super::*;

const FOX: &str = r#"{"operation":"gen-2-pro","fields":{"prompt":"a red fox"}}"#;
const BIG_FOX: &str =
    r#"{"operation":"gen-2-flex","fields":{"prompt":"a \"red\" fox","seed":7,"width":128}}"#;

#[test]
fn json_lines() {
    let jobs = Bench::new().jobs(
        "a.jsonl",
        "\u{feff}{\"prompt\":\"a red fox\"}\r\n\r\n \
         {\"model\":\"gen_2_flex\",\"prompt\":\"a \\\"red\\\" fox\",\"seed\":7,\"width\":128,\
         \"name\":\"fox\",\"target\":\"b/fox.png\"}",
    );
    assert_eq!(requests(&jobs), [FOX, BIG_FOX]);
    assert_eq!(lines(&jobs), [1, 3]);
    assert_eq!((jobs[1].name.as_str(), jobs[1].target.as_str()), ("fox", "b/fox.png"));
    assert_eq!(jobs[0].target, "{name}.{ext}");
}

#[test]
fn csv() {
    let rows = [
        "\u{feff}",
        "prompt, model,seed,width,name,target,disable_pup",
        "a red fox,,,,,,",
        ",,,,,,",
        "",
        "\"a \"\"red\"\" fox\",gen-2-flex,7,128,fox,b/fox.png,",
        "\"a\r\n\r\nfox\",,,,,,TRUE",
        "last,,,,,,",
    ];
    let jobs = Bench::new().jobs("a.csv", rows.join("\r\n"));
    let fields = r#"{"disable_pup":true,"prompt":"a\r\n\r\nfox"}"#;
    let lines_fox = format!("{{\"operation\":\"gen-2-pro\",\"fields\":{fields}}}");
    assert_eq!(requests(&jobs)[..3], [FOX, BIG_FOX, &lines_fox]);
    assert_eq!(lines(&jobs), [3, 6, 7, 10]);
    assert_eq!((jobs[1].name.as_str(), jobs[1].target.as_str()), ("fox", "b/fox.png"));
}

#[test]
fn groups_priorities_and_metadata() {
    let jobs = Bench::new().jobs(
        "a.jsonl",
        concat!(
            "{\"prompt\":\"a\",\"group\":\"anna\",\"priority\":-3,\"metadata\":{\"a\":[1]}}\n",
            "{\"prompt\":\"a\"}\n"
        ),
    );
    let [first, second] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((first.group.as_deref(), first.priority), (Some("anna"), -3));
    assert_eq!(first.metadata, Some(serde_json::json!({ "a": [1] })));
    assert_eq!((&second.group, second.priority, &second.metadata), (&None, 0, &None));
    // The name depends only on the request, so the second job gets a number.
    assert_eq!(second.name, format!("{}-2", first.name));
    let jobs = Bench::new().jobs("a.csv", "prompt,group,priority\na,anna,7\nb,,\n");
    assert_eq!((jobs[0].group.as_deref(), jobs[0].priority), (Some("anna"), 7));
    assert_eq!((&jobs[1].group, jobs[1].priority), (&None, 0));
    Bench::new().refuses(
        "a.jsonl",
        concat!(
            "{\"prompt\":\"a\",\"group\":\"\"}\n",
            "{\"prompt\":\"a\",\"priority\":1.5}\n",
            "{\"prompt\":\"a\",\"priority\":1,\"priority\":2}\n",
            "{\"prompt\":\"a\",\"metadata\":\"b\"}\n"
        ),
        &[
            "a.jsonl:1: group: must be text, and not empty",
            "a.jsonl:2: priority: must be an integer",
            "a.jsonl:3: priority: is set twice; set it once",
            "a.jsonl:4: metadata: must be an object",
        ],
    );
}

#[test]
fn a_prompt_per_line() {
    let jobs = Bench::new().jobs("a.txt", "\u{feff}a red fox\r\n \r\n\n  a red fox \nlast");
    assert_eq!(requests(&jobs)[..2], [FOX, FOX]);
    assert_eq!(lines(&jobs), [1, 4, 5]);
}

#[test]
fn a_file_without_jobs() {
    let bench = Bench::new();
    for (name, content) in
        [("a.jsonl", ""), ("a.txt", "\u{feff}\n\n"), ("a.csv", ""), ("a.csv", "prompt\n\n")]
    {
        let error = bench.read(name, content).unwrap_err();
        assert!(error.message.ends_with(&format!("{name} contains no jobs")), "{error:?}");
    }
    let error = read(&bench.folder.path().join("b.txt"), None, &bench.defaults).unwrap_err();
    assert!(error.message.starts_with("could not open"), "{error:?}");
}

#[test]
fn every_bad_line_of_json() {
    Bench::new().refuses(
        "a.jsonl",
        concat!(
            "{\"prompt\":\"ok\"}\n",
            "{\"prompt\":\"a\",\"promt\":\"b\",\"width\":16,\"seed\":\"7\"}\n",
            "{\"prompt\":\"a\"\n",
            "[1]\n",
            "{\"model\":\"gen-2-por\",\"prompt\":\"a\"}\n",
            "{\"seed\":1}\n",
            "{\"prompt\":\"a\",\"prompt\":\"b\"}\n",
            "{\"model\":7,\"name\":\"\",\"prompt\":\"a\",\"target\":\"x\",\"target\":\"y\"}\n",
            "{\"name\":\"n\",\"target\":\"x.png\",\"prompt\":\"a\"}\n",
            "{\"name\":\"n\",\"target\":\"x.png\",\"prompt\":\"b\"}\n",
            "{\"prompt\":\"a\",\"extra\":7}\n",
            "{\"prompt\":\"a\",\"target\":\"../x.png\"}\n",
        ),
        &[
            "a.jsonl:2: `promt` is not a field of gen-2-pro; did you mean `prompt`?",
            "a.jsonl:2: seed: must be an integer",
            "a.jsonl:2: width: is 16; must be at least 64",
            "a.jsonl:3: is not a JSON object: EOF while parsing an object, at column 13",
            "a.jsonl:4: is not a JSON object: expected an object, at column 0",
            "a.jsonl:5: model: `gen-2-por` is not a model; did you mean `gen-2-pro`?",
            "a.jsonl:6: prompt: is required",
            "a.jsonl:7: prompt: is set twice; set it once",
            "a.jsonl:8: model: must be text, and not empty",
            "a.jsonl:8: name: must be text, and not empty",
            "a.jsonl:8: target: is set twice; set it once",
            "a.jsonl:10: name: `n` is the name of line 9 too",
            "a.jsonl:10: target: `x.png` is the target of line 9 too",
            "a.jsonl:11: extra: must be an object",
            "a.jsonl:12: could not parse the target \"../x.png\": it contains `.` or `..` as a \
             component",
        ],
    );
}

#[test]
fn jobs_that_nobody_can_have_meant() {
    Bench::new().refuses(
        "a.jsonl",
        concat!(
            "{\"prompt\":\" \"}\n",
            "{\"prompt\":\"a\",\"model\":\"gen-pro-1.0-expand\"}\n",
            "{\"model\":\"gen-tools/vto-v1\"}\n",
        ),
        &[
            "a.jsonl:1: the prompt is empty",
            "a.jsonl:2: gen-pro-1.0-expand needs `image` (the image to expand), which is not set",
            "a.jsonl:3: gen-tools/vto-v1 needs 2 images (a person and a garment), and the \
             request has 0",
        ],
    );
}

#[test]
fn a_complete_name_sets_the_path_parameter() {
    let jobs = Bench::new().jobs(
        "a.jsonl",
        r#"{"model":"gen-2-klein-9b-kv-finetuned","prompt":"a","finetune_id":"x"}"#,
    );
    assert_eq!(
        requests(&jobs),
        [concat!(
            r#"{"operation":"{base_model}-finetuned","path":{"base_model":"gen-2-klein-9b-kv"},"#,
            r#""fields":{"finetune_id":"x","prompt":"a"}}"#
        )]
    );
}

#[test]
fn every_bad_record_of_csv() {
    let table = b"prompt,width,output_format\nok,,\n\"two\nlines\",16,\na\xff,,\na,b\n,64,png\n\
                  a,wide,gif\n\"open,,\n\n";
    Bench::new().refuses(
        "a.csv",
        table,
        &[
            "a.csv:3: width: is 16; must be at least 64",
            "a.csv:5: is not valid UTF-8 at byte 2; save the file as UTF-8",
            "a.csv:6: number of cells: is 2; must be 3, as in the header",
            "a.csv:7: prompt: is required",
            "a.csv:8: width: must be an integer",
            "a.csv:8: output_format: is `gif`; must be one of jpeg, png, webp",
            "a.csv:9: has a quote that is never closed",
        ],
    );
}

#[test]
fn a_record_ends_only_at_a_line_feed() {
    let jobs = Bench::new().jobs("a.csv", "prompt\n\"\u{feff}a\rb\"\n");
    let request = "{\"operation\":\"gen-2-pro\",\"fields\":{\"prompt\":\"\u{feff}a\\rb\"}}";
    assert_eq!(requests(&jobs), [request]);
}

#[test]
fn a_bad_header_is_reported_once() {
    let bench = Bench::new();
    for (header, problem) in [
        ("prompt, prompt", "two columns have the name `prompt`"),
        (
            "prompt;seed",
            "the header has a single column, `prompt;seed`; separate columns by commas, or by \
             tabs in a TSV file",
        ),
    ] {
        let problems = bench.problems("a.csv", format!("\n{header}\na,b\nc,d\n"));
        assert_eq!(problems, [format!("a.csv:2: {problem}")]);
    }
}

#[test]
fn invalid_utf8_is_reported_by_line() {
    let bench = Bench::new();
    let problem = "is not valid UTF-8 at byte 3; save the file as UTF-8";
    assert_eq!(bench.problems("a.txt", b"ok\nab\xff\n"), [format!("a.txt:2: {problem}")]);
    assert_eq!(bench.problems("a.jsonl", b"\n\n{\"\xff"), [format!("a.jsonl:3: {problem}")]);
    let windows = b"\xff\xfep\0r\0";
    assert!(bench.problems("a.csv", windows)[0].contains("save the file as UTF-8"));
}

#[test]
fn problems_are_grouped_by_kind() {
    let lines: String =
        (2..30).map(|width| format!("{{\"prompt\":\"a\",\"width\":{width}}}\n")).collect();
    let error = Bench::new().read("a.jsonl", format!("{{}}\n{lines}{{}}\n")).unwrap_err();
    let messages: Vec<_> = error.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "prompt: is required (also on line 30)",
            "width: is 2; must be at least 64 (also on lines 3, 4, 5 and 24 more)",
        ]
    );
    assert_eq!(error.more_problems, 0);
    assert!(error.message.ends_with("a.jsonl has 30 problems"), "{error:?}");
}

#[test]
fn the_number_of_printed_problems_is_bounded() {
    let kind = |index| char::from(b'a' + index);
    let line = |index| format!("{{\"prompt\":\"a\",\"model\":\"{}\"}}\n", kind(index));
    let lines: String = (0..26).chain(24..26).map(line).collect();
    let error = Bench::new().read("a.jsonl", lines).unwrap_err();
    assert_eq!((error.problems.len(), error.more_problems), (20, 8));
    assert!(error.message.ends_with("a.jsonl has 28 problems"), "{error:?}");
}

#[test]
fn control_characters_of_a_file_are_not_printed() {
    let problems = Bench::new().problems(
        "a.jsonl",
        "{\"seed\\u001b\":1,\"prompt\":\"a\"}\n{\"model\":\"\\u001b[31m\"}\n\"\\u001b[31m\"\n",
    );
    assert_eq!(problems.len(), 3);
    assert!(!problems.concat().contains('\u{1b}'), "{problems:?}");
}

#[test]
fn defaults_set_what_a_line_leaves_out() {
    let bench = Bench::new().with("width", "128").with("output_format", "png");
    let jobs = bench.jobs("a.jsonl", "{\"prompt\":\"a\"}\n{\"prompt\":\"a\",\"width\":256}\n");
    assert_eq!(
        requests(&jobs),
        [128, 256].map(|width| {
            format!(
                "{{\"operation\":\"gen-2-pro\",\"fields\":{{\"output_format\":\"png\",\
                 \"prompt\":\"a\",\"width\":{width}}}}}"
            )
        })
    );
    let bench = Bench::new().with("guidance", "5");
    bench.refuses(
        "a.txt",
        "a",
        &["a.txt:1: `guidance` is not a field of gen-2-pro (set for all jobs)"],
    );
}

#[test]
fn fields_that_the_contract_does_not_list() {
    let bench = Bench::new();
    let line = r#"{"model":"gen-2-klein-4b","prompt":"a","extra":{"detail":512,"seed":null}}"#;
    let table = "model,prompt,extra.detail,extra.seed\ngen-2-klein-4b,a,512,null\n";
    let jobs = bench.jobs("a.jsonl", line);
    assert_eq!(jobs[0].request, bench.jobs("a.csv", table)[0].request);
    let parts = r#""fields":{"seed":null},"extra":{"detail":512,"prompt":"a"}"#;
    assert_eq!(requests(&jobs), [format!("{{\"operation\":\"gen-2-klein-4b\",{parts}}}")]);
    bench.refuses(
        "a.jsonl",
        r#"{"model":"gen-2-klein-4b","prompt":7,"detail":512}"#,
        &[
            "a.jsonl:1: prompt: must be text",
            "a.jsonl:1: the contract lists no field `detail` of gen-2-klein-4b; `extra` and \
             `extra_images` send it",
        ],
    );
}

#[test]
fn a_secret_is_refused_because_the_ledger_would_drop_it() {
    let problem = "a.jsonl:1: webhook_secret: is a secret, which jobs cannot contain; set \
                   IMAGEKILN_WEBHOOK_SECRET instead";
    let bench = Bench::new();
    for member in [r#""webhook_secret":"hush""#, r#""extra":{"webhook_secret":"hush"}"#] {
        let line = format!("{{\"prompt\":\"a\",{member}}}");
        assert_eq!(bench.problems("a.jsonl", line), [problem]);
    }
}

#[test]
fn path_parameters() {
    let line = r#"{"model":"base_model_finetuned","base_model":"gen-2-klein-9b-kv",
                   "prompt":"a","finetune_id":"fox"}"#;
    let bench = Bench::new();
    let jobs = bench.jobs("a.jsonl", line.replace('\n', ""));
    assert!(requests(&jobs)[0].contains(r#""path":{"base_model":"gen-2-klein-9b-kv"}"#));
    let problems = bench
        .problems("a.jsonl", r#"{"model":"base_model_finetuned","prompt":"a","base_model":7}"#);
    assert!(problems.contains(&"a.jsonl:1: base_model: must be text".to_owned()), "{problems:?}");
}
