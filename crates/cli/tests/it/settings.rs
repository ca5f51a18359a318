//! `config.toml`, the precedence of settings, and the effect of each.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use serde_json::{Value, json};

use crate::{assert_shown, bench::Place};

/// The value and the source of each setting.
fn settings(
    place: &Place,
    words: &[&str],
    variables: &[(&str, &str)],
) -> BTreeMap<String, [Value; 2]> {
    let shown = place.run_with(variables, &[words, &["config", "--json"]].concat()).ok().json();
    let rows = shown["settings"].as_array().unwrap().iter();
    let named = |row: &Value| row["name"].as_str().unwrap().to_owned();
    rows.map(|row| (named(row), [row["value"].clone(), row["source"].clone()])).collect()
}

/// A setting: the values that the file, a profile and the environment give it.
type Values = (&'static str, &'static str, &'static str, Option<[&'static str; 2]>);

const VALUES: [Values; 15] = [
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
    ("ask_above", "10", "30", None),
    ("ask_above_credits", "10", "30", None),
    ("max_active", "1", "2", None),
    ("prices", "gen-2-pro=3", "gen-2-pro=4", None),
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
    for (name, in_file, in_profile, _) in VALUES {
        place.run(&["config", "set", name, in_file]).ok();
        place.run(&["config", "set", name, in_profile, "--profile", "work"]).ok();
    }
    let variables: Vec<[&str; 2]> = VALUES.iter().filter_map(|(.., variable)| *variable).collect();
    let set: Vec<_> = variables.iter().map(|[variable, value]| (*variable, *value)).collect();
    let blank: Vec<_> = variables.iter().map(|[variable, _]| (*variable, " ")).collect();
    let file = settings(&place, &[], &[]);
    let work = ["--profile", "work"];
    let [profile, environment, unset] =
        [&[][..], &set, &blank].map(|it| settings(&place, &work, it));
    for (name, in_file, in_profile, variable) in VALUES {
        let is_list = name.ends_with("_hosts") || name == "prices";
        let expected = |text: &str, source: &str| {
            [if is_list { json!([text]) } else { json!(text) }, json!(source)]
        };
        let of_profile = expected(in_profile, "[profile.work] in config.toml");
        assert_eq!(file[name], expected(in_file, "config.toml"));
        assert_eq!(profile[name], of_profile);
        assert_eq!(unset[name], of_profile);
        let of_variable = variable.map(|[variable, text]| expected(text, variable));
        assert_eq!(environment[name], of_variable.unwrap_or(of_profile));
    }
    assert_eq!(file.len(), VALUES.len() + 5, "{file:?}");
}

#[test]
fn a_profile_is_named_by_a_flag_or_a_variable() {
    let place = Place::new();
    place.configure("model = \"gen-dev\"\n[profile.one]\n[profile.two]\nmodel = \"gen-2-flex\"\n");
    let two = [("KILN_PROFILE", "two")];
    let found = settings(&place, &[], &two);
    assert_eq!(found["model"][0], "gen-2-flex");
    assert_eq!(found["profile"], ["two", "KILN_PROFILE"]);
    assert_eq!(settings(&place, &["--profile=one"], &two)["model"][0], "gen-dev");
    assert_eq!(settings(&place, &[], &[])["profile"], ["default", "default"]);
}

/// Each with what is wrong with it.
const DAMAGED: [&str; 25] = [
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
    "deadline = \"0s\"",
    "max_active = 0",
    "base_url = \" \"",
    "allow_polling_hosts = \"one.example\"",
    "allow_delivery_hosts = [1]",
    "profile = \"work\"",
    "[profile.Work]",
    "[profile]\nmodel = \"gen-dev\"",
    "[profile.work]\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"sk-secret\"",
    "[preset.a]\nguidance = 3",
    "\n[preset.a]\nmodel = \"x\"",
    "[preset.a]\nprompt = \"a {b\"",
    "[preset.A]\nwidth = 64",
    "[preset.a]\nwidth = [64]",
    "[preset.a]\nwidth = 7",
];

#[test]
fn a_damaged_file_is_an_error_with_its_line() {
    let place = Place::new();
    let directory = place.config("").display().to_string();
    let mut shown = String::new();
    for text in DAMAGED {
        place.configure(text);
        let outcome = place.run("generate 'a fox'").fails(2);
        writeln!(shown, "{text}\n---\n{}", outcome.stderr.replace(&directory, "CONFIG/")).unwrap();
        assert!(!outcome.stderr.contains("sk-secret"), "{}", outcome.stderr);
    }
    assert_shown!("damaged", shown);
    for name in ["IMAGEKILN_API_KEY", "webhook_secret", "token"] {
        place.configure(&format!("{name} = \"sk-secret\""));
        let outcome = place.run("config").fails(2);
        outcome.says("secrets do not belong");
        assert!(!outcome.stderr.contains("sk-secret"), "{}", outcome.stderr);
    }
    fs::remove_file(place.config("config.toml")).unwrap();
    fs::create_dir(place.config("config.toml")).unwrap();
    place.run("config").fails(1);
    // What finds and repairs the mistake works.
    for words in
        [&["config", "path"][..], &["--help"], &["config", "logout"], &["history"], &["models"]]
    {
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
        let variables = [("IMAGEKILN_API_KEY", "a-key"), ("IMAGEKILN_BASE_URL", base)];
        let outcome = place.run_with(&variables, "generate 'a fox'").fails(2);
        outcome.says(problem);
        outcome.says(advice);
        assert!(!outcome.stderr.contains("IMAGEKILN_"), "{}", outcome.stderr);
    }
}

#[test]
fn config_shows_the_settings_without_secrets() {
    let place = Place::new();
    let path = place.run("config path").ok().text();
    assert_eq!(path.trim_end(), place.config("config.toml").display().to_string());
    place.configure(
        "model = \"gen-2-flex\"\nwebhook_url = \"https://hooks.example/x?token=sk-secret\"\n\
         [profile.work]\nallow_polling_hosts = [\"one.example\", \"two.example\"]\n",
    );
    place.run_with_stdin("config login --profile work", b"sk-secret").ok();
    let shown = |json: &[&str]| {
        let variables = [
            ("IMAGEKILN_BASE_URL", "http://127.0.0.1:1"),
            ("IMAGEKILN_WEBHOOK_SECRET", "sk-secret"),
        ];
        let words = [&["config", "list", "--profile", "work"], json].concat();
        place.run_with(&variables, &words).ok().text()
    };
    assert!(!shown(&[]).contains("sk-secret") && !shown(&["--json"]).contains("sk-secret"));
    assert_shown!("config", shown(&[]));
}

#[test]
fn settings_are_set_shown_and_removed() {
    let place = Place::new();
    let path = place.config("config.toml");
    let (path, file) = (path.display().to_string(), || fs::read_to_string(&path).unwrap());
    let set = place.run("config set size 64x64").ok();
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
    assert_eq!(get(&["allow_polling_hosts", "--profile=work"]), "a.example\nb.example\n");
    assert_eq!(get(&["ask_above"]), "20\n");
    // A default that is a description is no value.
    for unset in ["base_url", "deadline", "max_active", "output", "prices"] {
        let nothing = place.run(&["config", "get", unset]).fails(14);
        assert_eq!(nothing.text(), "");
        nothing.says(&format!("`{unset}` is not set"));
    }
    let got = place.run("config get size --json").ok().json();
    assert_eq!(got["value"], "64x64");
    let got = place.run("config get model --json").ok().json();
    assert_eq!(got, json!({ "name": "model", "value": "gen-2-pro", "source": "default" }));
    place.run("config unset size").ok();
    let again = place.run("config unset size").ok();
    assert_eq!(again.text(), format!("`size` is not set in {path}\n"));
    assert_eq!(file(), format!("\n[profile.work]\n{hosts}\n"));
    place.configure("[profile.default]\nsize = \"1x1\"");
    let preceded = place.run("config set size 64x64").ok().stderr;
    assert_eq!(preceded, "warning: [profile.default] in config.toml precedes it\n");
}

#[test]
fn a_damaged_file_is_not_changed() {
    let place = Place::new();
    place.configure("modle = 1");
    place.run("config set size 1x1").fails(2).says("line 1: unknown setting `modle`");
    assert_eq!(fs::read_to_string(place.config("config.toml")).unwrap(), "modle = 1");
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_file_and_a_link_to_it_stays() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new();
    place.write("mine.toml", "# Mine\n");
    symlink(place.path("mine.toml"), place.config("config.toml")).unwrap();
    place.run("config set size 1x1").ok();
    assert!(place.config("config.toml").is_symlink());
    assert_eq!(place.read("mine.toml"), b"# Mine\nsize = \"1x1\"\n");
    let mode = fs::metadata(place.path("mine.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(place.files(), ["mine.toml"]);
}

#[test]
fn the_editor_needs_a_terminal() {
    let place = Place::new();
    let refused = place.run_with(&[("VISUAL", "true")], "config edit").fails(2).stderr;
    let path = place.config("config.toml");
    let expected = format!(
        "error: could not open an editor: standard input is not a terminal\n\
         advice: use `kiln config set`, or edit {}\n",
        path.display()
    );
    assert_eq!(refused, expected);
    assert!(!path.exists());
}

/// The file after an edit of it, or the message of the failure.
fn edited(before: &str, profile: Option<&str>, name: &str, texts: &[&str]) -> String {
    let place = Place::new();
    place.configure(before);
    let action = if texts.is_empty() { "unset" } else { "set" };
    let profile = profile.map_or(vec![], |profile| vec!["--profile", profile]);
    let outcome = place.run(&[&["config", action, name], texts, &profile].concat());
    let after = fs::read_to_string(place.config("config.toml")).unwrap();
    if outcome.code == 0 {
        return after;
    }
    assert_eq!((outcome.code, after.as_str()), (2, before));
    outcome.stderr
}

const FILE: &str = "# Mine\nsize = '64x64' # small\n\n# Hosts\nallow_polling_hosts = [\n  \
                    \"a\", # one\n]\n\n[profile.work] # for work\n# none yet\n\n\
                    [profile.drafts]\nmodel = \"gen-dev\"";

#[test]
fn an_edit_changes_only_the_lines_of_its_setting() {
    let replaced = |old: &str, new: &str| FILE.replacen(old, new, 1);
    let hosts = "allow_polling_hosts";
    let work = Some("work");
    for (profile, name, texts, expected) in [
        (None, "size", &["128x64"][..], replaced("'64x64'", "\"128x64\"")),
        (None, "size", &[], replaced("size = '64x64' # small\n", "")),
        (None, hosts, &["b", "c\"\\"], replaced("[\n  \"a\", # one\n]", r#"["b","c\"\\"]"#)),
        (None, hosts, &[], replaced("allow_polling_hosts = [\n  \"a\", # one\n]\n", "")),
        (None, "deadline", &["2m"], replaced("]\n\n", "]\ndeadline = \"2m\"\n\n")),
        (None, "deadline", &[], FILE.to_owned()),
        (work, "size", &[], FILE.to_owned()),
        (work, "size", &["1x1"], replaced("work\n", "work\nsize = \"1x1\"\n")),
        (Some("drafts"), "size", &["1x1"], FILE.to_owned() + "\nsize = \"1x1\"\n"),
        (Some("new"), "size", &["1x1"], FILE.to_owned() + "\n\n[profile.new]\nsize = \"1x1\"\n"),
    ] {
        assert_eq!(edited(FILE, profile, name, texts), expected, "{profile:?} {name} {texts:?}");
    }
    assert_eq!(edited("", None, "size", &["1x1"]), "size = \"1x1\"\n");
    let first = "[profile.work]\nsize = \"1x1\"\n";
    assert_eq!(edited("", work, "size", &["1x1"]), first);
    let both = edited(first, None, "model", &["gen-dev"]);
    assert_eq!(both, format!("model = \"gen-dev\"\n{first}"));
    assert_eq!(edited("# Mine", None, "size", &["1x1"]), "# Mine\nsize = \"1x1\"\n");
}

#[test]
fn what_can_not_be_edited_stays() {
    let work = Some("work");
    let inline = "profile = { work = { size = \"1x1\" }, other = {} }\n";
    let dotted = "size = \"2x2\"\nprofile.work.size = \"1x1\"\n";
    let changed = |text: &str| text.replace("1x1", "3x3");
    assert_eq!(edited(inline, work, "size", &["3x3"]), changed(inline));
    assert_eq!(edited(dotted, work, "size", &["3x3"]), changed(dotted));
    for (before, profile, texts) in
        [(inline, work, &[][..]), (inline, Some("other"), &["3x3"]), (dotted, work, &[])]
    {
        let failed = edited(before, profile, "size", texts);
        assert!(failed.starts_with("error: could not change `size` in "), "{failed}");
    }
    for (name, texts, problem) in [
        ("size", &["large"][..], "invalid `size`: give a width and a height"),
        ("size", &[" "], "invalid `size`: it is empty"),
        ("allow_http", &["1"], "`allow_http` does not belong in this file"),
        ("profile", &["work"], "`profile` does not belong in this file"),
        ("sise", &["1x1"], "unknown setting `sise`; did you mean `size`?"),
    ] {
        let failed = edited(FILE, None, name, texts);
        assert!(failed.starts_with(&format!("error: {problem}")), "{failed}");
    }
}

#[test]
fn profiles_are_listed_with_what_they_have() {
    let place = Place::new();
    place.configure(
        "base_url = \"http://127.0.0.1:1\"\n[profile.work]\nbase_url = \"http://w.example\"\n",
    );
    place.run_with_stdin("config login --profile home", b"sk-secret").ok();
    let shown = place.run_with(&[("KILN_PROFILE", "work")], "config profiles").ok().text();
    let expected = "PROFILE  BASE URL            KEY     IN EFFECT\n\
                    default  http://127.0.0.1:1  -\n\
                    home     http://127.0.0.1:1  stored\n\
                    work     http://w.example    -       KILN_PROFILE\n";
    assert_eq!(shown, expected);
    let listed = place.run("config profiles --json --profile=home").ok().json();
    assert_eq!((&listed["profile"], &listed["source"]), (&json!("home"), &json!("--profile")));
    let expected = json!({
        "name": "home", "base_url": "http://127.0.0.1:1", "key_stored": true, "in_effect": true,
    });
    assert_eq!(listed["profiles"][1], expected);
    place.run("config profiles --profile hom").fails(2).says("did you mean `home`?");
}
