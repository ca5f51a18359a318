//! Runs every operation that creates a task through `kiln run`, with values from the table of
//! operations.

use serde_json::{Value, json};

use crate::{
    bench::{Bench, kind_of, png},
    history::history,
};
use imagekiln::{Field, FieldKind, NeedKind, Operation, OperationKind, operations};

/// Small, so that the simulator renders quickly, but within the limits of deblurring and masking.
const SIDE: u32 = 256;

/// The first bytes of a WebM file.
const WEBM: &[u8] = &[0x1a, 0x45, 0xdf, 0xa3];

fn models() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

/// A valid value of the field: its text on the command line, and the JSON in the simulator's log.
fn value(field: &Field) -> (String, Value) {
    let limits = &field.limits;
    // Another place is outside a picture of that size.
    if field.name.starts_with("reference_offset") {
        return ("0".to_owned(), json!(0));
    }
    match &field.kind {
        FieldKind::Integer if field.name.contains("width") || field.name.contains("height") => {
            (SIDE.to_string(), json!(SIDE))
        }
        FieldKind::Integer => {
            let number = limits.minimum.unwrap_or(7.0) as i64;
            (number.to_string(), json!(number))
        }
        FieldKind::Number => {
            let number = limits.maximum.unwrap_or(0.5) - 0.25;
            (number.to_string(), json!(number))
        }
        FieldKind::Boolean => ("true".to_owned(), json!(true)),
        FieldKind::Choice { values, .. } => {
            (values[values.len() - 1].to_owned(), json!(values[values.len() - 1]))
        }
        FieldKind::Image { .. } => ("image.png".to_owned(), Value::Null),
        FieldKind::AspectRatio { .. } => ("4:3".to_owned(), json!("4:3")),
        // The simulator's log omits the query, which may contain a secret.
        FieldKind::Address => {
            ("https://example.com/hook?token=1".to_owned(), json!("https://example.com/hook"))
        }
        FieldKind::Secret => ("a secret".to_owned(), json!("[redacted]")),
        FieldKind::Json => (SIDE.to_string(), json!(SIDE)),
        _ if field.name == "finetune_id" => ("fox-style".to_owned(), json!("fox-style")),
        _ => {
            let mut text = "w".repeat(limits.min_length.unwrap_or_default() as usize);
            if text.is_empty() {
                text = "some words".to_owned();
            }
            (text.clone(), json!(text))
        }
    }
}

fn flag(field: &Field, spelling: &str) -> String {
    format!("--{}", field.name.replace('_', spelling))
}

fn words(
    model: &'static Operation,
    fields: impl Iterator<Item = &'static Field>,
    spelling: &str,
) -> Vec<String> {
    let mut words = vec!["run".to_owned(), model.name.to_owned()];
    for parameter in model.path_parameters {
        words.extend([format!("--{}", parameter.name), "gen-2-klein-9b-kv".to_owned()]);
    }
    for field in fields {
        words.extend([flag(field, spelling), value(field).0]);
    }
    words
}

/// Unlisted fields: the images without which the program refuses to pay for the model, and a second
/// of video, which is painted soonest.
fn unlisted(model: &Operation) -> Vec<String> {
    let counts = model.needs.iter().map(|need| match need.kind {
        NeedKind::Images { count, .. } => count,
        _ => 0,
    });
    let count = counts.sum();
    let image = |number| ["--extra-image".to_owned(), format!("image_{number}=image.png")];
    let is_video = model.kind == Some(OperationKind::Video);
    let second = is_video.then(|| ["--extra", "duration=1"].map(str::to_owned));
    (0..count).map(image).chain(second).flatten().collect()
}

/// Whether the program refuses to pay for the model without the image.
fn is_needed(model: &Operation, field: &Field) -> bool {
    let names_it = |kind: &NeedKind| match kind {
        NeedKind::AnyOf { fields, .. } => fields.first() == Some(&field.name),
        _ => false,
    };
    matches!(field.kind, FieldKind::Image { .. })
        && model.needs.iter().any(|need| names_it(&need.kind))
}

/// Runs a command and returns the request that the simulator received.
fn run(bench: &Bench, model: &Operation, words: &[String]) -> Value {
    let before = bench.simulator.counts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = bench.run(&words).ok();
    let path = outcome.text();
    let picture = bench.place.read(path.trim());
    if model.kind == Some(OperationKind::Video) {
        assert!(path.trim().ends_with(".webm") && picture.starts_with(WEBM), "{model}: {path}");
    } else {
        kind_of(&picture);
    }
    let after = bench.simulator.counts();
    assert_eq!(
        (after.accepted, after.delivered),
        (before.accepted + 1, before.delivered + 1),
        "{model}"
    );
    assert_eq!(
        outcome.stderr.contains("warning: deprecated"),
        model.deprecated,
        "{model}: {}",
        outcome.stderr
    );
    let task = bench.last_task();
    assert_eq!(task.operation_id, model.id);
    task.request
}

#[test]
fn every_model_runs_with_the_required_fields() {
    let bench = Bench::new();
    bench.place.write("image.png", png(SIDE, SIDE));
    for model in models() {
        // Optional fields are left out, except for the size, which keeps the pictures small, and
        // the images that the model works on.
        let needed = model.fields.iter().filter(|field| {
            field.required
                || is_needed(model, field)
                || ["width", "height"].contains(&field.name) && field.kind == FieldKind::Integer
        });
        let mut words = words(model, needed, "-");
        if model.fields.is_empty() {
            words.extend(["--extra", "width=80", "--extra", "height=72"].map(str::to_owned));
        }
        words.extend(unlisted(model));
        run(&bench, model, &words);
    }
}

#[test]
fn every_model_runs_with_all_fields() {
    let bench = Bench::new();
    bench.place.write("image.png", png(SIDE, SIDE));
    for (number, model) in models().enumerate() {
        let spelling = if number % 2 == 0 { "-" } else { "_" };
        let mut words = words(model, model.fields.iter(), spelling);
        words.extend(
            ["--extra", "not_shown=[1, true]", "--extra", "a_text=not JSON"].map(str::to_owned),
        );
        let unlisted = unlisted(model);
        words.extend(unlisted.clone());
        let request = run(&bench, model, &words);
        for field in model.fields {
            assert_sent(model, field, &request[field.name]);
        }
        assert_eq!(request["not_shown"], json!([1, true]), "{model}");
        assert_eq!(request["a_text"], "not JSON", "{model}");
        let others = request.as_object().unwrap().len() - model.fields.len();
        assert_eq!(
            others,
            2 + unlisted.len() / 2,
            "{model} sent fields that were not set: {request}"
        );
    }
}

fn assert_sent(model: &Operation, field: &Field, sent: &Value) {
    match &field.kind {
        FieldKind::Image { .. } => {
            let summary = sent.as_str().unwrap_or_default();
            let expected = format!("image/png of {SIDE} x {SIDE}");
            assert!(summary.contains(&expected), "{model} {}: {sent}", field.name);
        }
        _ => assert_eq!(*sent, value(field).1, "{model} {}", field.name),
    }
}

#[test]
fn every_model_is_found_by_name_path_and_id() {
    let bench = Bench::new();
    for (number, model) in models().enumerate() {
        // The commands find models in the same way, so each gets another name of each model.
        let mut names = [model.name, model.path, model.id];
        names.rotate_left(number % 3);
        for (command, name) in ["run", "task submit", "generate --model"].iter().zip(names) {
            bench.run(&format!("{command} {name} --help")).ok();
        }
    }
    // The interface's own example of a name with a path parameter.
    let example = "gen-2-klein-9b-kv-finetuned";
    let path = format!("/v1/{example}");
    let flags =
        ["--finetune-id", "fox-style", "--prompt", "a fox", "--width", "64", "--height", "64"];
    for words in [
        &["run", example][..],
        &["run", "--quiet", &path],
        &["task", "submit", example],
        &["generate", "a fox", "--model", example],
        &["edit", "-m", &path, "a fox", "https://example.com/fox.png"],
    ] {
        let flags = if words[0] == "run" || words[0] == "task" { &flags[..] } else { &flags[..2] };
        let made = bench.run(&[words, flags].concat()).ok();
        assert!(made.stderr.is_empty() || made.stderr.contains(&format!(" to {example} ")));
        assert!(words[0] == "task" || made.text().starts_with("a-fox-"));
        assert_eq!(bench.last_task().operation_id, "base_model_finetuned");
    }
    assert_eq!(history(&bench)[0]["model"], example);
    bench.run("again @1 -o {model}.{ext}").ok();
    assert!(bench.place.files().contains(&format!("{example}.jpg")));
    bench.run(&["run", example, "--help"]).ok();
    bench.run("run gen-2-pro-finetuned").fails(2).says(&format!("is written like '{example}'"));
    for name in ["get_result", "/v1/get_result"] {
        bench.run(&["run", name]).fails(2);
        bench.run(&["generate", "x", "--model", name]).fails(2);
    }
}
