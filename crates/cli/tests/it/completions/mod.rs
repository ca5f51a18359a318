//! The candidates for the words that a shell passes to kiln. `tests/shells` types in real shells.

mod protocol;
mod values;

use std::collections::BTreeSet;

use crate::bench::{Outcome, Place};
use imagekiln::{FieldKind, Operation, operations};

/// The candidates for the last word, without their help. `kiln` comes before the words.
fn offered(place: &Place, words: &[&str]) -> Vec<String> {
    let text = with_help(place, words);
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// The same with the help, as elvish reads it.
fn with_help(place: &Place, words: &[&str]) -> String {
    let outcome = complete(place, "elvish", &[&["kiln"], words].concat());
    assert_eq!(outcome.stderr, "");
    outcome.text()
}

fn complete(place: &Place, shell: &str, words: &[&str]) -> Outcome {
    place.run(&[&["__complete", shell], words].concat()).ok()
}

fn models() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// The flags of all fields of all models.
fn flags_of_all_models() -> BTreeSet<String> {
    models().flat_map(|model| model.fields).map(|field| flag(field.name)).collect()
}

#[test]
fn the_flags_are_those_of_the_chosen_model() {
    let place = Place::new();
    let all = flags_of_all_models();
    for model in models() {
        // Help shows numbered images in the line of the first one.
        let is_numbered = |name: &str| {
            let first = name.rsplit_once('_').filter(|(_, number)| number.parse::<u8>().is_ok());
            first.is_some_and(|(first, _)| model.field(first).is_some())
        };
        let of_model = model.fields.iter().filter(|field| !is_numbered(field.name));
        let of_model: BTreeSet<String> = of_model.map(|field| flag(field.name)).collect();
        let fields = |words: &[&str]| -> BTreeSet<String> {
            offered(&place, words).into_iter().filter(|flag| all.contains(flag)).collect()
        };
        assert_eq!(fields(&["run", model.name, "--"]), of_model, "{model}");
        let generate = fields(&["generate", "a fox", "--model", model.name, "--"]);
        let without_prompt = of_model.into_iter().filter(|flag| flag != "--prompt");
        assert_eq!(generate, without_prompt.collect(), "{model}");
    }
    let numbered = offered(&place, &["edit", "x", "a.png", "-m", "gen-2-flex", "--input-image-"]);
    assert_eq!(numbered.iter().filter(|flag| flag.ends_with(char::is_numeric)).count(), 7);
}

#[test]
fn the_model_is_chosen_as_it_is_when_the_command_runs() {
    let place = Place::new();
    let has_guidance = |words: &[&str]| {
        let offered = offered(&place, &[words, &["--gu"]].concat());
        assert!(offered.is_empty() || offered == ["--guidance"], "{offered:?}");
        !offered.is_empty()
    };
    assert!(!has_guidance(&["generate", "a fox"]));
    for words in [
        &["generate", "a fox", "--model", "gen-2-flex"][..],
        &["generate", "-m", "gen_2_flex", "a fox"],
        &["edit", "--model=/v1/gen-2-flex", "at night", "cat.png"],
        &["--quiet", "generate", "-m=gen-2-flex"],
        &["batch", "run", "-o", "out", "--model", "gen-2-flex,gen-2-pro"],
        &["task", "submit", "gen-2-flex"],
        &["help", "run", "gen-2-flex"],
    ] {
        assert!(has_guidance(words), "{words:?}");
    }
    let finetuned = ["run", "gen-2-klein-9b-kv-finetuned", "--finetune"];
    let plain = ["run", "{base_model}-finetuned", "--finetune"];
    assert_eq!(offered(&place, &finetuned), offered(&place, &plain));
    let inpaint =
        |model| offered(&place, &["tool", "inpaint", "x", "a.png", "-m", model, "--finetune-i"]);
    assert_eq!(inpaint("gen-pro-1.0-fill-finetuned"), ["--finetune-id"]);
    assert!(inpaint("gen-pro-1.0-fill").is_empty());

    place.configure("[profile.work]\nmodel = \"gen-2-flex\"\n");
    assert!(has_guidance(&["--profile", "work", "generate", "x"]));
    assert!(!has_guidance(&["generate", "x"]));
    place.configure("model = \"gen-2-flex\"\n");
    assert!(has_guidance(&["generate", "x"]));
    assert!(!has_guidance(&["generate", "x", "-m", "gen-2-pro"]));
}

#[test]
fn a_choice_has_the_values_that_the_model_accepts() {
    let place = Place::new();
    for model in models() {
        for field in model.fields {
            let FieldKind::Choice { values, .. } = field.kind else { continue };
            let flag = flag(field.name);
            assert_eq!(offered(&place, &["run", model.name, &flag, ""]), values, "{model} {flag}");
        }
    }
    let png = ["generate", "x", "-m", "gen-2-flex", "--output-format=p"];
    assert_eq!(offered(&place, &png), ["--output-format=png"]);
    let boolean = ["generate", "x", "-m", "gen-2-flex", "--prompt-upsampling="];
    let expected = ["--prompt-upsampling=true", "--prompt-upsampling=false"];
    assert_eq!(BTreeSet::from_iter(offered(&place, &boolean)), expected.map(String::from).into());
}

#[test]
fn flags_are_offered_after_a_hyphen_or_if_nothing_else_fits() {
    let place = Place::new();
    let commands = offered(&place, &[""]);
    assert!(commands.iter().any(|name| name == "generate") && commands.len() > 10);
    assert!(commands.iter().all(|name| !name.starts_with('-')), "{commands:?}");
    assert_eq!(offered(&place, &["help", "conf"]), ["config"]);
    assert!(offered(&place, &["generate", ""]).contains(&"--model".to_owned()));
    assert!(offered(&place, &["task", "-"]).contains(&"--json".to_owned()));
    // Everything after `--` is a prompt.
    assert!(offered(&place, &["generate", "--", "--mo"]).is_empty());
}
