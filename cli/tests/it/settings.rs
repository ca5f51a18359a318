//! `config.toml`, the precedence of settings, and the effect of each.

use std::{fmt::Write as _, fs};

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{Outcome, Place},
};

fn readme() -> &'static str {
    imagekiln_testbed::page("cli/README.md")
}

/// The value and the source of a setting.
fn in_effect(place: &Place, words: &[&str], variables: &[(&str, &str)], name: &str) -> [Value; 2] {
    let mut command = place.kiln(&[words, &["config", "--json"]].concat());
    let shown = Outcome::of(command.envs(variables.iter().copied()).output().unwrap()).ok().json();
    let settings = shown["settings"].as_array().unwrap();
    let row = settings.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}"));
    [row["value"].clone(), row["source"].clone()]
}

/// A setting: the values that the file, a profile and the environment give it.
type Values = (&'static str, &'static str, &'static str, Option<[&'static str; 2]>);

const VALUES: [Values; 11] = [
    (
        "base_url",
        "http://127.0.0.1:1",
        "http://127.0.0.1:2",
        Some(["IMAGEKILN_BASE_URL", "http://127.0.0.1:3"]),
    ),
    (
        "regional_base_url",
        "http://127.0.0.1:1",
        "http://127.0.0.1:2",
        Some(["IMAGEKILN_REGIONAL_BASE_URL", "http://127.0.0.1:3"]),
    ),
    ("model_prefix", "one", "two", Some(["IMAGEKILN_MODEL_PREFIX", "three"])),
    ("model", "gen-2-flex", "gen-dev", None),
    ("output", "one.png", "two.png", None),
    ("size", "64x64", "128x64", None),
    ("deadline", "1m", "2m", None),
    ("max_active", "1", "2", None),
    (
        "webhook_url",
        "http://127.0.0.1/1",
        "http://127.0.0.1/2",
        Some(["IMAGEKILN_WEBHOOK_URL", "http://127.0.0.1/3"]),
    ),
    ("allow_polling_hosts", "one.example", "two.example", None),
    ("allow_delivery_hosts", "one.example", "two.example", None),
];

#[test]
fn the_environment_precedes_a_profile_and_the_file() {
    let place = Place::new();
    for (name, in_file, in_profile, variable) in VALUES {
        let is_list = name.ends_with("_hosts");
        let toml =
            |text: &str| if is_list { format!("[\"{text}\"]") } else { format!("\"{text}\"") };
        let expected = |text: &str, source: &str| {
            [if is_list { json!([text]) } else { json!(text) }, json!(source)]
        };
        let file = format!("{name} = {}\n", toml(in_file));
        place.configure(&file);
        let found = in_effect(&place, &[], &[], name);
        assert_eq!(found, expected(in_file, "config.toml"));
        place.configure(&format!("{file}[profile.work]\n{name} = {}\n", toml(in_profile)));
        let work = ["--profile", "work"];
        assert_eq!(in_effect(&place, &[], &[], name), expected(in_file, "config.toml"));
        let found = in_effect(&place, &work, &[], name);
        assert_eq!(found, expected(in_profile, "[profile.work] in config.toml"));
        if let Some([variable, text]) = variable {
            let found = in_effect(&place, &work, &[(variable, text)], name);
            assert_eq!(found, expected(text, variable));
            let found = in_effect(&place, &work, &[(variable, " ")], name);
            assert_eq!(found, expected(in_profile, "[profile.work] in config.toml"));
        }
    }
    let shown = place.run(&["config", "--json"]).ok().json();
    let names: Vec<_> =
        shown["settings"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert!(VALUES.iter().all(|(name, ..)| names.contains(&&json!(name))), "{names:?}");
    assert_eq!(names.len(), VALUES.len() + 4);
}

#[test]
fn a_profile_is_named_by_a_flag_or_a_variable() {
    let place = Place::new();
    place.configure("model = \"gen-dev\"\n[profile.one]\n[profile.two]\nmodel = \"gen-2-flex\"\n");
    let two = [("KILN_PROFILE", "two")];
    let found =
        |words: &[&str], variables: &[(&str, &str)]| in_effect(&place, words, variables, "model");
    assert_eq!(found(&[], &two)[0], "gen-2-flex");
    assert_eq!(found(&["--profile=one"], &two)[0], "gen-dev");
    assert_eq!(in_effect(&place, &[], &two, "profile"), ["two", "KILN_PROFILE"]);
    assert_eq!(in_effect(&place, &[], &[], "profile"), ["default", "default"]);
}

/// Each with what is wrong with it.
const DAMAGED: [&str; 18] = [
    "model = ",
    "model = \"gen-dev\"\nmodel = \"gen-dev\"",
    "\n\nmodle = \"gen-dev\"",
    "modle = 1\n[profile.work]\nsise = \"1x1\"",
    "model = \"gen-2-flx\"",
    "model = 7",
    "output = \"-\"",
    "size = \"large\"",
    "deadline = \"soon\"",
    "deadline = true",
    "max_active = 0",
    "base_url = \" \"",
    "allow_polling_hosts = \"one.example\"",
    "allow_delivery_hosts = [1]",
    "profile = \"work\"",
    "[profile.Work]",
    "[profile]\nmodel = \"gen-dev\"",
    "[profile.work]\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"sk-secret\"",
];

#[test]
fn a_damaged_file_is_an_error_with_its_line() {
    let place = Place::new();
    let directory = place.config("").display().to_string();
    let mut shown = String::new();
    for text in DAMAGED {
        place.configure(text);
        let outcome = place.run(&["generate", "a fox"]).fails(2);
        writeln!(shown, "{text}\n---\n{}", outcome.stderr.replace(&directory, "CONFIG/")).unwrap();
        assert!(!outcome.stderr.contains("sk-secret"), "{}", outcome.stderr);
    }
    assert_shown!("damaged", shown);
    for name in ["IMAGEKILN_API_KEY", "webhook_secret", "token"] {
        place.configure(&format!("{name} = \"sk-secret\""));
        let outcome = place.run(&["config"]).fails(2);
        assert!(outcome.stderr.contains("secrets do not belong"), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("sk-secret"), "{}", outcome.stderr);
    }
    fs::remove_file(place.config("config.toml")).unwrap();
    fs::create_dir(place.config("config.toml")).unwrap();
    place.run(&["config"]).fails(1);
    // What finds and repairs the mistake works.
    for words in [&["config", "path"][..], &["--help"], &["logout"], &["history"], &["models"]] {
        place.run(words).ok();
    }
}

#[test]
fn a_wrong_value_is_reported_with_its_place() {
    let place = Place::new();
    for (text, problem, advice) in [
        (
            "base_url = \"ftp://x\"",
            "the base URL is not an http or https URL",
            "correct it (`base_url` in ",
        ),
        (
            "base_url = \"http://127.0.0.1:1/v1\"",
            "ends with /v1",
            "remove /v1 from its end (`base_url` in ",
        ),
        (
            "base_url = \"127.0.0.1:1\"",
            "the base URL has no scheme",
            "write http://127.0.0.1:1 (`base_url` in ",
        ),
        (
            "model_prefix = \"a/b\"",
            "the model prefix may contain",
            "correct it (`model_prefix` in ",
        ),
    ] {
        let base = if text.starts_with("base") { "" } else { "http://127.0.0.1:1" };
        place.configure(text);
        let mut command = place.kiln(&["generate", "a fox"]);
        command.env("IMAGEKILN_API_KEY", "a-key").env("IMAGEKILN_BASE_URL", base);
        let outcome = Outcome::of(command.output().unwrap()).fails(2);
        assert!(outcome.stderr.contains(problem), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(advice), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("IMAGEKILN_"), "{}", outcome.stderr);
    }
}

#[test]
fn config_shows_the_settings_without_secrets() {
    let place = Place::new();
    let path = place.run(&["config", "path"]).ok().text();
    assert_eq!(path.trim_end(), place.config("config.toml").display().to_string());
    place.configure(
        "model = \"gen-2-flex\"\nwebhook_url = \"https://hooks.example/x?token=sk-secret\"\n\
         [profile.work]\nallow_polling_hosts = [\"one.example\", \"two.example\"]\n",
    );
    place.run_with_stdin(&["login", "--profile", "work"], b"sk-secret").ok();
    let shown = |json: &[&str]| {
        let mut command = place.kiln(&[&["config", "--profile", "work"], json].concat());
        command
            .env("IMAGEKILN_BASE_URL", "http://127.0.0.1:1")
            .env("IMAGEKILN_WEBHOOK_SECRET", "sk-secret");
        Outcome::of(command.output().unwrap()).ok().text()
    };
    assert!(!shown(&[]).contains("sk-secret") && !shown(&["--json"]).contains("sk-secret"));
    assert_shown!("config", shown(&[]));
}

#[test]
fn the_readme_lists_every_setting() {
    for (name, ..) in VALUES {
        assert!(readme().contains(&format!("| `{name}` |")), "{name}");
    }
}
