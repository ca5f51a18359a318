//! `config.toml`, the precedence of settings, and the effect of each.

use std::{fmt::Write as _, fs};

use serde_json::{Value, json};

use crate::{
    assert_shown,
    bench::{Outcome, Place},
};

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

const VALUES: [Values; 12] = [
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
    ("describe", "true", "false", None),
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
        let expected = |text: &str, source: &str| {
            [if is_list { json!([text]) } else { json!(text) }, json!(source)]
        };
        place.configure("");
        place.run(&["config", "set", name, in_file]).ok();
        let found = in_effect(&place, &[], &[], name);
        assert_eq!(found, expected(in_file, "config.toml"));
        place.run(&["config", "set", name, in_profile, "--profile", "work"]).ok();
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
    assert_eq!(names.len(), VALUES.len() + 5);
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
        let mut command = place.kiln(&[&["config", "list", "--profile", "work"], json].concat());
        command
            .env("IMAGEKILN_BASE_URL", "http://127.0.0.1:1")
            .env("IMAGEKILN_WEBHOOK_SECRET", "sk-secret");
        Outcome::of(command.output().unwrap()).ok().text()
    };
    assert!(!shown(&[]).contains("sk-secret") && !shown(&["--json"]).contains("sk-secret"));
    assert_shown!("config", shown(&[]));
}

#[test]
fn settings_are_set_shown_and_removed() {
    let place = Place::new();
    let path = place.config("config.toml");
    let (path, file) = (path.display().to_string(), || fs::read_to_string(&path).unwrap());
    let set = place.run(&["config", "set", "size", "64x64"]).ok();
    assert_eq!((set.text(), set.stderr), (format!("set `size` in {path}\n"), String::new()));
    let work = ["--profile", "work", "--json"];
    let words = ["config", "set", "allow_polling_hosts", "a.example", "b.example"];
    let set = place.run(&[&words[..], &work].concat()).ok().json();
    let expected = json!({
        "name": "allow_polling_hosts", "changed": true, "profile": "work", "path": path,
    });
    assert_eq!(set, expected);
    let hosts = "allow_polling_hosts = [\"a.example\",\"b.example\"]";
    assert_eq!(file(), format!("size = \"64x64\"\n\n[profile.work]\n{hosts}\n"));
    let get = |words: &[&str]| place.run(&[&["config", "get"], words].concat()).ok().text();
    assert_eq!(get(&["size"]), "64x64\n");
    assert_eq!(get(&["base_url"]), "-\n");
    assert_eq!(get(&["allow_polling_hosts", "--profile=work"]), "a.example, b.example\n");
    let got = place.run(&["config", "get", "model", "--json"]).ok().json();
    assert_eq!(got, json!({ "name": "model", "value": "gen-2-pro", "source": "default" }));
    place.run(&["config", "unset", "size"]).ok();
    let again = place.run(&["config", "unset", "size"]).ok();
    assert_eq!(again.text(), format!("`size` is not set in {path}\n"));
    assert_eq!(file(), format!("\n[profile.work]\n{hosts}\n"));
    place.configure("[profile.default]\nsize = \"1x1\"");
    let preceded = place.run(&["config", "set", "size", "64x64"]).ok().stderr;
    assert_eq!(preceded, "warning: [profile.default] in config.toml precedes it\n");
}

#[test]
fn a_wrong_value_is_not_set() {
    let place = Place::new();
    for (words, problem) in [
        (
            &["base_url", "ftp://x"][..],
            "the base URL is not an http or https URL\nadvice: correct it\n",
        ),
        (&["base_url", "http://127.0.0.1:1/v1"], "remove /v1 from its end\n"),
        (&["regional_base_url", "api.example.com"], "advice: write https://api.example.com\n"),
        (&["base_url", "http://192.0.2.1"], "advice: use https, or set IMAGEKILN_ALLOW_HTTP=1\n"),
        (&["webhook_url", "x"], "the webhook URL is not"),
        (&["size", "1", "x", "1"], "`size` has one value\n"),
        (&["api_key", "sk-secret"], "keep it out of the file, and run `kiln login`"),
        (&["webhook_secret", "sk-secret"], "use IMAGEKILN_WEBHOOK_SECRET or"),
    ] {
        let outcome = place.run(&[&["config", "set"], words].concat()).fails(2);
        assert!(outcome.stderr.contains(problem), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("sk-secret"), "{}", outcome.stderr);
    }
    assert!(!place.config("config.toml").exists());
    place.configure("modle = 1");
    let damaged = place.run(&["config", "set", "size", "1x1"]).fails(2).stderr;
    assert!(damaged.contains("line 1: unknown setting `modle`"), "{damaged}");
    assert_eq!(fs::read_to_string(place.config("config.toml")).unwrap(), "modle = 1");
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_file_and_a_link_to_it_stays() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new();
    place.write("mine.toml", "# Mine\n");
    symlink(place.path("mine.toml"), place.config("config.toml")).unwrap();
    place.run(&["config", "set", "size", "1x1"]).ok();
    assert!(place.config("config.toml").is_symlink());
    assert_eq!(place.read("mine.toml"), b"# Mine\nsize = \"1x1\"\n");
    let mode = fs::metadata(place.path("mine.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(place.files(), ["mine.toml"]);
}

#[cfg(unix)]
#[test]
fn an_editor_opens_the_file_which_is_checked_afterwards() {
    let place = Place::new();
    place.write("editor", "echo \"$1 = '$2'\" > \"$3\"; exit ${CODE:-0}");
    let edit = |editor: &str, code: &str| {
        let mut command = place.kiln(&["config", "edit"]);
        command.env("VISUAL", editor).env("EDITOR", "false").env("CODE", code);
        Outcome::of(command.output().unwrap())
    };
    edit("sh editor size 64x64", "0").ok();
    assert_eq!(fs::read_to_string(place.config("config.toml")).unwrap(), "size = '64x64'\n");
    let wrong = edit("sh editor size large", "0").fails(2).stderr;
    assert!(wrong.contains("line 1: invalid `size`"), "{wrong}");
    assert_eq!(fs::read_to_string(place.config("config.toml")).unwrap(), "size = 'large'\n");
    let wrong = edit("sh editor base_url x", "0").fails(2).stderr;
    assert!(wrong.contains("the base URL is not a URL"), "{wrong}");
    assert!(wrong.contains("(`base_url` in "), "{wrong}");
    let failed = edit("sh editor size 64x64", "3").fails(1).stderr;
    assert!(failed.contains("could not run the editor `sh editor size 64x64`"), "{failed}");
    assert!(edit("nowhere-17", "0").fails(1).stderr.contains("set VISUAL or EDITOR"));
}

#[test]
fn profiles_are_listed_with_what_they_have() {
    let place = Place::new();
    place.configure(
        "base_url = \"http://127.0.0.1:1\"\n[profile.work]\nbase_url = \"http://w.example\"\n",
    );
    place.run_with_stdin(&["login", "--profile", "home"], b"sk-secret").ok();
    let mut command = place.kiln(&["profiles"]);
    let shown = Outcome::of(command.env("KILN_PROFILE", "work").output().unwrap()).ok().text();
    let expected = "PROFILE  BASE URL            KEY     IN EFFECT\n\
                    default  http://127.0.0.1:1  -\n\
                    home     http://127.0.0.1:1  stored\n\
                    work     http://w.example    -       KILN_PROFILE\n";
    assert_eq!(shown, expected);
    let listed = place.run(&["config", "profiles", "--json", "--profile=home"]).ok().json();
    assert_eq!((&listed["profile"], &listed["source"]), (&json!("home"), &json!("--profile")));
    let expected = json!({
        "name": "home", "base_url": "http://127.0.0.1:1", "key_stored": true, "in_effect": true,
    });
    assert_eq!(listed["profiles"][1], expected);
    let unknown = place.run(&["profiles", "--profile", "hom"]).fails(2).stderr;
    assert!(unknown.contains("did you mean `home`?"), "{unknown}");
}
