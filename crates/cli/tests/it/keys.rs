//! The API key: `login`, `logout`, the environment, and profiles.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::{
    bench::{Bench, Outcome, Place, fox},
    server::Server,
};

const KEY: &str = "sk-stored-0123456789";

fn login(place: &Place, words: &[&str], key: &str) -> Outcome {
    place.run_with_stdin(&[&["config", "login"], words].concat(), format!("{key}\n").as_bytes())
}

/// A command that polls and sends the key, against a server that tells which key it was.
fn key_that_is_sent(place: &Place, words: &[&str], variables: &[(&str, &str)]) -> String {
    let server = Server::new();
    let mut command = place.kiln(&[words, &["task", "status", "an-id"]].concat());
    command.env("IMAGEKILN_BASE_URL", server.url()).envs(variables.iter().copied());
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let poll = server.next();
    let key = poll.headers.lines().find_map(|line| line.strip_prefix("x-key: ")).unwrap();
    let key = key.to_owned();
    poll.respond(200, &json!({ "id": "an-id", "status": "Pending" }));
    child.wait_with_output().unwrap();
    key
}

#[test]
fn a_stored_key_is_used_until_logout() {
    let bench = Bench::new();
    let place = &bench.place;
    let stored = login(place, &[], bench.simulator.api_key()).ok();
    let path = place.config("keys").join("default.key");
    let expected = format!("stored the API key of profile `default` in {}\n", path.display());
    assert_eq!((stored.text(), stored.stderr.as_str()), (expected, ""));
    let service = [("IMAGEKILN_BASE_URL", bench.simulator.base_url())];
    let generate = || place.run_with(&service, &fox(&["-o", "fox.png"]));
    generate().ok();
    assert_eq!(
        place.run("config logout").ok().stderr,
        "deleted the API key of profile `default`\n"
    );
    assert!(!path.exists());
    assert!(generate().fails(2).stderr.contains("the API key is not set\n"));
    let again = place.run("config logout").ok();
    assert_eq!(again.stderr, "no API key of profile `default` is stored\n");
}

#[test]
fn text_that_is_no_key_is_not_stored_or_sent_and_not_shown() {
    let place = Place::new();
    for (text, problem) in [
        ("\"sk-hush\"", "has quotation marks around it"),
        ("'sk-hush'", "has quotation marks around it"),
        ("Bearer sk-hush", "begins with `Bearer`"),
        ("X-Key: sk-hush", "begins with `x-key:`"),
        ("sk-hush sk-hush", "has spaces or several lines"),
        ("sk-hush\nsk-hush", "has spaces or several lines"),
        ("sk-hush\u{e9}", "has characters that no key has"),
    ] {
        place.write("key", text);
        let status = |name, value| {
            let service = ("IMAGEKILN_BASE_URL", "http://127.0.0.1:1");
            place.run_with(&[service, (name, value)], "task status an-id")
        };
        let of_file = status("IMAGEKILN_API_KEY_FILE", "key");
        let variable = status("IMAGEKILN_API_KEY", text);
        for (outcome, end) in [
            (login(&place, &[], text), "nothing was stored"),
            (of_file, "nothing was sent"),
            (variable, "nothing was sent"),
        ] {
            let said = outcome.fails(2).stderr;
            assert!(said.contains(problem) && said.contains(end), "{said}");
            assert!(!said.contains("hush"), "{said}");
        }
    }
    assert!(!place.config("keys").exists());
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_a_stored_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let mode = |path: &str| fs::metadata(place.config(path)).unwrap().permissions().mode() & 0o777;
    login(&place, &[], "an-old-key").ok();
    fs::set_permissions(place.config("keys/default.key"), fs::Permissions::from_mode(0o644))
        .unwrap();
    // The new key is a new file, so it does not inherit the mode.
    login(&place, &[], KEY).ok();
    assert_eq!((mode("keys"), mode("keys/default.key")), (0o700, 0o600));
    assert_eq!(fs::read_to_string(place.config("keys/default.key")).unwrap(), format!("{KEY}\n"));
    assert_eq!(fs::read_dir(place.config("keys")).unwrap().count(), 1);
}

#[test]
fn the_environment_precedes_a_stored_key() {
    let place = Place::new();
    place.write("key", "sk-file\r\n");
    login(&place, &[], KEY).ok();
    login(&place, &["--profile", "work"], "sk-work").ok();
    let (variable, file) =
        (("IMAGEKILN_API_KEY", "sk-variable"), ("IMAGEKILN_API_KEY_FILE", "key"));
    let blank = ("IMAGEKILN_API_KEY", " ");
    let work: &[&str] = &["--profile", "work"];
    for (words, variables, expected) in [
        (&[][..], &[][..], KEY),
        (work, &[], "sk-work"),
        (&[], &[("KILN_PROFILE", "work")], "sk-work"),
        (&["--profile=default"], &[("KILN_PROFILE", "work")], KEY),
        (&[], &[("KILN_PROFILE", "")], KEY),
        (work, &[file], "sk-file"),
        (work, &[file, variable], "sk-variable"),
        (&[], &[file, blank], "sk-file"),
        (&[], &[variable], "sk-variable"),
    ] {
        let sent = key_that_is_sent(&place, words, variables);
        assert_eq!(sent, expected, "{words:?} {variables:?}");
    }
    let outcome = place.run_with(&[file, variable], "config --json").ok();
    assert!(!outcome.text().contains("sk-"), "{}", outcome.text());
}

#[test]
fn a_profile_has_a_key_of_its_own() {
    let place = Place::new();
    login(&place, &["--profile", "work"], KEY).ok();
    place.run("task status x").fails(2).says("the API key and the base URL are not set");
    place.run("config logout").ok();
    place.run("--profile work task status x").fails(2).says("error: the base URL is not set");
    place
        .run("--profile wrok task status x")
        .fails(2)
        .says("there is no profile `wrok` (--profile)");
    for name in ["", "../x", "a/b", "Work", "a b", &"x".repeat(65)] {
        for words in [&["config", "login"][..], &["task", "status", "x"]] {
            let words = [words, &["--profile", name]].concat();
            let outcome = place.run_with_stdin(&words, KEY.as_bytes()).fails(2);
            let problem = "error: --profile is not the name of a profile";
            outcome.says(problem);
        }
    }
}

#[test]
fn what_cannot_be_a_key_is_refused_and_never_shown() {
    let place = Place::new();
    login(&place, &[], KEY).ok();
    for (input, problem) in [
        (&b""[..], "standard input is empty"),
        (b" \n", "standard input is empty"),
        (b"sk-a b", "the input is not an API key"),
        (b"sk-a\nsk-b\n", "the input is not an API key"),
        (b"sk-\xff", "standard input is not valid UTF-8"),
        (&[b's'; 70_000], "standard input is larger than 64 KiB"),
    ] {
        let outcome = place.run_with_stdin("config login", input).fails(2);
        outcome.says(problem);
        assert!(!outcome.stderr.contains("sk-"), "{}", outcome.stderr);
    }
    assert_eq!(fs::read_to_string(place.config("keys/default.key")).unwrap(), format!("{KEY}\n"));
    place.run_with_stdin("config login --simulate", b"sk-a").fails(2);
}

#[test]
fn a_damaged_key_file_is_an_error_that_does_not_quote_it() {
    let place = Place::new();
    place.write("empty", "\n");
    place.write("spaces", "sk-a sk-b");
    let status = |path: &str| {
        let service = ("IMAGEKILN_BASE_URL", "http://127.0.0.1:1");
        place.run_with(&[service, ("IMAGEKILN_API_KEY_FILE", path)], "task status x")
    };
    let file = "the file in IMAGEKILN_API_KEY_FILE,";
    for (path, code, problem) in [
        ("nowhere", 1, format!("could not read {file} nowhere")),
        ("empty", 2, format!("{file} empty is empty")),
        ("spaces", 2, format!("{file} spaces is not an API key")),
    ] {
        let outcome = status(path).fails(code);
        outcome.says(&problem);
        assert!(!outcome.stderr.contains("sk-"), "{}", outcome.stderr);
    }
    fs::create_dir(place.config("keys")).unwrap();
    fs::write(place.config("keys/default.key"), "sk-a\nsk-b\n").unwrap();
    let outcome = status("").fails(2);
    outcome.says("the stored API key");
    outcome.says("run `kiln config login` to store it again");
    assert!(!outcome.stderr.contains("sk-"), "{}", outcome.stderr);
}

#[test]
fn a_simulated_command_reads_no_key_and_no_base_url() {
    let place = Place::new();
    // Reading it would fail.
    fs::create_dir_all(place.config("keys/default.key")).unwrap();
    place.configure("base_url = \"http://127.0.0.1:1/v1\"\n");
    place.run(&fox(&["--simulate", "-o", "fox.png"])).ok();
    assert_eq!(place.files(), ["fox.png"]);
    place.run(&fox(&["-o", "fox.png"])).fails(1);
}
